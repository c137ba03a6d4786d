"""Code as text: which of its functions is judged, and how text may be pasted."""

import pytest

from attention_src.judge import judge_source

SOFTMAX = """
def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)
"""
HEAD = "import numpy as np\n" + SOFTMAX
MASK = "def attention_mask(n):\n    return np.tri(n, dtype=bool)\n"
WRONG = "    return softmax(q @ k.swapaxes(-1, -2)) @ v\n"
RIGHT = "    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v\n"
TESTED = "{}def test_attention():\n    attention(*np.ones((3, 2, 2)))\n"
PICKED = {  # what is defined, and which of it is to be judged
    "attention": TESTED.format(f"def attention(q, k, v):\n{WRONG}")
    + "def plot_attention(w):\n    ...\n",
    "my_function": f"def my_function(q, k, v):\n{WRONG}",
    "head_mix": "def head_mix(a, b, c):\n    return softmax(a @ b.swapaxes(-1, -2)) @ c\n",
    "forward": f"{MASK}def forward(q, k, v):\n    attention_mask(3)\n{WRONG}",
    "second_attention": f"def first_attention(q, k, v):\n{RIGHT}"
    f"def second_attention(q, k, v):\n{WRONG}",
    "Heads": f"def attention(q, k, v):\n{RIGHT}class Heads:\n    def __call__(self, q, k, v):\n"
    "        return attention(q * 2, k, v)\n",
}


@pytest.mark.parametrize("name", PICKED)
def test_the_whole_is_judged_and_not_its_helper(name):
    report = judge_source(HEAD + PICKED[name])
    assert report.name == name and report.verdict == "wrong", report


def test_it_says_which_it_did_not_judge():
    report = judge_source(HEAD + PICKED["second_attention"])
    assert report.convention["not judged"] == "first_attention"


def test_a_kind_says_which_is_meant():
    text = f"{HEAD}def attention(q, k, v):\n{WRONG}"
    report = judge_source(text, kind="softmax")
    assert report.name == "softmax" and report.verdict == "right", report


ATTENTION = f"{SOFTMAX}def attention(q, k, v):\n{RIGHT}"
PROMPTS = "\n".join(f">>> {x}" if x[:3] == "def" else f"... {x}" for x in ATTENTION.splitlines())
PASTED = {
    "without import": ATTENTION,
    "of an interpreter": PROMPTS,
    "in a fence": f"This is it:\n```python\n{HEAD + ATTENTION}```\nThanks!\n",
    "a method": "    def attention(self, q, k, v):\n"
    "        e = np.exp(q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5)\n"
    "        return e / e.sum(-1, keepdims=True) @ v\n",
    "of a class": "class ScaledDotProductAttention:\n    def __init__(self, d_k):\n"
    "        self.d_k = d_k\n\n    def __call__(self, Q, K, V, mask=None):\n"
    "        s = Q @ K.swapaxes(-1, -2) / np.sqrt(self.d_k)\n"
    f"        return softmax(s if mask is None else np.where(mask == 0, -1e9, s)) @ V\n{SOFTMAX}",
}


@pytest.mark.parametrize("text", PASTED)
def test_as_people_paste_it(text):
    report = judge_source(PASTED[text])
    assert report.exit_code == 0, report


def test_what_is_not_there():
    report = judge_source(ATTENTION, "nope")
    assert report.why == "There is no nope in it; there is softmax, attention."
    report = judge_source("def f(:")
    assert str(report).startswith("your code: not judged\n")
