"""Weights of NumPy: attributes of a class or arguments; one input, one head, another text."""

import pytest

from attention_src.judge import judge, judge_source

CLASS = """
import numpy as np

def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)

class MultiHeadAttention:
    def __init__(self, d_model, num_heads):
        self.h, self.d = num_heads, d_model // num_heads
        made = np.random.default_rng(0).normal
        self.W_q, self.W_k, self.W_v, self.W_o = (made(size=(d_model, d_model)) for _ in range(4))
        self.b_o = made(size=d_model)

    def cut(self, x):
        return x.reshape(*x.shape[:2], self.h, self.d).swapaxes(1, 2)

    def __call__(self, x):
        q, k, v = (self.cut(x @ w) for w in (self.W_q, self.W_k, self.W_v))
        o = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(self.d)) @ v
        return o.swapaxes(1, 2).reshape(x.shape) @ self.W_o + self.b_o
"""
FUSED = CLASS.replace("self.W_k, self.W_v, self.W_o = (made", "self.W_o = (made")
FUSED = FUSED.replace(
    "self.W_q, self.W_o = (made(size=(d_model, d_model)) for _ in range(4))", "{}"
)
FUSED = FUSED.format("self.c_attn, self.W_o = made(size=(d_model, 3 * d_model)), np.eye(d_model)")
FUSED = FUSED.replace(
    "(self.cut(x @ w) for w in (self.W_q, self.W_k, self.W_v))",
    "map(self.cut, np.split(x @ self.c_attn, 3, axis=-1))",
)
CLASSES = {
    None: ("", ""),
    "wrong projection": ("(self.W_q, self.W_k,", "(self.W_q, self.W_q,"),
    "W_O not used": (" @ self.W_o", ""),
    "√ of the model's width": ("sqrt(self.d)", "sqrt(x.shape[-1])"),
    "heads joined without turning": ("o.swapaxes(1, 2).reshape(x", "o.reshape(x"),
    "matrices": ("x @ w)", "x @ w.T @ w @ w)"),
}


@pytest.mark.parametrize("cause", CLASSES)
def test_a_class_with_weights(cause):
    for call in ("__call__", "forward"):
        text = CLASS.replace(*CLASSES[cause]).replace("__call__", call) if cause else CLASS
        report = judge_source(text)
        assert report.kind == "multihead" and report.cause == cause, report
        assert report.exit_code == (1 if cause else 0)


def test_a_class_with_one_matrix_for_three():
    assert judge_source(FUSED).verdict == "right", judge_source(FUSED)
    twice = FUSED.replace("q @ k.swap", "q @ q.swap")
    assert judge_source(twice).cause == "parts of one projection"


def test_a_matrix_that_nobody_knows():
    report = judge_source(CLASS.replace("W_k", "W_zork"))
    assert report.verdict == "not judged" and "W_zork" in report.why, report


def test_an_object_keeps_its_weights():
    space = {}
    exec(CLASS, space)
    made = space["MultiHeadAttention"](12, 3)
    before = made.W_q
    assert judge(made, "multihead", sizes={"H": 3, "d": 4}).verdict == "right"
    assert made.W_q is before


def test_weights_that_are_hidden():
    text = CLASS.replace("self.W_q, self.W_k, self.W_v, self.W_o =", "self.all =")
    text = text.replace(
        "(made(size=(d_model, d_model)) for _ in range(4))", "made(size=(4, 12, 12))"
    )
    text = text.replace("(self.W_q, self.W_k, self.W_v)", "self.all[:3]")
    of_one = CLASS.replace("self.W_q, self.W_k, self.W_v, self.W_o =", "*self.three, self.W_o =")
    of_one = of_one.replace("(self.W_q, self.W_k, self.W_v)", "self.three")
    for hidden in (text.replace("self.W_o", "self.all[3]"), of_one):
        report = judge_source(hidden)
        assert report.verdict == "not judged" and "paste" in report.why, report


HEAD = CLASS.partition("class")[0]
ONE = {  # arguments, of what queries, keys and values are made, and what is found
    ("x", "x, x, x", "q.shape[-1]"): None,
    ("x, Wq, Wk, Wv", "x @ Wq, x @ Wk, x @ Wv", "q.shape[-1]"): None,
    ("x, context, W_q, W_k, W_v", "x @ W_q, context @ W_k, context @ W_v", "q.shape[-1]"): None,
    ("q, k, v, w_o", "q, k, v @ w_o", "q.shape[-1]"): None,
    ("x, Wq, Wk, Wv", "x @ Wq, x @ Wk, x @ Wv", "1"): "not scaled",
    ("x, Wq, Wk, Wv", "x @ Wq, x @ Wq, x @ Wv", "q.shape[-1]"): "wrong projection",
    ("x, context, W_q, W_k, W_v", "x @ W_q, context @ W_k, context @ W_k", "4"): "wrong projection",
    ("x, context, W_q, W_k, W_v", "x @ W_q, context @ W_k, x @ W_v", "4"): "cause unknown",
}


@pytest.mark.parametrize(("given", "made", "d"), ONE)
def test_one_head(given, made, d):
    of_two = "context" in given
    body = f"    q, k, v = {made}\n    return softmax(q @ k.swapaxes(-1, -2) / ({d}) ** 0.5) @ v\n"
    for name in ["cross_attention"] if of_two else ["self_attention", "attention"]:
        report = judge_source(f"{HEAD}def {name}({given}):\n{body}")
        assert report.cause == ONE[given, made, d], report
        assert report.exit_code == (1 if report.cause else 0), report
