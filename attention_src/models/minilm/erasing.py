"""What becomes of a sentence's vector when tokens are erased from all heads: erased.json.

    python -m attention_src.models.minilm.erasing

To erase a token is to set the weights on it to 0, in all 72 heads. The weights of all other tokens
are those of the whole sentence, or each row is stretched so that it sums to 1 again. A minute on
one core.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from attention_src.errstate import own_errstate
from attention_src.models.minilm.model import N_HEADS, N_LAYERS, MiniLM
from attention_src.shapes import as_array

FILE = Path(__file__).with_name("erased.json")
SENTENCE = "The cat sat on the mat"
INSTEAD = "The dog sat on the mat"


@own_errstate()
def erase(weights: Any, gone: Any, *, stretch: bool = False) -> Float[np.ndarray, "... n n"]:
    """Weights without those on some tokens.

    Args:
        weights: [..., n, n]  each row sums to 1
        gone: [n]  bool, the tokens to erase
        stretch: whether each row is divided by what is left of it; a row with nothing left stays 0
    Returns: [..., n, n]
    Raises:
        ValueError: gone does not fit weights
    """
    p, gone = as_array(weights, "weights").astype(float), as_array(gone, "gone")
    if p.ndim < 2 or gone.dtype != bool or gone.shape != p.shape[-1:]:
        raise ValueError(
            f"gone has shape {gone.shape} and dtype {gone.dtype}: weights of shape {p.shape} need "
            "one bool per key"
        )
    p = np.where(gone, 0, p)
    if stretch and not gone.all():
        p = p / p.sum(axis=-1, keepdims=True)
    return p


@own_errstate()
def degrees(a: Float[np.ndarray, "d"], b: Float[np.ndarray, "d"]) -> float:
    """The angle between two vectors of length 1.

    Args:
        a, b: [d]
    Returns: in degrees
    """
    return float(np.degrees(np.arccos(np.clip(np.dot(a, b), -1, 1))))


@own_errstate()
def turned(model: MiniLM, sentence: str, gone: Any, *, stretch: bool = False) -> float:
    """How far the vector of a sentence turns when tokens are erased.

    Args:
        model: MiniLM
        sentence: of n tokens with [CLS] and [SEP]
        gone: [n]  bool, the tokens to erase
        stretch: as for `erase`
    Returns: in degrees
    Raises:
        ValueError: gone does not fit the sentence
    """
    trace = model.trace(sentence)
    p = erase(trace.weights, gone, stretch=stretch)
    new = {(layer, h): p[layer, h] for layer in range(N_LAYERS) for h in range(N_HEADS)}
    mean = trace.layers[-1].mean(axis=0)
    return degrees(model.embed(sentence, replace=new), mean / np.linalg.norm(mean))


def subsets(n: int) -> Bool[np.ndarray, "subsets n"]:
    """All subsets of n tokens; number s holds token j where bit j of s is set.

    Args:
        n: how many tokens
    Returns: bool [2^n, n]
    """
    return (np.arange(2**n)[:, None] >> np.arange(n)) % 2 == 1


def recorded() -> dict[str, Any]:
    """What was recorded: all 256 subsets of the eight tokens of SENTENCE.

    Returns:
        tokens: eight
        weights: [8]  each token's share of all weight
        turned: [256]  in degrees, by `subsets`
        stretched: [256]  the same, with rows that sum to 1 again
        shares: [256][8]  each token's share of all weight, in those rows
        dog: how far the vector of INSTEAD is from that of SENTENCE, in degrees
    """
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def main() -> None:
    """Erase every subset, both ways, and write the file."""
    model = MiniLM.load()
    trace = model.trace(SENTENCE)
    every = subsets(len(trace.tokens))

    def turns(stretch: bool) -> list[float]:
        return [round(turned(model, SENTENCE, gone, stretch=stretch), 1) for gone in every]

    shares = [erase(trace.weights, gone, stretch=True).mean(axis=(0, 1, 2)) for gone in every]
    kept = {
        "tokens": list(trace.tokens),
        "weights": trace.weights.mean(axis=(0, 1, 2)).astype(float).round(4).tolist(),
        "dog": round(degrees(model.embed(SENTENCE), model.embed(INSTEAD)), 1),
        "turned": turns(stretch=False),
        "stretched": turns(stretch=True),
        "shares": [row.round(3).tolist() for row in shares],
    }
    lines = ",\n".join(f'"{name}": {json.dumps(what)}' for name, what in kept.items())
    FILE.write_text(f"{{{lines}}}\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
