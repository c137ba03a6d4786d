"""The learner's test of kernels, and the learner's kernel."""

import numpy as np
import pytest
from worked import assert_rejected, run_exercise

from attention_src.exercises.gpu import check_kernel_test, check_row_lse
from attention_src.exercises.gpu.kernel_test import KERNEL_TEST
from attention_src.exercises.gpu.lse import ROW_LSE
from attention_src.softmax import reference

# --- the test ----------------------------------------------------------------------------------

SHAPES = ((1, 1), (3, 7), (13, 37), (5, 300))


def tables(rng, shape, which):
    s = rng.normal(size=shape).astype(np.float32)
    hidden = np.where(rng.random(shape) < 0.5, s, np.float32(-np.inf))
    hidden[0] = -np.inf
    made = {
        "plain": s,
        "turned": np.ascontiguousarray(s.T).T,
        "loud": s * 100,
        "low": s - 200 * np.arange(len(s), dtype=np.float32)[:, None],
        "hidden": hidden,
    }
    return [made[name] for name in which]


ALL = ("plain", "turned", "loud", "low", "hidden")


def a_test(shapes=SHAPES, which=ALL, atol=1e-5, kept=True, oracle=reference.softmax, seed=0):
    """A learner's test, right by default, wrong in the way that an argument says."""

    def my_kernel_test(softmax):
        rng = np.random.default_rng(seed)
        for shape in shapes:
            for s in tables(rng, shape, which):
                before = s.copy()
                p = np.asarray(softmax(s))
                assert not kept or np.array_equal(s, before)
                assert np.allclose(p, oracle(before), rtol=0, atol=atol)

    return my_kernel_test


def by_loop(s):
    p = np.zeros(s.shape)
    for row, out in zip(s.astype(float), p, strict=True):
        if row.max() > -np.inf:
            out[:] = np.exp(row - row.max()) / np.exp(row - row.max()).sum()
    return p


def by_properties(softmax):
    """Sums, order and a known row, and the same row alone."""
    for shape in SHAPES:
        for s in tables(np.random.default_rng(1), shape, ALL):
            before = s.copy()
            p = np.asarray(softmax(s))
            assert np.array_equal(s, before)
            for row, weights in zip(s, p, strict=True):
                visible = row.max() > -np.inf
                assert abs(weights.sum() - visible) < 1e-5
                assert abs(weights - by_loop(row[None])[0]).max() < 1e-5


def by_torch(softmax):
    torch = pytest.importorskip("torch")

    def with_its_shape(s):
        p = softmax(s)
        assert p.shape == s.shape
        return torch.as_tensor(p).numpy()

    a_test()(with_its_shape)


RIGHT_TESTS = {
    "default": a_test(),
    "other shapes": a_test(shapes=((1, 5), (7, 17), (3, 129))),
    "another oracle": a_test(oracle=by_loop),
    "another seed": a_test(seed=5),
    "properties": by_properties,
    "looser": a_test(atol=3e-5),
    "one shape": a_test(shapes=((7, 53),)),
    "shapes and torch": by_torch,
}
WRONG_TESTS = {
    "powers of two": (a_test(shapes=((4, 8), (2, 64))), "of 14"),
    "one row": (a_test(shapes=((1, 37),)), "of 14"),
    "short rows": (a_test(shapes=((3, 7), (5, 9))), "of 14"),
    "nothing turned": (a_test(which=("plain", "loud", "low", "hidden")), "caught 13 of 14"),
    "nothing hidden": (a_test(which=("plain", "turned", "loud", "low")), "of 14"),
    "nothing low or loud": (a_test(which=("plain", "turned", "hidden")), "of 14"),
    "plain only": (a_test(which=("plain",)), "of 14"),
    "loose": (a_test(atol=0.01), "of 14"),
    "to the last bit": (a_test(atol=0), "refuses a right implementation"),
    "input not looked at": (a_test(kept=False), "of 14"),
    "NaN expected": (
        a_test(oracle=lambda s: np.exp(s) / np.exp(s).sum(1, keepdims=True)),
        "refuses a right implementation",
    ),
    "over the columns": (a_test(oracle=lambda s: reference.softmax(s.T).T), "refuses a right"),
    "a verdict": (lambda softmax: bool(softmax(np.ones((2, 2), np.float32))[0][0] > 1), ""),
    "sums only": (
        lambda softmax: np.testing.assert_allclose(
            np.sum(softmax(np.ones((3, 7), np.float32)), axis=1), 1, atol=1e-5
        ),
        "of 14",
    ),
}


