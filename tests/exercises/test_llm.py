"""What is special to the language model: its patients, margins in the cases, the ladder."""

import numpy as np
import pytest
from worked import BOOK

from attention_src.attention.reference import attention
from attention_src.exercises import llm as ex
from attention_src.exercises.engine.checking import passed
from attention_src.exercises.keep import PARTS
from attention_src.exercises.llm.patients import patient
from attention_src.rope.reference import rotate

DIAGNOSIS = {"a": 2, "b": 1, "c": 3}


def test_a_sampler_can_be_kept_and_rounding_decides_in_no_case():
    assert ex.check_sample(ex.sample) and passed[ex.sample] == "sample" and "sample" in PARTS
    assert all(ex.clear(*case.args) for case in ex.check_sample.all_cases())


def test_it_draws_as_the_package_s_own_probabilities_say():
    torch = pytest.importorskip("torch")
    from attention_src.models.smollm2.sampling import Sampling, probabilities

    logits = np.random.default_rng(0).normal(size=30) * 2
    p = probabilities(torch.as_tensor(logits).float(), Sampling(0.8, None, 0.77)).numpy()
    u = (np.arange(2_000) + 0.5) / 2_000
    drawn = np.bincount([ex.sample(logits, 0.8, 0.77, x) for x in u], minlength=30) / 2_000
    np.testing.assert_allclose(drawn, p, atol=1e-3)


def test_three_digits_are_enough_and_near_misses_are_refused():
    exact = {rung.letter: rung.value for rung in ex.check_flops_ladder.rungs}
    assert ex.check_flops_ladder(**exact | dict(c=2.69e8, d=7.08e7, e=3890, f=12_500))
    near = dict(a=3_538_945, b=134_515_008, c=2.65e8, d=7.2e7, e=4000, f=12_700)
    for letter, answer in near.items():
        assert ex.check_flops_ladder(**exact | {letter: answer}).status == "wrong", letter


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


def test_there_is_no_fourth():
    with pytest.raises(ValueError, match="name is 'd'"):
        patient("d")


@pytest.mark.parametrize("kind", [int, float, np.int64, np.array, np.float32, str])
def test_the_right_diagnosis(kind):
    result = ex.check_patients(**{name: kind(number) for name, number in DIAGNOSIS.items()})
    assert result.status == ("wrong" if kind is str else "passed")


@pytest.mark.parametrize("name", DIAGNOSIS)
def test_wrong_diagnoses(name):
    for number in {0, 1, 2, 3, 4, 5, 6, 1.5} - {DIAGNOSIS[name]}:
        assert ex.check_patients(**DIAGNOSIS | {name: number}).status == "wrong"


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
    for name, number in DIAGNOSIS.items():
        [(part, ill)] = patient(name).items()
        [(suspected, suspect)] = names["suspects"][number - 1].items()
        assert suspected == part
        np.testing.assert_allclose(suspect(*inputs[part]), ill(*inputs[part]), atol=1e-12)
