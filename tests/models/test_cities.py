"""The layers that learn differences are layers of heads, and the record is what they give."""

import numpy as np
import pytest
import torch

from attention_src.models import cities
from attention_src.models.cities import runs as cities_runs
from attention_src.multihead.reference import merge_heads, split_heads
from attention_src.softmax.reference import softmax


def test_a_layer_is_attention_in_heads():
    w = cities.first_weights(3, 2)
    ab, x, y = cities.questions(np.random.default_rng(0), 5)
    got = cities.answer(w, 4, ab, x).numpy()
    assert got.shape == (2, 5, 16) and y.shape == (5, 16)
    for layer in range(2):
        own = {name: t[layer].double().numpy() for name, t in w.items()}
        asked = own["a_first"][ab[:, 0]] + own["b_second"][ab[:, 1]]
        q = split_heads(asked @ own["w_q"], 4)  # [H, n, d]
        k = split_heads(own["names"] @ own["w_k"], 4)
        p = softmax(q @ k.swapaxes(-1, -2) / 4)
        v = split_heads(x.double().numpy() @ own["w_v"], 4)  # [n, H, 12, d]
        o = np.einsum("hnk,nhkd->hnd", p, v)
        np.testing.assert_allclose(got[layer], merge_heads(o) @ own["w_o"], atol=1e-4)


def test_what_is_wanted_is_the_difference():
    ab, x, y = cities.questions(np.random.default_rng(0), 7)
    assert (ab[:, 0] != ab[:, 1]).all()
    apart = cities.questions(np.random.default_rng(0), 7, apart=True)[2]
    torch.testing.assert_close(apart[:, :16] - apart[:, 16:], y)
    torch.testing.assert_close(x[3, ab[3, 0]] - x[3, ab[3, 1]], y[3])


def test_signs_are_those_asked_for():
    f = cities.factors(cities.signed(0, 6, (1, 1, 1, -1)), 4)
    assert (np.sign(f) == [1, 1, 1, -1]).all()
    half = cities.factors(cities.signed(0, 6, (1, -1), 0.25), 2)
    np.testing.assert_allclose(2 * half, cities.factors(cities.signed(0, 6, (1, -1)), 2), rtol=1e-5)
    three = cities_runs.kicked(cities.first_weights(0, 6), 1, 3)
    f = cities.factors(cities.first_weights(0, 6), 2)
    np.testing.assert_allclose(cities.factors(three, 2), f * [1, 3], rtol=1e-5)


def test_training_leaves_its_start_alone_and_looks_when_asked():
    start = cities.first_weights(0, 2)
    before = {name: t.clone() for name, t in start.items()}
    w, curve = cities.train(start, 2, 4, every=2)
    assert curve.shape == (3, 2)
    np.testing.assert_allclose(curve[-1], cities.error_left(w, 2), rtol=1e-5)
    assert all(torch.equal(start[name], before[name]) for name in start)
    assert cities.train(start, 2, 3)[1].shape == (2, 2)


def test_all_is_recorded():
    assert list(cities_runs.recorded()) == [one.__name__ for one in cities_runs.EXPERIMENTS]


@pytest.mark.weekly
def test_the_record_holds():
    """Where chance has a hand, about as many; the rest exactly."""
    then = cities_runs.recorded()
    assert cities_runs.by_signs() == then["by_signs"]
    assert cities_runs.by_random_start()["stuck"] == pytest.approx([4, 3, 3], abs=1)
    for heads, counts in cities_runs.by_heads().items():
        assert counts == pytest.approx(then["by_heads"][heads], abs=3)
    for name, (caught, of) in cities_runs.by_random_signs().items():
        assert of == then["by_random_signs"][name][1]
        assert caught == pytest.approx(then["by_random_signs"][name][0], abs=6)
    now = cities_runs.by_kicks()
    assert now["kept"]["one head × 3"] == [now["solved"]] * 3
    assert now["kept"]["one sign turned"][0] == 0
    assert now["freed"]["one sign turned"] == [now["stuck"]] * 3
    for steps, rows in cities_runs.by_fading().items():
        assert len(rows["lost"]) == pytest.approx(len(then["by_fading"][steps]["lost"]), abs=4)
        faded, alone = np.array(rows["lost"]).T
        assert faded.max() < 0.4 and alone.min() > 0.85
    for widths, left in cities_runs.by_widths().items():
        assert left == pytest.approx(then["by_widths"][widths], rel=0.5, abs=0.01)
