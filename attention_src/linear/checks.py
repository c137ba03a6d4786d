"""Checks of options and values that the references and layers of this topic share."""

from typing import Any

from attention_src.shapes import check_flags, check_impl, check_number, check_size

FORMS = ("parallel", "recurrent", "chunkwise")
FEATURE_MAPS = ("elu", "relu", "taylor", None)


def check_form(form: str, chunk: int, **flags: Any) -> int:
    """Check the form, the chunk, and what should be True or False.

    Args:
        form: one of FORMS
        chunk: positions in a chunk
        flags: by name, as for `shapes.check_flags`
    Returns: the chunk as an int
    Raises:
        ValueError: an unknown form; a chunk below 1; a flag that is neither True nor False
    """
    check_flags(**flags)
    check_impl(form, FORMS, "form")
    return check_size(chunk, "chunk", at_least=1)


def check_feature_map(feature_map: str | None) -> None:
    """Check that the feature map exists.

    Args:
        feature_map: one of FEATURE_MAPS
    Raises:
        ValueError: lists the choices
    """
    if not any(feature_map is name or feature_map == name for name in FEATURE_MAPS):
        raise ValueError(
            f"feature_map is {feature_map!r}; it should be one of "
            f"{', '.join(map(repr, FEATURE_MAPS))}"
        )


def check_same_length(q: Any, k: Any) -> None:
    """Check that each position has one query and one key.

    Args:
        q, k: [..., n_q, d_k], [..., n_k, d_k]
    Raises:
        ValueError: n_q != n_k; says how to pass earlier keys
    """
    n_q, n_k = q.shape[-2], k.shape[-2]
    if n_q != n_k:
        raise ValueError(
            f"k has n_k={n_k} but q has n_q={n_q}: in a causal sequence each position brings one "
            "query and one key. Earlier keys enter as initial_state (return_state=True gives it)"
        )


def check_query_scale(scale: Any) -> float:
    """Return the factor on the queries, which in this topic is 1 unless told otherwise.

    Args:
        scale: a number, or None for 1
    Returns: the scale as a float
    Raises:
        ValueError: not a finite number
    """
    return 1.0 if scale is None else check_number(scale, "scale", none=", or None for 1")


def gate_channels(log_gates: Any, d_k: int) -> int:
    """How many gates each position should have.

    Args:
        log_gates: what the caller gave
        d_k: channels of the key
    Returns: 1 if that is the size of the last axis, one gate for all channels; else d_k
    """
    return 1 if tuple(getattr(log_gates, "shape", ()))[-1:] == (1,) else d_k


def check_log_gates(highest: float) -> None:
    """Check the largest log gate. NaN passes, and shows in the output.

    Args:
        highest: the largest log gate
    Raises:
        ValueError: above 0
    """
    if highest > 0:
        raise ValueError(
            f"log_gates has the entry {highest}; they should be at most 0, the logarithms of "
            "gates in [0, 1]. Are these the gates themselves? Pass their log"
        )


def check_decay(gamma: Any, leading: tuple[int, ...]) -> None:
    """Check that γ is one number, or one for each head.

    Args:
        gamma: array or tensor
        leading: the axes of q before [n, d_k]; the last of them is H
    Raises:
        ValueError: another shape
    """
    heads = leading[-1:]
    if tuple(gamma.shape) not in ((), heads):
        raise ValueError(
            f"decay has shape {list(gamma.shape)}; it should be one number, or one for each head: "
            f"[H] = {list(heads)}"
        )


def check_decay_values(lowest: float, highest: float) -> None:
    """Check that every γ is in (0, 1].

    Args:
        lowest, highest: the smallest and the largest γ
    Raises:
        ValueError: names the value
    """
    for value in (lowest, highest):
        if not 0 < value <= 1:
            raise ValueError(f"decay has the value {value}; it should be above 0 and at most 1")
