"""What causal=True and masks do that they should not: never called right, and named."""

import numpy as np
import pytest

from attention_src.judge import judge, judge_source

HEAD = """
import numpy as np

def softmax(s, axis=-1):
    e = np.exp(s - s.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)
"""
CAUSAL = """
def attention(Q, K, V, causal=False):
    s = Q @ K.swapaxes(-1, -2) / Q.shape[-1] ** 0.5
    past = np.tri(*s.shape[-2:])
    if not causal:
        return softmax(s) @ V
    return {} @ V
"""
FLAGS = {  # the weights with causal=True, and what is found
    "softmax(np.where(past == 1, s, -np.inf))": None,
    "softmax(s + past)": "mask as a number",
    "softmax(s * past)": "mask zeroes scores",
    "softmax(s - 1e-9 * (1 - past))": "mask far too weak",
    "softmax(s) * past": "hidden after the softmax",
    "softmax(np.where(past == 1, s, 1e9))": "mask hides with a large number",
    "softmax(np.where(past == 1, s, -1))": "mask too weak",
    "softmax(np.where(past == 1, s, -np.inf), axis=-2)": "softmax over the queries",
    "softmax(np.where(past == 1, s, -np.inf)) ** 2": "causal wrong",
    "softmax(s + (1 - past) * -np.inf)": "NaN in a mask",
    "softmax(np.wher(past == 1, s, -np.inf))": "causal fails",
    "softmax(s)": "causal not used",
}


@pytest.mark.parametrize("weights", FLAGS)
def test_what_causal_does(weights):
    report = judge_source(HEAD + CAUSAL.format(weights))
    assert report.cause == FLAGS[weights], report
    if report.cause:
        shown = " ".join(finding.says for finding in report.findings[:1])
        assert report.verdict == "wrong"
        assert "causal=True" in shown or report.cause == "NaN in a mask"
    else:
        assert report.verdict == "right"


def test_a_refusal_and_a_square_table_alone():
    def refuses(q, k, v, causal=False):
        if causal:
            raise NotImplementedError("not yet")
        return plain(q, k, v)

    def square(q, k, v, causal=False):
        return plain(q, k, v, np.tri(q.shape[-2], dtype=bool) if causal else True)

    assert [x.key for x in judge(refuses).findings] == ["causal refused"]
    report = judge(square)
    assert report.verdict == "right" and "as many" in report.convention["causal=True"]


BOTH = {  # what a mask and causal=True hide together, and what is found
    "mask & past": None,
    "past": "one of two masks",
    "mask": "causal lost with a mask",
    "mask | past": "two masks at once",
}


@pytest.mark.parametrize("see", BOTH)
def test_a_mask_and_the_flag_at_once(see):
    def f(q, k, v, mask=None, causal=False):
        past = np.tri(q.shape[-2], k.shape[-2], dtype=bool)
        both = mask is not None and causal
        one = True if mask is None else mask
        return plain(q, k, v, eval(see) if both else past if causal else one)

    keys = [finding.key for finding in judge(f).findings]
    assert (BOTH[see] in keys) if BOTH[see] else not {*BOTH.values()} & {*keys}, keys


def test_without_the_flag_that_is_the_default():
    def f(q, k, v, causal=True, other=1):
        past = np.tri(q.shape[-2], k.shape[-2], dtype=bool)
        return plain(q, k, v, past if causal else True) * (1 if causal else other)

    assert judge(f).verdict == "right"
    report = judge(f, other=2)
    assert report.cause == "causal wrong" and "causal=False" in str(report)


def plain(q, k, v, see=True):
    s = np.where(see, q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5, -np.inf)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ v


MASKED = """
def attention(q, k, v, {}):
    s = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    return softmax({}) @ v
"""
MASKS = [  # the argument, the scores with it, and what is found
    ("mask", "s + (1 - mask) * -1e9", None),
    ("mask", "s + (1 - mask) * -1e-9", "mask far too weak"),
    ("mask", "s + mask * -1e-9", "mask far too weak"),
    ("mask", "s + mask * 1e9", "visible scores lost"),
    ("mask", "s + mask * -np.inf", "NaN in a mask"),
    (
        "mask",
        "s + (1 - mask) * -1e-9 + np.triu(np.full(s.shape[-2:], -np.inf), 1)",
        "mask far too weak",
    ),
    ("mask", "np.where(mask < 0, -np.inf, s)", None),
    ("mask", "np.where(mask[:, None, None, :] == 0, -1e-9, s)", "mask zeroes scores"),
    ("visible", "np.where(visible, s, -1e9)", None),
    ("visible", "np.where(visible, s, -1e-9)", "mask zeroes scores"),
    ("hide", "np.where(hide, 1e9, s)", "mask hides with a large number"),
    ("zork", "np.where(zork, s, -1e9)", None),
    ("zork", "np.where(zork, s, -1e-9)", "mask zeroes scores"),
    ("zork=None", "s if zork is None else s * zork", "mask zeroes scores"),
]


@pytest.mark.parametrize(("name", "scores", "cause"), MASKS)
def test_what_a_mask_does(name, scores, cause):
    report = judge_source(HEAD + MASKED.format(name, scores))
    assert report.cause == cause, report
    assert report.exit_code == (1 if cause else 0)
    assert name.partition("=")[0] in report.convention.get("mask", "") or cause


@pytest.mark.parametrize("name", ["zork=None", "zork=3", "mask=None, zork=None"])
def test_an_argument_that_nobody_knows_is_told(name):
    scores = "s if mask is None else np.where(mask, s, -1e9)" if "mask" in name else "s"
    report = judge_source(HEAD + MASKED.format(name, scores))
    told = [finding for finding in report.findings if finding.key == "not tried"]
    assert told and "zork" in told[0].says
