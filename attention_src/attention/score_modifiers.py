"""What changes scores: mask, scale, bias, softcap, learned sinks. For arrays and tensors alike."""

from dataclasses import dataclass
from typing import Any

from attention_src.attention.bias import Alibi
from attention_src.shapes import (
    check_broadcast,
    check_dense,
    check_flags,
    check_number,
    check_shape,
    is_float,
    shape,
)


@dataclass(frozen=True)
class ScoreOptions:
    """What becomes of the scores between the product and the softmax.

    The public functions take them as keywords, build this once, and pass it on.

    Args:
        mask, causal, scale, bias, softcap, sink_logits: as for `reference.attention`; mask, scale,
            bias and sink_logits are checked where the shapes that they should fit are known
    Raises:
        ValueError: causal is neither True nor False; softcap is not a finite number above 0
    """

    mask: Any = None
    causal: bool = False
    scale: float | None = None
    bias: Any = None
    softcap: float | None = None
    sink_logits: Any = None

    def __post_init__(self) -> None:
        check_flags(causal=self.causal)
        object.__setattr__(self, "softcap", check_softcap(self.softcap))


def check_softcap(softcap: Any) -> float | None:
    """Return the softcap as a float, or None for none.

    Args:
        softcap: the bound on the size of a score before biases; None = no bound
    Returns: the same number as a float
    Raises:
        ValueError: not a finite number above 0
    """
    if softcap is None:
        return None
    return check_number(softcap, "softcap", above=0, none=", or None for no bound")


def check_bias(bias: Any, target: tuple[int, ...]) -> None:
    """Check that a bias fits the scores.

    Args:
        bias: floating array or tensor, or an `Alibi`
        target: shape of the scores, [..., H, n_q, n_k]
    Raises:
        ValueError: not floating point, or sparse; a shape that does not broadcast; a square batch,
            B = n_q, and a bias of two axes, which may mean [n_q, n_k] or [B, n_k]; slopes for
            another number of heads
    """
    if isinstance(bias, Alibi):
        check_dense(bias.slopes, "slopes")
        if len(target) < 3 or bias.slopes.shape[0] != target[-3]:
            heads = f"H={target[-3]} heads" if len(target) > 2 else "no axis for heads"
            raise ValueError(
                f"bias has slopes {shape(bias.slopes)} but q has {heads}; it should have one slope "
                "for each head of q"
            )
        return
    if not is_float(getattr(bias, "dtype", None)):
        kind = getattr(bias, "dtype", type(bias).__name__)
        raise ValueError(
            f"bias is {kind}; it should hold floating-point numbers of at least 16 bits, to be "
            "added to the scores, or be an Alibi. To hide keys pass mask="
        )
    check_dense(bias, "bias")
    check_broadcast(bias, target, "bias")


def check_sink_logits(sink_logits: Any, target: tuple[int, ...]) -> None:
    """Check that there is one learned sink for each head.

    Args:
        sink_logits: [H]
        target: shape of the scores, [..., H, n_q, n_k]
    Raises:
        ValueError: another shape, or scores without an axis for heads
    """
    if len(target) < 3:
        raise ValueError(
            f"sink_logits is given but the scores have shape {list(target)}, without an axis for "
            "heads; q should be [..., H, n_q, d_k]"
        )
    check_shape(sink_logits, "sink_logits", "[H]", (target[-3],))
