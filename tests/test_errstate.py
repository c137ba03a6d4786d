"""References compute the same whatever np.seterr says: no tiny weight, inf or NaN stops them."""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from attention_src.attention import maps
from attention_src.attention import reference as attention
from attention_src.attention.bias import alibi_slopes
from attention_src.errstate import own_errstate
from attention_src.flash import reference as flash
from attention_src.kvcache import reference as kvcache
from attention_src.linear.reference import delta_rule, gated_linear_attention, linear_attention
from attention_src.models.minilm.gelu import gelu
from attention_src.multihead import reference as multihead
from attention_src.ring import reference as ring
from attention_src.rope import reference as rope
from attention_src.scores import reference as scores
from attention_src.softmax import reference as softmax
from attention_src.ssm import reference as ssm

FAR = np.array([[0.0, -800.0], [-np.inf, -np.inf], [np.inf, 1.0], [np.nan, 0.0], [1e-320, 1e308]])
Q, K = np.array([[900.0, 1e-200], [0.0, 1e-320]]), np.array([[1.0, 1e-200], [-1.0, 0.0]])
V, DO = np.array([[1e-300, 1.0], [2.0, 1e-310]]), np.array([[1e-200, 1.0], [1.0, 1e-320]])
HIDDEN = np.array([[True, True], [False, False]])
GATES = np.array([[-800.0], [-1e-320]])
BETA, PLACES = np.array([1e-300, 1.0]), np.array([0.0, 1e6])
STEPS = np.array([[800.0, 1e-200]])
W = np.full((4, 2, 2), 1e-200)
ROWS = np.array([[1e-30, -1e-35], [0.0, 0.0], [1e30, 1.0]])
CALLS = {
    "softmax": lambda: softmax.softmax(FAR),
    "lse": lambda: softmax.log_sum_exp(FAR),
    "sparsemax": lambda: softmax.sparsemax(FAR),
    "entmax15": lambda: softmax.entmax15(FAR),
    "hardmax": lambda: softmax.hardmax(FAR),
    "sigmoid": lambda: softmax.sigmoid_weights(FAR),
    "naive": lambda: softmax.naive_softmax([0.0, -800.0]),
    "online": lambda: softmax.online_softmax([FAR[:, :1], FAR[:, 1:]]),
    "jacobian": lambda: softmax.softmax_jacobian([1.0, 1e-200]),
    "softmax backward": lambda: softmax.softmax_backward([1.0, 1e-200], [1.0, 1e-200]),
    "entropy": lambda: softmax.entropy_bits([1.0, 5e-324]),
    "attention": lambda: attention.attention(Q, K, V, mask=HIDDEN),
    "attention weights": lambda: attention.attention_weights(Q, K, softcap=1e-200),
    "attention lse": lambda: attention.attention_lse(Q, K, mask=HIDDEN),
    "attention backward": lambda: attention.attention_backward(Q, K, V, DO, mask=HIDDEN),
    "flash": lambda: flash.flash_attention(Q, K, V, causal=True, block_q=1, block_k=1),
    "flash backward": lambda: flash.flash_attention_backward(
        Q, K, V, *flash.flash_attention(Q, K, V), DO, block_q=1, block_k=1
    ),
    "decode": lambda: kvcache.decode(Q[None, None, :1], K[None, None], V[None, None]),
    "merge": lambda: kvcache.merge_partials(V, FAR[0]),
    "quantize": lambda: kvcache.quantize_symmetric(ROWS),
    "quantize asymmetric": lambda: kvcache.quantize_asymmetric(ROWS),
    "linear": lambda: linear_attention(Q, K, V, causal=True),
    "gated": lambda: gated_linear_attention(Q, K, V, GATES),
    "delta": lambda: delta_rule(K, K, V, BETA),
    "scan": lambda: ssm.selective_scan(V, np.abs(FAR[[0, 0]]), -np.ones((2, 2)), Q, K),
    "ssd": lambda: ssm.ssd(
        V[None], np.array([[800.0, 1e-200]]), -np.ones(1), Q, K, z=-900 * V[None]
    ),
    "discretize": lambda: ssm.discretize(np.float64(800), -np.ones(1), np.array([1e-320])),
    "rotate": lambda: rope.rotate(V, PLACES),
    "sinusoids": lambda: rope.sinusoids(PLACES, 4),
    "dot": lambda: scores.dot(V, V),
    "cosine": lambda: scores.cosine(V, V),
    "heads": lambda: multihead.multihead_attention(Q, *W, n_heads=1),
    "rms_norm": lambda: multihead.rms_norm(W[0], np.ones(2)),
    "ring": lambda: ring.ring_attention(Q, K, V, n_ranks=1, causal=True),
    "slopes": lambda: alibi_slopes(3),
    "contributions": lambda: maps.contributions(W[0], W[0, 0]),
    "gelu": lambda: gelu(np.array([-40.0, 1e-320])),
}


def _stop(kind, flag):
    raise AssertionError(f"np.seterrcall was called: {kind}")


@pytest.mark.parametrize("how", ["raise", "call"])
@pytest.mark.parametrize("name", CALLS)
def test_the_callers_error_state_changes_nothing(name, how, untyped):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        expected = CALLS[name]()
    with np.errstate(all=how, call=_stop):
        found = CALLS[name]()
        assert set(np.geterr().values()) == {how}, "and is given back"
    both = [x if isinstance(x, tuple) else (x,) for x in (found, expected)]
    for a, e in zip(*both, strict=True):
        np.testing.assert_array_equal(a, e)


def test_a_weight_below_all_numbers_is_0():
    with np.errstate(all="raise"):
        assert softmax.softmax([0.0, -800.0]).tolist() == [1, 0]


def test_warnings_stay_as_the_caller_chose():
    with own_errstate(), pytest.warns(RuntimeWarning, match="overflow"):
        np.exp(np.float64(800))
    with np.errstate(all="ignore"), warnings.catch_warnings(), own_errstate():
        warnings.simplefilter("error")
        assert np.exp(np.float64(800)) == np.inf
    with np.errstate(all="warn"), warnings.catch_warnings(), own_errstate():
        warnings.simplefilter("error")
        assert np.exp(np.float64(-800)) == 0


def test_every_exercise_can_be_imported():
    code = """
import importlib, pkgutil
import numpy as np
from attention_src import exercises
np.seterr(all="raise")
for found in pkgutil.walk_packages(exercises.__path__, "attention_src.exercises."):
    importlib.import_module(found.name)
"""
    root = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stderr
