"""The check of a chain's times: right answers pass, wrong ones do not and are named.

In the table of wrong answers: code, and what the message must speak of ("" = any message).
"""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.gpu import check_chain_time
from attention_src.exercises.gpu.chain import CHAIN_TIME


# The worked solution, in the words of the chapter.
def chain_time(flops, sizes, peak, bandwidth):
    moved = sizes[:-1] + sizes[1:]  # each step reads one and writes one
    apart = np.maximum(flops / peak, moved / bandwidth).sum()
    ends = sizes[0] + sizes[-1]
    return apart, np.maximum(flops.sum() / peak, ends / bandwidth)


def test_worked_solution_and_stub():
    assert_worked("gpu", check_chain_time, chain_time)


@pytest.mark.parametrize("mistake", CHAIN_TIME.mistakes, ids=lambda mistake: mistake.name)
def test_each_known_mistake_is_named(mistake):
    assert_rejected(CHAIN_TIME.run, mistake.wrong, f"({mistake.name})")


def chain_by_loop(flops, sizes, peak, bandwidth):
    apart = 0.0
    for i, step in enumerate(flops):
        apart += max(step / peak, (sizes[i] + sizes[i + 1]) / bandwidth)
    return apart, max(sum(flops) / peak, (sizes[0] + sizes[-1]) / bandwidth)


def chain_in_torch(flops, sizes, peak, bandwidth):
    torch = pytest.importorskip("torch")
    f, s = torch.from_numpy(flops), torch.from_numpy(sizes)
    apart = torch.maximum(f / peak, (s[1:] + s[:-1]) / bandwidth).sum()
    return apart, torch.maximum(f.sum() / peak, (s[0] + s[-1]) / bandwidth)


def chain_by_roofline(flops, sizes, peak, bandwidth):
    def seconds(f, b):
        return f / min(peak, bandwidth * f / b) if f and b else f / peak + b / bandwidth

    moved = np.convolve(sizes, [1, 1], "valid")
    return sum(map(seconds, flops, moved)), seconds(flops.sum(), sizes[0] + sizes[-1])


RIGHT = {
    "worked solution": chain_time,
    "loop": chain_by_loop,
    "torch": chain_in_torch,
    "by intensity": chain_by_roofline,
    "a list": lambda *x: list(chain_by_loop(*x)),
    "stacked": lambda f, s, p, b: (
        np.stack([f / p, (s[:-1] + s[1:]) / b]).max(axis=0).sum(),
        np.max([np.sum(f) / p, (s[0] + s[-1]) / b]),
    ),
    "where": lambda f, s, p, b: (
        np.where(f / p > (s[:-1] + s[1:]) / b, f / p, (s[:-1] + s[1:]) / b).sum(),
        max(f.sum() / p, (s[0] + s[-1]) / b),
    ),
}


def chain_in_place(flops, sizes, peak, bandwidth):
    answer = chain_time(flops, sizes, peak, bandwidth)
    sizes[1:] += sizes[:-1]
    return answer


def chain_kept(flops, sizes, peak, bandwidth, kept={}):  # noqa: B006
    return kept.setdefault(len(flops), chain_time(flops, sizes, peak, bandwidth))


WRONG = {
    "one maximum": (
        lambda f, s, p, b: (
            max(f.sum() / p, (2 * s.sum() - s[0] - s[-1]) / b),
            chain_time(f, s, p, b)[1],
        ),
        "total instead of each",
    ),
    "added": (
        lambda f, s, p, b: (
            f.sum() / p + (s[:-1] + s[1:]).sum() / b,
            f.sum() / p + (s[0] + s[-1]) / b,
        ),
        "They overlap",
    ),
    "exchanged": (lambda *x: chain_time(*x)[::-1], "first apart"),
    "apart twice": (lambda *x: (chain_time(*x)[0],) * 2, ""),
    "fused twice": (lambda *x: (chain_time(*x)[1],) * 2, ""),
    "one number": (lambda *x: chain_time(*x)[0], "should return (apart, fused)"),
    "each step": (
        lambda f, s, p, b: (np.maximum(f / p, (s[:-1] + s[1:]) / b), chain_time(f, s, p, b)[1]),
        "shape",
    ),
    "milliseconds": (lambda *x: tuple(1e3 * t for t in chain_time(*x)), ""),
    "memory only": (
        lambda f, s, p, b: ((s[:-1] + s[1:]).sum() / b, (s[0] + s[-1]) / b),
        "",
    ),
    "arithmetic only": (lambda f, s, p, b: (f.sum() / p, f.sum() / p), ""),
    "only the first array": (
        lambda f, s, p, b: (chain_time(f, s, p, b)[0], max(f.sum() / p, s[0] / b)),
        "",
    ),
    "two steps at most": (
        lambda f, s, p, b: (chain_time(f[:2], s[:3], p, b)[0], chain_time(f, s, p, b)[1]),
        "",
    ),
    "six steps at most": (
        lambda f, s, p, b: (chain_time(f[:6], s[:7], p, b)[0], chain_time(f, s, p, b)[1]),
        "",
    ),
    "in place": (chain_in_place, "in place"),
    "kept by length": (chain_kept, ""),
    "peak and bandwidth exchanged": (lambda f, s, p, b: chain_time(f, s, b, p), ""),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass(name):
    assert check_chain_time(RIGHT[name]).status == "passed"


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    assert_rejected(check_chain_time, *WRONG[name])
