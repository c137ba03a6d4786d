"""What "masking" says and draws: the model's calls and weights are those of NumPy."""

import numpy as np
import pytest
from drawn import figures, shade

from attention_src.explorables import content
from attention_src.explorables.masking import call, make, past, rounds

N = 8
SEES_ALL = np.ones((N, N + 1), bool)


def masks():
    """Nothing hidden, the future, the next toss alone, all, and four by chance."""
    next_one = ~np.eye(N, N + 1, 2, dtype=bool)
    drawn = np.random.default_rng(0).random((4, N, N + 1)) < 0.6
    return [SEES_ALL, past(N), next_one, ~SEES_ALL, *drawn]


STATES = [
    {"round": k, "mask": mask.tolist(), "way": way, "hits": 20 + k, "of": 28}
    for k, mask in enumerate(masks())
    for way in ("before", "after")
]


@pytest.fixture(scope="module", params=["start", "after"])
def every(request):
    return request.param, figures("masking", STATES, state=request.param)


def expected(state):
    see = np.array(state["mask"])
    return see, *call(rounds()[state["round"]], see, state["way"] == "after")


def test_calls_and_weights_are_numpy_s(every):
    for state, one in zip(STATES, every[1], strict=True):
        _, weights, outputs, right = expected(state)
        np.testing.assert_allclose(one.now["weights"], weights, rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(one.now["outputs"], outputs, atol=1e-12)
        assert one.now["right"] == right.tolist()
        assert one.now["tosses"] == rounds()[state["round"]].tolist()


def test_pictures_show_them(every):
    in_state, drawn = every
    for state, one in zip(STATES, drawn, strict=True):
        see, weights, outputs, right = expected(state)
        tosses = rounds()[state["round"]]
        for width, seen in zip(("narrow", "wide", "wide"), one.seen, strict=True):
            for i, j in np.ndindex(N, N + 1):
                assert (f"hidden{i}-{j}" in seen) == (not see[i, j])
                if see[i, j]:
                    assert shade(seen[f"cell{i}-{j}"]) == pytest.approx(weights[i, j], abs=0.0051)
            faces = [seen[f"face{j}"]["words"] for j in range(N)]
            assert faces == ["TH"[toss] for toss in tosses]
            assert seen["score"]["words"] == f"{right.sum()} of 7"
            names = "TH" if width == "narrow" else ("tails", "heads")
            calls = [seen[f"call{i}"]["words"] for i in range(N)]
            assert calls == [*(names[int(o > -0.5)] for o in outputs[:-1]), "?"]
            assert [f"tick{i}" in seen for i in range(7)] == right.tolist()
            assert [f"cross{i}" in seen for i in range(7)] == (~right).tolist()
            sums = [seen[f"sum{i}"]["words"] for i in range(N) if f"sum{i}" in seen]
            wanted = [f"{total:.2f}" for total in weights.sum(axis=1)]
            assert sums == (wanted if in_state == "after" else [])


def test_what_is_said(every):
    in_state, drawn = every
    for state, one in zip(STATES, drawn, strict=True):
        see, weights, _, right = expected(state)
        said = f"{right.sum()} of 7 called right; under this mask, {state['hits']} of 28 so far."
        if in_state == "after":
            said += "" if see.all() else " The largest hidden weight is 0."
            sums = [f"{total:.2f}" for total in weights.sum(axis=1)]
            said += (
                f" Each row's sum is {sums[0]}."
                if len(set(sums)) == 1
                else f" Sums of the rows: {min(sums)} to {max(sums)}."
            )
        assert one.said == said


def test_the_coin_is_fair_and_the_model_is_not():
    """All with the future, about half with the past, and all again where a 0 comes too late."""
    assert rounds().shape == (64, N) and rounds()[0].tolist() == [1, 0, 0, 1, 0, 1, 1, 0]
    again = np.random.default_rng(4).integers(0, 2, (64, 8))[1:]
    np.testing.assert_array_equal(rounds()[1:], again)
    shares = {}
    for name, see, after in (
        ("all", SEES_ALL, False),
        ("past", past(N), False),
        ("zeros", past(N), True),
    ):
        right = np.array([call(tosses, see, after)[2] for tosses in rounds()])  # (64, 7)
        shares[name] = [right[:k].mean() for k in (8, 16, 32, 64)]
    assert set(shares["all"]) == set(shares["zeros"]) == {1.0}
    assert all(0.45 < share < 0.55 for share in shares["past"])


def test_no_better_than_luck_without_the_start():
    """Why the page never hides it: the first rounds would look as if the future were hidden."""
    see = SEES_ALL.copy()
    see[:, 0] = False
    first = [sum(call(tosses, m)[2].sum() for tosses in rounds()[:8]) for m in (see, past(N))]
    assert first == [28, 28]  # of 56


def test_without_a_script():
    assert "7 of 7" in content("masking", {}).alt
    assert "7 of 7" in content("masking", {"state": "after"}).alt
    with pytest.raises(ValueError, match="one of start, after"):
        make(state="before")
