"""Sharing that a learner's test meets, absorbed attention against the package, the ladder."""

import numpy as np
from answers.gqa import draw

from attention_src.attention.reference import attention
from attention_src.exercises.gqa import absorbed_attention, check_cache_ladder, check_sharing_test
from attention_src.multihead.reference_latent import latent_attention


def off(grouped):
    """The largest difference from attention to copies of keys and values."""
    found = []
    for H, H_kv in ((6, 2), (8, 2), (5, 1), (3, 3)):
        q, k, v = draw(H, H_kv)
        copies = (np.repeat(x, H // H_kv, axis=0) for x in (k, v))
        found.append(abs(grouped(q, k, v) - attention(q, *copies)).max())
    return max(found)


def test_right_ones_share_as_the_exercise_says_and_wrong_ones_otherwise():
    for one in check_sharing_test.right:
        assert off(one.function) < 5e-6, one.name
    for one in check_sharing_test.wrong:
        assert off(one.function) > 1e-2, one.name


def test_absorbed_attention_agrees_with_the_package():
    rng = np.random.default_rng(0)
    q, c = rng.normal(size=(3, 5, 2)), rng.normal(size=(5, 4))
    w_uk, w_uv = rng.normal(size=(3, 4, 2)), rng.normal(size=(3, 4, 6))
    x = np.concatenate([*q, c], axis=-1)  # the projections pick their columns
    pick = np.eye(10)
    w_q, w_dkv = pick[:, :6], pick[:, 6:]
    side = [np.concatenate(list(w), axis=-1) for w in (w_uk, w_uv)]
    y = latent_attention(x, w_q, w_dkv, np.zeros((10, 0)), *side, np.eye(18), n_heads=3)
    o = absorbed_attention(q, c, w_uk, w_uv)
    np.testing.assert_allclose(np.concatenate(list(o), axis=-1), y, atol=1e-12)


def test_near_misses_of_the_ladder_are_refused():
    near = dict(a=4096, b=262_144, c=[65535, 64, 61035], d=[32, 2], e=1985, f=[2, 32])
    for letter, values in near.items():
        for value in np.atleast_1d(values):
            assert check_cache_ladder(**{letter: value}).status == "wrong", (letter, value)
