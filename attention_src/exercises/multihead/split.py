"""The checks of splitting the last axis into heads, and of merging them again."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result


def _split_heads(x: np.ndarray, n_heads: int) -> np.ndarray:
    """[..., n, H * d] -> [..., H, n, d]."""
    return x.reshape(*x.shape[:-1], n_heads, -1).swapaxes(-2, -3)


def _merge_heads(x: np.ndarray) -> np.ndarray:
    """[..., H, n, d] -> [..., n, H * d]."""
    H, n, d = x.shape[-3:]
    return x.swapaxes(-2, -3).reshape(*x.shape[:-3], n, H * d)


def _labelled(n: int, width: int) -> np.ndarray:
    """Token t, column c holds 10 t + c, so that an answer shows where each number is from."""
    return 10.0 * np.arange(n)[:, None] + np.arange(width)


def _labelled_heads(H: int, n: int, d: int) -> np.ndarray:
    """Head h, token t, column c holds 100 h + 10 t + c."""
    parts = np.arange(H)[:, None, None], np.arange(n)[:, None], np.arange(d)
    return np.asarray(100.0 * parts[0] + 10 * parts[1] + parts[2])


def _axes(rng: np.random.Generator) -> tuple[list[int], int, int, int]:
    """Leading axes, n, H and d, drawn; some of length 1."""
    leading = [int(size) for size in rng.integers(1, 4, rng.integers(0, 4))]
    n, H, d = (int(size) for size in rng.integers(1, 6, 3))
    if rng.random() < 0.1:
        H = int(rng.integers(12, 20))
    return leading, n, H, d


def _numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32 if rng.random() < 0.3 else np.float64)


def _draw_split(rng: np.random.Generator) -> tuple:
    leading, n, H, d = _axes(rng)
    return _numbers(rng, (*leading, n, H * d)), H


def _draw_merge(rng: np.random.Generator) -> tuple:
    leading, n, H, d = _axes(rng)
    return (_numbers(rng, (*leading, H, n, d)),)


_BATCH = np.random.default_rng(1).normal(size=(2, 3, 4))

SPLIT_HEADS = Check(
    "split_heads",
    reference=lambda x, n_heads: _split_heads(x, n_heads),
    cases=[
        Case("three tokens, two heads of width 2", (_labelled(3, 4), 2)),
        Case("two tokens, three heads of width 2", (_labelled(2, 6), 3)),
        Case("one head", (_labelled(3, 4), 1)),
        Case("heads of width 1", (_labelled(3, 4), 4)),
        Case("as many tokens as heads", (_labelled(2, 6), 2)),
        Case("one token", (_labelled(1, 6), 2)),
        Case("a batch of two", (_BATCH, 2)),
        Case("numbers that float32 cannot hold", (1e300 * _BATCH, 2)),
        Case("two leading axes, one of length 1", (_BATCH[:, None], 2)),
    ],
    draw=_draw_split,
    mistakes=[
        Mistake(
            "reshaped only",
            lambda x, n_heads: x.reshape(*x.shape[:-2], n_heads, x.shape[-2], -1),
            "The shape is right and the numbers are in the wrong heads: your reshape cut the "
            "tokens into heads. Cut the last axis in two first, then swap two axes.",
        ),
        Mistake(
            "not swapped",
            lambda x, n_heads: x.reshape(*x.shape[:-1], n_heads, -1),
            "You cut the last axis, so this is [..., n, H, d]. Swap the axes of tokens and heads.",
        ),
        Mistake(
            "interleaved",
            lambda x, n_heads: np.moveaxis(x.reshape(*x.shape[:-1], -1, n_heads), -1, -3),
            "Each head took every H-th column. A head's columns are adjacent: head 0 has the first "
            "d of them.",
        ),
        Mistake(
            "width and tokens swapped",
            lambda x, n_heads: _split_heads(x, n_heads).swapaxes(-1, -2),
            "This is [..., H, d, n]. Swap tokens and heads, and leave the width last.",
        ),
        Mistake(
            "n_heads taken for the width",
            lambda x, n_heads: _split_heads(x, x.shape[-1] // n_heads),
            "You made heads of width n_heads. n_heads is how many there are.",
        ),
        Mistake(
            "heads in front",
            lambda x, n_heads: np.moveaxis(x.reshape(*x.shape[:-1], n_heads, -1), -2, 0),
            "The heads went in front of the batch. They belong just before the tokens: "
            "[..., H, n, d].",
        ),
    ],
    hints=[
        "Where in a row of x do the columns of head 0 stand, and where those of head 1?",
        "x.reshape(*x.shape[:-1], n_heads, d) cuts each row: [..., n, H, d].",
        "Then swapaxes(-2, -3) exchanges tokens and heads, whatever stands before them.",
    ],
)

MERGE_HEADS = Check(
    "merge_heads",
    reference=lambda x: _merge_heads(x),
    cases=[
        Case("two heads, three tokens, width 2", (_labelled_heads(2, 3, 2),)),
        Case("three heads, two tokens, width 2", (_labelled_heads(3, 2, 2),)),
        Case("one head", (_labelled_heads(1, 3, 2),)),
        Case("heads of width 1", (_labelled_heads(4, 3, 1),)),
        Case("as many tokens as heads", (_labelled_heads(2, 2, 3),)),
        Case("one token", (_labelled_heads(2, 1, 3),)),
        Case("a batch of two", (_BATCH.reshape(2, 2, 3, 2),)),
        Case("numbers that float32 cannot hold", (1e300 * _BATCH.reshape(2, 2, 3, 2),)),
        Case("two leading axes, one of length 1", (_BATCH.reshape(2, 1, 2, 3, 2),)),
    ],
    draw=_draw_merge,
    mistakes=[
        Mistake(
            "reshaped only",
            lambda x: x.reshape(*x.shape[:-3], x.shape[-2], -1),
            "The shape is right, but a row now mixes several tokens: reshape reads the numbers in "
            "the order in which they stand. Swap heads and tokens first.",
        ),
        Mistake(
            "interleaved",
            lambda x: np.moveaxis(x, -3, -1).reshape(*x.shape[:-3], x.shape[-2], -1),
            "Your columns take turns among the heads. A head's columns stay adjacent.",
        ),
        Mistake(
            "heads added",
            lambda x: x.sum(axis=-3),
            "You added the heads up. They stand side by side; W_O does the adding.",
        ),
        Mistake(
            "tokens in a row",
            lambda x: _merge_heads(x.swapaxes(-2, -3)),
            "This is [..., H, n * d]: tokens in a row. There is one row for each token.",
        ),
        Mistake(
            "swapped, not merged",
            lambda x: x.swapaxes(-2, -3),
            "This is [..., n, H, d]. Join the last two axes.",
        ),
        Mistake(
            "last head first",
            lambda x: _merge_heads(x[..., ::-1, :, :]),
            "The last head came first. Head 0 has the first columns.",
        ),
    ],
    hints=[
        "What should stand in the row of token 0?",
        "x.swapaxes(-2, -3) is [..., n, H, d]: now the heads of a token stand together.",
        "Then reshape(*x.shape[:-3], n, H * d) joins the last two axes.",
    ],
)


def check_split_heads(f: Any) -> Result:
    """Check f(x [..., n, H * d], n_heads) -> [..., H, n, d].

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return SPLIT_HEADS.run(f)


def check_merge_heads(f: Any) -> Result:
    """Check f(x [..., H, n, d]) -> [..., n, H * d].

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return MERGE_HEADS.run(f)
