"""The sizes of this topic's modules, checked."""

from attention_src.shapes import check_size


def check_head_sizes(
    d_model: int, n_heads: int, d_k: int | None, d_v: int | None
) -> tuple[int, int, int, int]:
    """Check the sizes of a module, and fill in those that are None.

    Args:
        d_model: width of a token
        n_heads: H
        d_k: width of a key; None = d_model / H
        d_v: width of a value; None = d_k
    Returns: d_model, H, d_k, d_v
    Raises:
        ValueError: a size that is not a whole number of at least 1; n_heads does not divide d_model
            and d_k is None
    """
    d_model = check_size(d_model, "d_model", at_least=1)
    n_heads = check_size(n_heads, "n_heads", at_least=1)
    if d_k is None and d_model % n_heads:
        raise ValueError(
            f"n_heads is {n_heads}, which does not divide d_model={d_model}; "
            "choose another, or give d_k"
        )
    d_k = d_model // n_heads if d_k is None else check_size(d_k, "d_k", at_least=1)
    d_v = d_k if d_v is None else check_size(d_v, "d_v", at_least=1)
    return d_model, n_heads, d_k, d_v
