"""What each explorable starts from, and its picture for places that run no scripts."""

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from attention_src.attention.masks import causal_mask
from attention_src.softmax.reference import softmax

# Readable on white and on black: the picture does not know the page's theme.
INK, WEIGHTS, KEYS, QUERIES = "#767676", "#7a5fc7", "#d55e00", "#0072b2"


@dataclass(frozen=True)
class Explorable:
    """Its data, its picture (SVG) with size and alternative text, and one sentence about it."""

    given: dict
    picture: Callable[[], str]
    size: tuple[int, int]
    alt: str
    sentence: str


SOFTMAX: dict[str, Any] = {
    "labels": ["apple", "banana", "chair", "desk", "eagle", "fig"],
    "scores": [4.2, 3.8, 0.6, -0.9],
}
MASKING: dict[str, Any] = {
    "tokens": ["my", "cat", "sat", "on", "the", "mat"],
    "scores": [
        [1.2, 0.6, 0.1, -0.4, 0.3, 0.8],
        [1.9, 1.1, 0.7, -0.6, 0.2, 1.4],
        [0.3, 2.3, 0.9, 0.5, -0.2, 1.0],
        [-0.5, 0.8, 1.8, 0.4, 0.7, 1.5],
        [0.1, 0.4, 0.6, 1.3, 0.2, 2.1],
        [0.7, 1.6, 1.9, 0.9, 1.2, 0.5],
    ],
}


def _text(x: float, y: float, words: str, fill: str = INK, anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{fill}" text-anchor="{anchor}">{escape(words)}</text>'


def _rect(x: float, y: float, width: float, height: float, fill: str, extra: str = "") -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}"{extra}/>'


def _svg(size: tuple[int, int], parts: list[str]) -> str:
    width, height = size
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif" font-size="15">{"".join(parts)}</svg>'
    )


def softmax_picture() -> str:
    """Scores and weights of the first four keys, as two columns of bars."""
    parts = [_text(70, 16, "score"), _text(230, 16, "weight at temperature 1")]
    scores = SOFTMAX["scores"]
    for j, (score, weight) in enumerate(zip(scores, softmax(scores), strict=True)):
        y = 30 + 32 * j
        bar = 20 * abs(score)
        parts += [
            _text(0, y + 16, SOFTMAX["labels"][j], KEYS),
            _rect(90 - (bar if score < 0 else 0), y, bar, 20, INK),
            _text(214, y + 16, f"{score:.1f}".replace("-", "−"), anchor="end"),
            _rect(230, y, 120 * weight, 20, WEIGHTS),
            _text(400, y + 16, f"{weight:.3f}", anchor="end"),
        ]
    return _svg((404, 154), parts)


def masking_picture() -> str:
    """The weights under a causal mask; hidden cells crossed out."""
    tokens, scores = MASKING["tokens"], np.array(MASKING["scores"])
    mask = causal_mask(len(tokens))
    weights = softmax(np.where(mask, scores, -np.inf))
    parts = [_text(0, 14, "key →", KEYS), _text(0, 32, "query ↓", QUERIES)]
    for i, token in enumerate(tokens):
        parts.append(_text(90 + 56 * i, 24, token, KEYS, "middle"))
        parts.append(_text(0, 66 + 46 * i, token, QUERIES))
        for j in range(len(tokens)):
            x, y = 64 + 56 * j, 38 + 46 * i
            frame = f' stroke="{INK}" stroke-opacity="0.5"'
            if mask[i, j]:
                # The bar's length is the weight: a number on a coloured ground is hard to read.
                parts.append(_rect(x, y, 52, 42, "none", frame))
                parts.append(_rect(x, y + 32, 52 * weights[i, j], 10, WEIGHTS))
                parts.append(_text(x + 26, y + 21, f"{weights[i, j]:.2f}", anchor="middle"))
            else:
                parts.append(_rect(x, y, 52, 42, "none", frame))
                parts.append(f'<path d="M{x},{y + 42}L{x + 52},{y}" stroke="{INK}"/>')
    return _svg((404, 318), parts)


EXPLORABLES = {
    "softmax": Explorable(
        SOFTMAX,
        softmax_picture,
        (404, 154),
        "Four keys with their scores and softmax weights as bars: "
        + ", ".join(
            f"{label} {score} and {weight:.3f}"
            for label, score, weight in zip(
                SOFTMAX["labels"], SOFTMAX["scores"], softmax(SOFTMAX["scores"]), strict=False
            )
        )
        + ".",
        "An interactive figure: change the scores, the temperature and the rule, and see the "
        "weights and their entropy. It needs JavaScript; here is its first state.",
    ),
    "masking": Explorable(
        MASKING,
        masking_picture,
        (404, 318),
        "A 6 × 6 grid of weights under a causal mask: the upper right triangle is crossed out, and "
        "each row's visible weights sum to 1.",
        "An interactive figure: paint which query may look at which key, and see each row's "
        "weights renormalise. It needs JavaScript; here is its first state.",
    ),
}
