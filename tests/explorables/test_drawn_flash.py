"""What "flash" says and draws: what its rows hold and what it counts, after each tile."""

import numpy as np
import pytest
from drawn import box, figures

from attention_src.attention.reference import attention
from attention_src.explorables.flash import TOKENS, given

SCORES, VALUES = np.array(given()["scores"]), np.array(given()["values"], dtype=float)
N, WIDTH = len(VALUES), given()["width"]
SETTINGS = [
    (2, 2, "queries", False),
    (2, 2, "queries", True),
    (3, 1, "keys", False),
    (1, 3, "keys", True),
    (2, 3, "queries", True),
    (6, 6, "queries", False),
    (1, 1, "queries", False),
    (1, 1, "keys", False),
]


def tiles(rows, columns, order, causal):
    """The visited tiles, as (queries, keys), in order."""
    queries, keys = ([np.arange(a, min(a + b, N)) for a in range(0, N, b)] for b in (rows, columns))
    if order == "queries":
        pairs = [(i, j) for i in queries for j in keys]
    else:
        pairs = [(i, j) for j in keys for i in queries]
    return [(i, j) for i, j in pairs if not causal or j[0] <= i[-1]]


def held(visited, causal):
    """m, l and a of every row, from all the scores that these tiles hold, at once."""
    seen = np.zeros((N, N), bool)
    for i, j in visited:
        seen[np.ix_(i, j)] = True
    s = np.where(seen & (np.tri(N, dtype=bool) | (not causal)), SCORES, -np.inf)
    m = s.max(axis=1)
    e = np.exp(s - np.where(m == -np.inf, 0, m)[:, None])
    return m, e.sum(axis=1), e @ VALUES


def moved(visited, all_tiles, order):
    """Numbers loaded and stored: whatever is not on the chip already."""
    total, q_block, k_block = (3 * N if order == "keys" and visited else 0), None, None
    for step, (i, j) in enumerate(visited):
        if order == "keys" or q_block != i[0]:
            total += len(i) * WIDTH
        if order == "queries" or k_block != j[0]:
            total += len(j) * (WIDTH + 1)
        q_block, k_block = i[0], j[0]
        if order == "keys":
            total += 6 * len(i)
        elif step + 1 == len(all_tiles) or all_tiles[step + 1][0][0] != i[0]:
            total += 2 * len(i)
    return total


def settings_of(now):
    return tuple(now[name] for name in ("rows", "columns", "order", "causal"))


@pytest.fixture(scope="module")
def every():
    names = ("rows", "columns", "order", "causal")
    return figures(
        "flash",
        [
            {**dict(zip(names, settings, strict=True)), "step": step}
            for settings in SETTINGS
            for step in range(len(tiles(*settings)) + 1)
        ],
        [338, 638],
    )


def test_each_step_is_the_reference_s(every):
    for now in (one.now for one in every):
        settings, step = settings_of(now), now["step"]
        all_tiles = tiles(*settings)
        assert (now["tiles"], now["table"]) == (len(all_tiles), 180)
        m, l, acc = held(all_tiles[:step], settings[-1])
        found = [-np.inf if x is None else x for x in now["m"]]
        for got, right in ((found, m), (now["l"], l), (now["acc"], acc)):
            np.testing.assert_allclose(got, right, rtol=1e-12, atol=1e-12)
        assert now["moved"] == moved(all_tiles[:step], all_tiles, settings[2])
        if step == len(all_tiles):
            exact = attention(SCORES, np.eye(N), VALUES[:, None], scale=1, causal=settings[-1])
            np.testing.assert_allclose(now["outputs"], exact[:, 0])


def number(words):
    return float(words.replace("−", "-").replace("∞", "inf"))


def test_pictures_show_them(every):
    for one in every:
        now, settings = one.now, settings_of(one.now)
        all_tiles = tiles(*settings)
        visible = np.tri(N, dtype=bool) | (not settings[-1])
        reached = {(i, j) for tile in all_tiles for i in tile[0] for j in tile[1]}
        here = all_tiles[now["step"] - 1] if now["step"] else ([], [])
        m = [-np.inf if x is None else x for x in now["m"]]
        for seen in one.seen:
            shown = [[number(seen[f"{name}{i}"]["words"]) for i in range(N)] for name in "mla"]
            np.testing.assert_allclose(shown, [m, now["l"], now["acc"]], atol=0.0051)
            for i, j in np.ndindex(N, N):
                on_chip = i in here[0] and j in here[1]
                cell, out = seen[f"cell{i}-{j}"], not visible[i, j] or (i, j) not in reached
                assert (cell["stroke-width"] == "2") == on_chip
                assert (f"out{i}-{j}" in seen) == out
                if not out:
                    assert number(seen[f"score{i}-{j}"]["words"]) == round(SCORES[i, j], 1)
                if on_chip and not out:
                    shade = 0.6 * np.exp(SCORES[i, j] - m[i])
                    assert abs(float(cell["fill-opacity"]) - shade) < 0.0051
            full = box(seen["track-tiles"])[2]
            for key, count in (("tiles", now["moved"]), ("table", 180)):
                assert seen[f"count-{key}"]["words"] == str(count)
                wide = box(seen[f"bar-{key}"])[2]
                assert wide == pytest.approx(full * min(count / 180, 1), abs=0.01)


def test_what_is_said(every):
    for now, words in ((one.now, one.said) for one in every):
        if now["step"]:
            assert words.startswith(f"Tile {now['step']} of {now['tiles']}: queries ")
        done = [f"{TOKENS[i]} {o:.2f}" for i, o in enumerate(now["outputs"]) if o is not None]
        ends = f"Finished, a / l: {', '.join(done)}." if done else "No output is finished."
        assert words.endswith(ends)
    rescaled = next(one for one in every if settings_of(one.now) == SETTINGS[0])
    assert rescaled.now["step"] == 0
    assert "nothing to rescale" in every[1].said and "the maximum rises from" in every[2].said


def test_what_the_chapter_says_about_it(every):
    by = {(settings_of(one.now), one.now["step"]): one.now for one in every}
    assert [round(by[SETTINGS[0], step]["l"][1], 2) for step in (1, 2)] == [1.76, 1.42]
    last = [by[settings, len(tiles(*settings))]["moved"] for settings in SETTINGS]
    assert (last[0], last[6], last[7]) == (78, 132, 324)
