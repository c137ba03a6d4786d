"""What the planted model accepts: ValueErrors that name the argument."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from attention_src.models.heads import Head, check_head
from attention_src.models.planted.heads import LAYERS, MAX_TOKENS, START, VOCABULARY
from attention_src.shapes import as_array

N_LAYERS, N_HEADS = len(LAYERS), len(LAYERS[0])


def check_tokens(tokens: Iterable[str]) -> list[str]:
    """Return the tokens of a text that the model can read.

    Args:
        tokens: a text
    Returns: a list of them
    Raises:
        ValueError: does not begin with START, is too long, or holds something else than letters
    """
    tokens = list(tokens)
    if not tokens or tokens[0] != START:
        raise ValueError(f"tokens is {''.join(map(str, tokens))!r}; it should begin with {START!r}")
    if len(tokens) > MAX_TOKENS:
        raise ValueError(f"tokens has {len(tokens)} entries; it should have at most {MAX_TOKENS}")
    for token in tokens[1:]:
        if token not in VOCABULARY[1:]:
            raise ValueError(f"tokens holds {token!r}; after {START!r} come letters a to z")
    return tokens


def check_arrays(
    given: Mapping[Head, Any], name: str, shape: tuple[int, int]
) -> dict[Head, np.ndarray]:
    """Return arrays for heads, in float64 and of one shape.

    Args:
        given: maps (layer, head) to an array
        name: of the argument
        shape: what each should have; a patch may have its last axis alone
    Returns: maps (layer, head) to an array of that shape
    Raises:
        ValueError: another shape, or no such head
    """
    checked = {}
    for at, array in given.items():
        x = as_array(array, f"{name}[{at}]").astype(float)
        if x.shape != shape and not (name == "patch" and x.shape == shape[1:]):
            raise ValueError(f"{name}[{at}] has shape {list(x.shape)}; it should be {list(shape)}")
        checked[check_head(at, name, N_LAYERS, N_HEADS)] = np.broadcast_to(x, shape)
    return checked
