"""What kind of thing an argument is, whatever its shape: dense or sparse, wide or narrow. NumPy.

Works on NumPy arrays and torch tensors alike, as `shapes` does.
"""

import re
from typing import Any

import numpy as np

# As str writes their names: torch.bfloat16, float32; >f4 is NumPy's float32 in another byte order.
FLOAT = re.compile(r"(torch\.)?b?float(16|32|64|96|128)|[<>]f(2|4|8|12|16)")


def check_dense(x: Any, name: str) -> None:
    """Check that a tensor or array holds all of its numbers, one beside the other.

    Args:
        x: tensor or array, or nested lists
        name: of the argument
    Raises:
        ValueError: a sparse or nested tensor, or an array of np.ma with masked entries, which
            np.asarray would unmask; says how to make it dense
    """
    if _has_masked(x):
        raise ValueError(
            f"{name} has masked entries of np.ma, and a plain array has none; it should hold "
            f"numbers only: {name}.filled(0), say. To hide keys pass mask="
        )
    if getattr(x, "is_nested", False):
        raise ValueError(
            f"{name} is a nested tensor; it should be dense: {name}.to_padded_tensor(0), and what "
            "it fills up should be hidden"
        )
    layout = str(getattr(x, "layout", "torch.strided"))
    if layout != "torch.strided":
        raise ValueError(f"{name} has layout {layout}; it should be dense: {name}.to_dense()")


def _has_masked(x: Any) -> bool:
    if isinstance(x, list | tuple):
        return any(_has_masked(row) for row in x if isinstance(row, list | tuple | np.ndarray))
    return isinstance(x, np.ndarray) and bool(np.ma.is_masked(x))


def is_float(dtype: Any) -> bool:
    """Whether a dtype is floating point with at least 16 bits, so that sums can be computed in it.

    Args:
        dtype: of NumPy or torch
    Returns: True for float16, bfloat16, float32, float64 and NumPy's longer ones
    """
    return FLOAT.fullmatch(str(dtype)) is not None
