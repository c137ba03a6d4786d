"""What "cache_fills" says and draws: tables, changes and counts are NumPy's, in every state."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from drawn import box, figures, numbers_in, shade

from attention_src.attention.masks import causal_mask
from attention_src.attention.reference import attention
from attention_src.explorables.cache_fills import TOKENS, WEIGHTS, WORDS, X, rows_computed

NAME = "cache_fills"


@cache
def tables(n, both):
    """K and V of both layers after n tokens."""
    x = np.array(X)[:n]
    q, k, v = (x @ np.array(WEIGHTS[name]) for name in ("q1", "k1", "v1"))
    hidden = x + attention(q, k, v, mask=None if both else causal_mask(n))
    second = {name: hidden @ np.array(WEIGHTS[name]) for name in ("k2", "v2")}
    return {"k1": k, "v1": v, **second}


@cache
def change(n, both, layer):
    """By what part of its length each older row changed, k and v side by side [n - 1]."""
    old, new = (
        np.hstack([tables(m, both)[f"{name}{layer}"] for name in "kv"])[: n - 1] for m in (n - 1, n)
    )
    return np.linalg.norm(new - old, axis=1) / np.linalg.norm(old, axis=1)


def assert_drawn(now, seen):
    """All numbers, bars and cells of the figure against NumPy."""
    n, both = now["n"], now["both"]
    for key, table in tables(n, both).items():
        bars = np.array([[box(seen[f"{key}-{i}{c}"]) for c in range(3)] for i in range(n)])
        middle = np.array([[box(seen[f"{key}-cell{i}{c}"])[1] for c in range(3)] for i in range(n)])
        tall = box(seen[f"{key}-cell00"])[3]
        unit = tall / 2 - 1
        np.testing.assert_allclose(bars[..., 3], np.abs(table) * unit, atol=0.02)
        top = middle + tall / 2 - np.maximum(table, 0) * unit
        np.testing.assert_allclose(bars[..., 1], top, atol=0.02)
        assert f"{key}-{n}0" not in seen
    for layer in (1, 2):
        moved = change(n, both, layer) if n > 1 else []
        news = [seen[f"news{layer}-{i}"]["words"] for i in range(n)]
        same = [f"{100 * part:.0f} %" if part > 1e-9 else "same" for part in moved]
        assert news == [*same, "new"]
        assert (layer == 2 and both) == ("same" not in same) or n == 1
    assert_work(seen, n, both)


def assert_work(seen, n, both):
    """The rows that are drawn as computed, one by one, and their sums."""
    kept, without = rows_computed(n)
    for key, total, again in (
        ("kept", without if both else kept, both),
        ("without", without, True),
    ):
        cells = [f"{key}-{name}{i}-{t}" for t in range(n) for i in range(t + 1) for name in "qkv"]
        solid = [cell for cell in cells if shade(seen[cell]) == 1]
        assert len(solid) == total == int(seen[f"{key}-total"]["words"])
        steps = [int(seen[f"{key}-step{t}"]["words"]) for t in range(n)]
        assert steps == [3 * (t + 1) if again else 3 for t in range(n)]
        assert f"{key}-step{n}" not in seen
        if both:  # the counts of looking back stay beside
            back = {"kept": kept, "without": without}[key]
            assert seen[f"{key}-note"]["words"] == WORDS["back_note"].format(n=back)
    title = "useless" if both else "kept"
    assert seen["kept-title"]["words"] == WORDS[title]


@pytest.fixture(scope="module")
def every():
    ways = product(range(1, len(TOKENS) + 1), (False, True))
    return figures(NAME, [{"n": n, "both": both} for n, both in ways])


def test_numbers_are_numpy_s(every):
    for now in (one.now for one in every):
        n, both = now["n"], now["both"]
        for key, table in tables(n, both).items():
            np.testing.assert_allclose(now[key], table, rtol=0, atol=1e-12)
        kept, without = rows_computed(n)
        assert (now["kept"], now["without"]) == (without if both else kept, without)


def test_pictures_show_them(every):
    for one in every:
        for seen in one.seen:
            assert_drawn(one.now, seen)


def test_what_is_said(every):
    for now, words in ((one.now, one.said) for one in every):
        n, both = now["n"], now["both"]
        if n == 1:
            assert words == WORDS["alone"].format(word="the")
        elif both:
            moved = change(n, True, 2)
            most = TOKENS[int(moved.argmax())]
            share = f"{100 * moved.max():.0f}"
            assert words == WORDS["changes"].format(word=TOKENS[n - 1], most=most, change=share)
        elif n == 5:
            assert words.startswith("No row has ever changed")
            assert numbers_in(words) == [15, 45, 3, 999, 500]
            assert sum(3 * t for t in range(1, 1000)) / (3 * 999) == 500
        else:
            assert words == WORDS["grows"].format(word=TOKENS[n - 1], new=3, all=3 * n)


def test_bank_looks_at_river_as_the_maker_says():
    q, k = (np.array(X) @ np.array(WEIGHTS[name]) for name in ("q1", "k1"))
    weights = attention(q, k, np.eye(5), mask=causal_mask(5))
    assert weights[2].argmax() == 1
    assert weights[2, 1] > 0.5