@pytest.mark.parametrize("wrong", [one.function for one in KERNEL_TEST.wrong])
def test_each_wrong_kernel_is_wrong(wrong):
    found = []
    with np.errstate(all="ignore"):
        for shape in SHAPES:
            for s in tables(np.random.default_rng(0), shape, ALL):
                before = s.copy()
                p = wrong(s)
                found.append(np.nan_to_num(abs(p - reference.softmax(before)), nan=9).max() > 1e-4)
                found.append(not np.array_equal(s, before))
    assert any(found)


@pytest.mark.parametrize("right", [one.function for one in KERNEL_TEST.right])
def test_right_kernels_differ_by_rounding_at_most(right):
    for seed in range(20):
        for shape in SHAPES:
            for s in tables(np.random.default_rng(seed), shape, ALL):
                assert abs(right(s) - reference.softmax(s)).max() < 1e-6


@pytest.mark.parametrize("name", RIGHT_TESTS)
def test_right_tests_pass(name):
    assert check_kernel_test(RIGHT_TESTS[name]).status == "passed"


@pytest.mark.parametrize("name", WRONG_TESTS)
def test_wrong_tests_fail(name):
    assert_rejected(check_kernel_test, *WRONG_TESTS[name])


def test_the_solution_passes_and_the_stub_is_not_started():
    solution = run_exercise("gpu", "ex:gpu-test", reference=reference)["my_kernel_test"]
    assert check_kernel_test(solution).status == "passed"

    def stub(softmax):
        raise NotImplementedError

    assert check_kernel_test(stub).status == "not started"


# --- the kernel --------------------------------------------------------------------------------


def lse(s):
    m = s.max(axis=1)
    return m + np.log(np.exp(s - m[:, None]).sum(axis=1))


def lse_in_torch(s):
    torch = pytest.importorskip("torch")
    return torch.logsumexp(torch.from_numpy(s), dim=1)


def lse_streaming(s):
    m, l = np.full(len(s), -np.inf), np.zeros(len(s))
    for column in s.T.astype(float):
        m_new = np.maximum(m, column)
        l = l * np.exp(m - m_new) + np.exp(column - m_new)
        m = m_new
    return m + np.log(l)


RIGHT = {
    "NumPy": lse,
    "float64": lambda s: lse(s.astype(float)),
    "torch": lse_in_torch,
    "streaming": lse_streaming,
    "pairwise": lambda s: np.logaddexp.reduce(s.astype(float), axis=1),
    "lists": lambda s: lse(s).tolist(),
    "base 2": lambda s: (
        s.max(1) + np.log(2) * np.log2(np.exp2((s - s.max(1)[:, None]) / np.log(2)).sum(1))
    ),
}


def in_place(s):
    answer = lse(s)
    s -= s.max(axis=1, keepdims=True)
    return answer


WRONG = {
    "no maximum": (lambda s: np.log(np.exp(s).sum(axis=1)), "overflows"),
    "maximum not added": (lambda s: lse(s) - s.max(axis=1), "did not add it again"),
    "log2": (
        lambda s: s.max(1) + np.log2(np.exp(s - s.max(1)[:, None]).sum(axis=1)),
        "tl.log2",
    ),
    "maximum": (lambda s: s.max(axis=1), "This is the maximum"),
    "mean": (lambda s: lse(s) - np.log(s.shape[1]), "log of the mean"),
    "sum": (lambda s: np.exp(s - s.max(1)[:, None]).sum(axis=1), "take its log"),
    "over the rows": (lambda s: lse(s.T), ""),
    "one number": (lambda s: lse(s).sum(), "shape"),
    "a column": (lambda s: lse(s)[:, None], "shape"),
    "one maximum": (lambda s: s.max() + np.log(np.exp(s - s.max()).sum(axis=1)), ""),
    "never written": (lambda s: np.full(len(s), np.nan), "nan"),
    "first row": (lambda s: lse(s)[:1].repeat(len(s)), "read row 0"),
    "short rows only": (lambda s: lse(s[:, :32]), ""),
    "padded by -10,000": (
        lambda s: lse(np.pad(s, ((0, 0), (0, s.shape[1] % 2)), constant_values=-1e4)),
        "",
    ),
    "few rows only": (lambda s: np.where(np.arange(len(s)) < 3, lse(s), np.nan), "nan"),
    "float16": (lambda s: lse(s.astype(np.float16)).astype(np.float16), ""),
    "in place": (in_place, "in place"),
    "negative": (lambda s: -lse(s), "sign"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass(name):
    assert check_row_lse(RIGHT[name]).status == "passed"


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    assert_rejected(check_row_lse, *WRONG[name])


def test_each_known_mistake_is_named():
    for mistake in ROW_LSE.mistakes:
        assert f"({mistake.name})" in " ".join(ROW_LSE.run(mistake.wrong).message.split())
