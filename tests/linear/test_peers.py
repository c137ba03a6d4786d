"""Against flash-linear-attention's naive functions: another hand's reading of the same papers.

Their files are loaded one by one, because importing the whole package compiles and patches more
than is asked for here. Their scale is d_k ** -0.5, and most have [B, n, H, d] for [B, H, n, d].
"""

import importlib.metadata
import importlib.util

import pytest
import torch

from linear.cases import FORMS, inputs, on_tensors

pytest.importorskip("einops")
try:
    FLA = importlib.metadata.distribution("fla-core")
except importlib.metadata.PackageNotFoundError:
    pytest.skip("fla-core is not installed", allow_module_level=True)

N, D_K, D_V = 83, 7, 5


def naive(topic, function):
    """One function of one naive file."""
    path = FLA.locate_file(f"fla/ops/{topic}/naive.py")
    spec = importlib.util.spec_from_file_location(f"fla_{topic}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, function)


def swapped(*tensors):
    return [x.transpose(1, 2) for x in tensors]


def check(name, arguments, theirs, their_state=None, **options):
    """Ours with their scale, in every form; in float32, as they compute."""
    options |= dict(scale=D_K**-0.5, return_state=True)
    for form in FORMS:
        o, state = on_tensors(name)(*arguments, **(options | form))
        torch.testing.assert_close(o, theirs, rtol=1e-4, atol=1e-5)
        if their_state is not None:
            torch.testing.assert_close(state, their_state, rtol=1e-4, atol=1e-5)


def test_plain():
    q, k, v = inputs("elu", N, D_K, D_V, dtype=torch.float32)
    run = naive("linear_attn", "naive_recurrent_linear_attn")
    theirs, state = run(*swapped(q, k, v), output_final_state=True)
    options = dict(feature_map=None, normalize=False)
    check("elu", (q, k, v), theirs.transpose(1, 2), state, **options)
    q, k = q.abs(), k.abs()
    theirs, _ = run(*swapped(q, k, v), normalize=True)
    check("elu", (q, k, v), theirs.transpose(1, 2), feature_map=None)


def test_decay():
    q, k, v = inputs("elu", N, D_K, D_V, dtype=torch.float32)
    gamma = torch.tensor([0.5, 0.9375, 0.998])
    g = gamma.log().expand(2, N, 3)
    for function in ("naive_recurrent_simple_gla", "naive_chunk_simple_gla"):
        theirs, state = naive("simple_gla", function)(*swapped(q, k, v), g, output_final_state=True)
        options = dict(feature_map=None, normalize=False, decay=gamma)
        check("elu", (q, k, v), theirs.transpose(1, 2), state, **options)


def test_retention():
    q, k, v = inputs("elu", N, D_K, D_V, dtype=torch.float32)
    theirs = naive("retention", "naive_retention")(q, k, v)
    gamma = 1 - 2.0 ** (-5 - torch.arange(3))
    check("elu", (q, k, v), theirs, feature_map=None, normalize=False, decay=gamma)


def test_gates():
    q, k, v, log_gates = inputs("gated", N, D_K, D_V, dtype=torch.float32)
    theirs, state = naive("gla", "naive_recurrent_gla")(
        *swapped(q, k, v, log_gates), output_final_state=True
    )
    check("gated", (q, k, v, log_gates), theirs.transpose(1, 2), state)


@pytest.mark.parametrize("function", ["naive_recurrent_simple_gla", "naive_chunk_simple_gla"])
def test_one_gate(function):
    q, k, v, log_gates = inputs("one gate", N, D_K, D_V, dtype=torch.float32)
    if "chunk" in function:  # it subtracts cumulative sums: strong gates cost it three digits
        log_gates = log_gates.clamp(min=-0.3)
    theirs, state = naive("simple_gla", function)(
        *swapped(q, k, v, log_gates[..., 0]), output_final_state=True
    )
    check("one gate", (q, k, v, log_gates), theirs.transpose(1, 2), state)


def test_delta_rule():
    q, k, v, beta = inputs("delta", N, D_K, D_V, dtype=torch.float32)
    theirs, state = naive("delta_rule", "delta_rule_recurrence")(q, k, v, beta)
    check("delta", (q, k, v, beta), theirs, state)
    q, k, v, beta = inputs("delta", 96, D_K, D_V, dtype=torch.float32)
    theirs, state = naive("delta_rule", "delta_rule_chunkwise")(q, k, v, beta)
    check("delta", (q, k, v, beta), theirs, state)


def test_gated_delta_rule():
    q, k, v, beta, log_gates = inputs("gated delta", N, D_K, D_V, dtype=torch.float32)
    theirs, state = naive("gated_delta_rule", "naive_recurrent_gated_delta_rule")(
        *swapped(q, k, v, beta, log_gates), output_final_state=True
    )
    check("gated delta", (q, k, v, beta, log_gates), theirs.transpose(1, 2), state)
