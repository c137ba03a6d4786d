"""Whether a `MultiHeadAttention` computes what a transformers attention module computes."""

import copy
import inspect
import sys
from typing import Any
from unittest import mock

import torch
from torch import Tensor

from attention_src.attention.masks import causal_mask, to_additive, window_mask
from attention_src.multihead.layer_recognise import layer_type, refusal

N_TOKENS = 7
FAR = 100_000  # positions at which a temperature that grows with them would show


@torch.no_grad()
def randomised(theirs: Any) -> Any:
    """A copy in float32 with random weights: zeros, ones and small numbers would hide differences.

    Args:
        theirs: an attention module of transformers
    Returns: the copy, on the CPU; it attends step by step (their "eager")
    Cost: one copy of the weights.
    """
    twin = copy.deepcopy(theirs).to("cpu", torch.float32).eval()
    twin.config._attn_implementation = "eager"
    generator = torch.Generator().manual_seed(0)
    for p in twin.parameters():
        p.normal_(0, 1 if p.ndim < 2 else p.shape[-1] ** -0.5, generator=generator)
    return twin


@torch.no_grad()
def difference(ours: Any, theirs: Any, *, rotated: bool = True) -> float:
    """The largest difference of their results on random tokens.

    Args:
        ours: a `MultiHeadAttention`
        theirs: from `randomised`
        rotated: False puts all tokens at position 0, where nothing is rotated
    Returns: relative to the largest of their outputs
    Raises:
        ValueError: theirs does not run with a rotation and a causal mask
    """
    x = _tokens(theirs)
    positions = torch.arange(N_TOKENS) if rotated else torch.zeros(N_TOKENS, dtype=torch.long)
    expected = _run(theirs, x, positions, ours.window)
    where = {} if ours.rope is None else dict(positions=positions)
    actual = ours(x, causal=True, **where)
    return float((actual - expected).abs().max() / expected.abs().max())


@torch.no_grad()
def window_of(theirs: Any) -> int | None:
    """The window with which theirs calls its attention function, if its config says the same.

    Args:
        theirs: from `randomised`
    Returns: the number of most recent keys visible; None = all
    Raises:
        ValueError: the two differ, so that the mask which its model makes is not known; another
            type of layer
    """
    kind, window = layer_type(theirs), getattr(theirs.config, "sliding_window", None)
    if kind not in (None, "full_attention", "sliding_attention"):
        raise refusal(theirs, f"its layer is of type {kind}, which is not known here")
    wanted = None if kind == "full_attention" else window
    space, named = sys.modules[type(theirs).__module__], {}
    eager = getattr(space, "eager_attention_forward", None)
    if eager is None:
        raise refusal(theirs, "its file has no eager_attention_forward")

    def noting(*arguments: Any, **options: Any) -> Any:
        named.update(options)
        return eager(*arguments, **options)

    with mock.patch.object(space, "eager_attention_forward", noting):
        _run(theirs, _tokens(theirs), torch.arange(N_TOKENS), wanted)
    passed = named.get("sliding_window")
    if passed != wanted:
        raise refusal(
            theirs,
            f"its config has sliding_window={window}, its layer is of type {kind}, and it attends "
            f"with sliding_window={passed}; the first should decide the last",
        )
    return wanted


def _tokens(theirs: Any) -> Tensor:
    """Random tokens [1, n, d_model]."""
    generator = torch.Generator().manual_seed(1)
    return torch.randn(1, N_TOKENS, theirs.q_proj.in_features, generator=generator)


def _run(theirs: Any, x: Tensor, positions: Tensor, window: int | None) -> Tensor:
    """What theirs computes from x, with its own rotation."""
    n = x.shape[1]
    visible = causal_mask(n) if window is None else window_mask(n, n, window)
    options: dict[str, Any] = dict(
        attention_mask=torch.as_tensor(to_additive(visible, "float32"))[None, None]
    )
    if "position_ids" in inspect.signature(theirs.forward).parameters:
        options["position_ids"] = positions[None] + FAR
    rotary_class = _rotary_class(theirs)
    layer: dict[str, Any] = {}
    try:
        rotary = rotary_class(theirs.config)
        if "layer_type" in inspect.signature(rotary.forward).parameters:
            layer = dict(layer_type=layer_type(theirs))
        cos_sin = rotary(x, positions[None], **layer)
        return theirs(hidden_states=x, position_embeddings=cos_sin, **options)[0]
    except Exception as error:
        raise refusal(theirs, f"it does not run by itself ({error!r})") from error


def _rotary_class(theirs: Any) -> Any:
    """The class of rotations that the file of theirs defines for it."""
    found = {
        name: value
        for name, value in vars(sys.modules[type(theirs).__module__]).items()
        if name.endswith("RotaryEmbedding")
    }
    own = type(theirs).__name__.replace("Attention", "RotaryEmbedding")
    if own not in found and len(found) != 1:
        raise refusal(theirs, f"its file has no {own}, but {list(found)}")
    return found[own] if own in found else next(iter(found.values()))
