"""The three gates for every mechanism and form of the layer: forward and all gradients.

Exact is the definition in float64 on the layer's inputs; plain is the definition in the inputs' own
dtype, rounded after every step.
"""

import pytest
import torch

from attention_src.attention.masks import causal_mask
from attention_src.linear.layer import linear_attention
from attention_src.testing import assert_sharp, assert_within_budget
from linear.cases import (
    FORMS,
    HEADS,
    MECHANISMS,
    NAMES,
    definition,
    exact,
    inputs,
    on_tensors,
    results,
    upstream,
)

DTYPES = (torch.float16, torch.bfloat16, torch.float32)  # float64: test_layer.py
# n, d_k, d_v: one position, next to a block of 16, to 4 and to 13 chunks of 5, and to one of 64.
SIZES = [(1, 3, 2), (17, 2, 3), (19, 5, 7), (65, 8, 5)]


def sharp(a, e, label):
    """The sharp gate. A single key has weight 1 for any q and k, so their gradients are 0."""
    if label in ("dq", "dk") and a.shape[-2] == 1 and e.abs().max() < 1e-12:
        assert a.abs().max() < 1e-5
    else:
        assert_sharp(a, e, name=label)


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_budget_and_sharp(poisoned, name, dtype, size):
    arguments = inputs(name, *size, dtype=dtype)
    do = upstream(arguments)
    right = exact(name, arguments, do)
    plain = results(lambda *x: definition(name, *x), arguments, do)
    for form in FORMS:
        actual = results(lambda *x: on_tensors(name)(*x, **form), arguments, do)  # noqa: B023
        for label, a, e, p in zip(NAMES, actual, right, plain, strict=False):
            assert a.dtype == dtype
            if dtype == torch.float32:
                sharp(a, e, label)
            else:
                assert_within_budget(a, e, p, name=label)


def identity(n, dtype):
    """Values such that o is w."""
    return torch.eye(n, dtype=dtype).expand(2, HEADS, n, n)


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("n", [1, 13, 65])
def test_probe(form, dtype, n):
    q, k, _ = inputs("elu", n, 7, 1, dtype=dtype)
    v = identity(n, dtype)
    visible = torch.from_numpy(causal_mask(n))
    for options in (dict(), dict(decay=0.96875), dict(feature_map="taylor")):
        w = linear_attention(q, k, v, **options, **form)
        assert (w[..., ~visible] == 0).all() and (w[..., visible] > 0).all()
        assert (w.double().sum(dim=-1) - 1).abs().max() < 16 * torch.finfo(dtype).eps
    more = torch.cat([k, k], dim=-2)[..., 1:, :]  # another number of keys
    w = linear_attention(q, more, identity(2 * n - 1, dtype), causal=False, **form)
    assert w.shape[-2:] == (n, 2 * n - 1) and (w > 0).all()
    assert (w.double().sum(dim=-1) - 1).abs().max() < 16 * torch.finfo(dtype).eps


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("name", ["gated", "one gate", "delta", "gated delta"])
def test_probe_of_gates_and_of_the_delta_rule(form, name):
    n = 41
    q, k, _, *more = inputs(name, n, 7, 1, dtype=torch.float32)
    visible = torch.from_numpy(causal_mask(n))
    if "delta" not in name:
        q, k = q.abs(), k.abs()
    if name != "delta":
        more[-1] = more[-1].clamp(min=-0.3)  # mild, but for one that forgets everything before it
        more[-1][:, :, 23] = -torch.inf
        visible[23:, :23] = False
    v = identity(n, torch.float32)
    w = on_tensors(name)(q, k, v, *more, **form)
    right = definition(name, *(x.double() for x in (q, k, v, *more)))
    assert_sharp(w, right)
    assert (w[..., ~visible] == 0).all() and (w[..., visible] != 0).all()


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("strength", [-1e-6, -20.0, -6e4, -torch.inf])
def test_strong_gates_neither_overflow_nor_lose_digits(form, strength):
    """Beside gates of exp(strength) there are mild ones, whose products are still exact."""
    for name in ("gated", "one gate", "gated delta"):
        *rest, log_gates = inputs(name, 70, 5, 3, dtype=torch.float32, seed=3)
        log_gates = log_gates.clamp(min=-0.3)
        log_gates[:, :, ::7] = strength
        arguments = [*rest, log_gates]
        do = upstream(arguments)
        right = exact(name, arguments, do)
        actual = results(lambda *x: on_tensors(name)(*x, **form), arguments, do)  # noqa: B023
        for label, a, e in zip(NAMES, actual, right, strict=False):
            assert a.isfinite().all(), label
            assert_sharp(a, e, name=label)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_large_inputs(form):
    """Features of ±1e4: elu + 1 of −1e4 is 0 in float32. A row without any weight gives 0."""
    q, k, v = inputs("elu", 23, 5, 3, dtype=torch.float32)
    arguments = [1e4 * q, 1e4 * k, v]
    for x in arguments[:2]:
        x[..., 0].abs_()  # so that no row is without weight
    do = upstream(arguments)
    for name in ("elu", "relu", "decay", "bidirectional"):
        right = exact(name, arguments, do)
        actual = results(lambda *x: on_tensors(name)(*x, **form), arguments, do)  # noqa: B023
        for label, a, e in zip(NAMES, actual, right, strict=False):
            # dq is what remains of two sums over all keys, which here are 1e4 times as large.
            assert_sharp(a, e, rtol=1e-4 if label == "dq" else 1e-5, name=label)
    arguments[0] = -1e4 - arguments[0].abs()
    for feature_map in ("elu", "relu"):
        o, *gradients = results(
            lambda *x: linear_attention(*x, feature_map=feature_map, **form),  # noqa: B023
            arguments,
            do,
        )
        assert (o == 0).all()
        assert all((g == 0).all() for g in gradients)
