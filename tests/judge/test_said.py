"""What is said: causes that were once invented or missing, shapes that were refused, next steps."""

import re

import pytest

from attention_src.judge import assert_right, judge_source
from attention_src.judge.calls.oracle import tile_mistakes
from attention_src.judge.report import HAPPENED

HEAD = """
import numpy as np

def softmax(s, axis=-1):
    e = np.exp(s - s.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)

def weights(q, k):
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))

def exps(q, k):
    s = q @ k.T / np.sqrt(q.shape[-1])
    return np.exp(s - s.max(axis=-1, keepdims=True))

def {}:
    {}
"""
PLAIN = "attention(q, k, v)"
SAID = [  # what is defined, what it does, the verdict, and words of the report
    ("my_sum(a, b, c)", "return a * 2 + c[: len(a), :4]", "wrong", "that is no fault"),
    ("attention(x)", "return x", "wrong", "cause unknown"),
    ("attention()", "return np.ones((5, 4))", "not judged", "takes no arguments"),
    (PLAIN, "return {'o': weights(q, k) @ v}", "not judged", "returned a dict"),
    (PLAIN, "return [*(weights(q, k) @ v)]", "not judged", r"returned a list of 5, \[11\]"),
    (PLAIN, "e = exps(q, k); return e / e.sum(-1) @ v", "wrong", "keepdims=True is missing"),
    (PLAIN, "q = q.astype('f2'); return weights(q, k) @ v", "wrong", "float16"),
    (PLAIN, "e = exps(q, k); return e / (e.sum(-1, keepdims=True) + 1e-7) @ v", "right", "1e-6"),
    (PLAIN, "return softmax(q @ k.swapaxes(-1, -2) / 8) @ v", "wrong", "right only for d = 64"),
    (PLAIN, "return v @ softmax(k.T @ q / len(q) ** 0.5, axis=0)", "right", r"\[d, n\]"),
    (PLAIN, "return v @ softmax(k.T @ q, axis=0)", "wrong", "not scaled"),
    ("attention(query, keys, values)", "return exps(query, keys) @ values", "wrong", "not divided"),
    ("attend_one(q, k, v)", "return softmax(k @ q / len(q) ** 0.5) @ v", "right", "one query"),
    ("mha(q, k, v)", "B, H, n, d = q.shape; return weights(q, k) @ v", "right", "as attention"),
    ("multi_head(q, k, v)", "return weights(q, k) @ v", "right", "as attention"),
    ("multi_head(q, k, v, n_heads)", "return weights(q, k) @ v", "wrong", "as multihead"),
    ("attention(q, k, v, zork)", "return zork.blub(q)", "not judged", "in the code: `zork=4`"),
    (
        "attention(q, k, v)",
        "return weights(q, k).sum(-1, keepdims=True) + 0 * q",
        "wrong",
        "yours =",
    ),
]


@pytest.mark.parametrize(("what", "does", "verdict", "words"), SAID)
def test_what_is_said(what, does, verdict, words):
    report = judge_source(HEAD.format(what, does), what.partition("(")[0])
    assert report.verdict == verdict and re.search(words, str(report)), str(report)


WINDOW = """
def window_attention(q, k, v, window{}):
    away = np.arange(len(q))[:, None] - np.arange(len(k))
    s = q @ k.T / q.shape[-1] ** 0.5
    e = np.exp(np.where((away >= 0) & (away {} window), s, -np.inf))
    return e / e.sum(-1, keepdims=True) @ v
"""


@pytest.mark.parametrize("default", ["", "=3"])
@pytest.mark.parametrize("below", ["<", "<="])
def test_a_window_one_too_wide(default, below):
    report = judge_source(WINDOW.format(default, below))
    keys = [finding.key for finding in report.findings]
    assert ("window and one more" in keys) == (below == "<="), report
    assert "a window" in report.convention["variant"] and "not tried" not in keys


def test_scales_of_tiles_are_no_scale_of_models():
    for name, _, _ in tile_mistakes():
        told = [words for words, _ in HAPPENED if re.search(words, name)]
        assert "rescaled" not in name or not any("scale" in words for words in told), name


def test_a_failure_begins_with_its_verdict():
    with pytest.raises(AssertionError, match=r"\Af: wrong"):
        assert_right(f)


def f(q, k, v):
    return v[..., : q.shape[-2], :]
