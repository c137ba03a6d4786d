"""Matrices in the blocks of their file, 5 bits a weight, multiplied as they are.

NumPy has no such product. A page loads one, compiled to WebAssembly (`use`); where there is none,
`matrix` gives plain float32.
"""

import ctypes
from typing import Any

import numpy as np
from jaxtyping import UInt8

from attention_src.models.formats.gguf_blocks import BLOCKS, Block

KINDS = {block.name: block for block in BLOCKS.values() if block.name in ("Q4_1", "Q8_0")}
SCRATCH = 4  # floats of scratch that the library needs for each of d_in

_product: Any = None  # the library, once `use` has loaded it


def use(path: str | None) -> None:
    """Load the product by blocks; from then on `matrix` keeps blocks.

    Args:
        path: of the library; None = do without
    Raises:
        OSError: it cannot be loaded here
    """
    global _product
    _product = None if path is None else ctypes.CDLL(path)


def matrix(block: Block, rows: UInt8[np.ndarray, "d_out n_bytes"]) -> "np.ndarray | Blocks":
    """A matrix [d_in, d_out], for x @ it.

    Args:
        block: how its numbers are stored
        rows: uint8 [d_out, bytes of d_in weights]  as the file has them
    Returns: a Blocks where there is a product for it, else float32
    """
    if _product is not None and block.name in KINDS:
        return Blocks(block, rows)
    # Rows stay contiguous: without a library for it, NumPy is ten times slower the other way.
    return block.dequantize(rows.ravel()).reshape(len(rows), -1).T


class Blocks(np.lib.mixins.NDArrayOperatorsMixin):
    """Behaves as an array [d_in, d_out]: x @ it is the library's; for all else it becomes one.

    Args:
        block: one of KINDS
        rows: uint8 [d_out, bytes of d_in weights]
    """

    ndim, dtype = 2, np.dtype(np.float32)

    def __init__(self, block: Block, rows: UInt8[np.ndarray, "d_out n_bytes"]) -> None:
        self.block, self.rows = block, np.ascontiguousarray(rows)
        self.shape = rows.shape[1] // block.n_bytes * block.n_numbers, len(rows)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        """The numbers as float32, or as dtype."""
        w = self.block.dequantize(self.rows.ravel()).reshape(self.shape[::-1]).T
        return w if dtype is None else w.astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """The product if it is x @ this, NumPy's own answer for anything else."""
        if ufunc is np.matmul and inputs[1] is self and not options and np.ndim(inputs[0]) > 0:
            return self.product(np.asarray(inputs[0]))
        arrays = (np.asarray(x) if isinstance(x, Blocks) else x for x in inputs)
        return getattr(ufunc, method)(*arrays, **options)

    def __getitem__(self, key: Any) -> Any:
        """A part of it, as an array."""
        return np.asarray(self)[key]

    @property
    def T(self) -> np.ndarray:
        """[d_out, d_in], as an array."""
        return np.asarray(self).T

    def product(self, x: np.ndarray) -> np.ndarray:
        """Compute x @ this.

        Args:
            x: [..., d_in]
        Returns: float32 [..., d_out]
        Raises:
            ValueError: x has another width
        """
        d_in, d_out = self.shape
        if x.shape[-1] != d_in:
            raise ValueError(f"x has shape {list(x.shape)}; it should be [..., {d_in}]")
        a = np.ascontiguousarray(x, dtype=np.float32).reshape(-1, d_in)
        y = np.empty((len(a), d_out), np.float32)
        scratch = np.empty(SCRATCH * d_in, np.float32)
        run = _product.q4_1 if self.block.name == "Q4_1" else _product.q8_0
        run(*map(_at, (y, a, self.rows, scratch)), len(a), d_in, d_out)
        return y.reshape(*x.shape[:-1], d_out)


def _at(x: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(x.ctypes.data)
