"""The three patients have what the list says, and the diagnosis is checked."""

import numpy as np
import pytest
from worked import BOOK

from attention_src.attention.reference import attention
from attention_src.exercises.llm import check_patients
from attention_src.exercises.llm.patients import patient
from attention_src.rope.reference import rotate

RIGHT = {"a": 2, "b": 1, "c": 3}


def draw():
    rng = np.random.default_rng(0)
    return rng.normal(size=(6, 5, 8)), rng.normal(size=(2, 5, 8)), rng.normal(size=(2, 5, 8))


def test_a_turns_neighbours():
    x, at = draw()[0], np.arange(5)
    y = patient("a")["rotate"](x, at, 100.0)
    theta = 100.0 ** (-2 * np.arange(4) / 8)
    z = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * at[:, None] * theta)
    np.testing.assert_allclose(y[..., 0::2], z.real, atol=1e-12)
    np.testing.assert_allclose(y[..., 1::2], z.imag, atol=1e-12)


def test_b_does_not_see_itself_save_at_the_start():
    q, k, v = draw()
    causal = np.tri(5, dtype=bool)
    o = patient("b")["grouped_attention"](q, k, v, causal)
    mask = np.tri(5, k=-1, dtype=bool)
    mask[0, 0] = True
    for h in range(6):
        np.testing.assert_allclose(o[h], attention(q[h], k[h // 3], v[h // 3], mask=mask))
    last = patient("b")["grouped_attention"](q[:, -1:], k, v, causal[-1:])  # with a cache
    np.testing.assert_allclose(last, o[:, -1:])


def test_c_has_another_base():
    x, at = draw()[0], np.arange(5)
    expected = rotate(x, at, base=10_000.0)
    np.testing.assert_array_equal(patient("c")["rotate"](x, at, 100_000.0), expected)


def test_there_is_no_fourth_patient():
    with pytest.raises(ValueError, match="name is 'd'"):
        patient("d")


@pytest.mark.parametrize("kind", [int, float, np.int64, np.array, np.float32, str])
def test_the_right_diagnosis(kind):
    result = check_patients(**{name: kind(number) for name, number in RIGHT.items()})
    assert result.status == ("wrong" if kind is str else "passed")


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("number", [0, 1, 2, 3, 4, 5, 6, 1.5, np.nan, [2, 1]])
def test_wrong_ones(name, number):
    if number != RIGHT[name]:
        assert check_patients(**RIGHT | {name: number}).status == "wrong"


def test_the_page_s_suspects_are_the_patients():
    page = (BOOK / "llm.md").read_text(encoding="utf-8")
    solution = page.split("{solution-start} ex:llm-patients")[1].split("```python\n")[1]

    def grouped(q, k, v, mask):
        copies = (np.repeat(x, q.shape[-3] // x.shape[-3], axis=-3) for x in (k, v))
        return attention(q, *copies, mask=mask)

    names = {"np": np, "rotate": rotate, "grouped": grouped}
    exec(solution.split("found = []")[0], names)
    inputs = {
        "rotate": (draw()[0], np.arange(5), 100_000.0),
        "grouped_attention": (*draw(), np.tri(5, dtype=bool)),
    }
    for name, number in RIGHT.items():
        [(part, ill)] = patient(name).items()
        [(suspected, suspect)] = names["suspects"][number - 1].items()
        assert suspected == part
        np.testing.assert_allclose(suspect(*inputs[part]), ill(*inputs[part]), atol=1e-12)
