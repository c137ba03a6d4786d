"""Absorbed attention against the package."""

import numpy as np

from attention_src.exercises.gqa import absorbed_attention
from attention_src.multihead.reference_latent import latent_attention


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
