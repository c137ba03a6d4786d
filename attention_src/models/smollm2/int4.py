"""Matrices of 4-bit codes, as the file holds them, and torch's product by them on a CPU.

A token needs every weight once, so its time is the time to read them: 4 bits take an eighth of
the time of float32. Blocks of 32 weights share a scale and a zero:

    w = scale (code - 8) + zero,  code = 0 ... 15

Q4_1's blocks, w = scale code + minimum, are that with zero = minimum + 8 scale. One of Q8_0's codes
is two of these, its high and its low half, each with its own scale: the halves are two matrices
below each other, and x meets both.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import BFloat16, Float, UInt8
from torch import Tensor

from attention_src.shapes import check_impl
from attention_src.timing import fastest_ms

WEIGHTS = ("float", "int4", "auto")
KINDS = ("Q4_1", "Q8_0")  # of blocks
GROUP = 32  # weights in a block
COLUMNS = 16  # torch takes multiples of this many
ROWS = 1024  # converted at once; a multiple of the 64 rows in a tile of torch's layout
SLOW = 2.0  # times as long as a product of float32
REPEATS = 5


@dataclass(frozen=True)
class PackedMatrix:
    """A matrix [d_in, d_out] whose columns are blocks of codes.

    codes: in torch's own order, d_codes = n_halves d_in to a column
    scale_zero: of each block
    n_halves: of a code of the file: 2 for 8-bit codes, 1 for 4-bit ones
    """

    codes: UInt8[Tensor, "d_out half_d_codes"]
    scale_zero: BFloat16[Tensor, "n_blocks d_out 2"]
    d_in: int
    n_halves: int

    @property
    def shape(self) -> tuple[int, int]:
        """(d_in, d_out)."""
        return self.d_in, self.scale_zero.shape[1]

    @property
    def nbytes(self) -> int:
        """Bytes of codes, scales and zeros."""
        return self.codes.nbytes + self.scale_zero.nbytes

    def multiply(self, x: Float[Tensor, "*rows d_in"]) -> BFloat16[Tensor, "*rows d_out"]:
        """Compute x @ w, summed in float32.

        Args:
            x: [..., d_in]  rounded to bfloat16; torch's product is fast only there
        Returns: [..., d_out]
        Raises:
            ValueError: x has another width, or requires a gradient: torch's product has none
        """
        if x.shape[-1] != self.d_in:
            raise ValueError(f"x has shape {list(x.shape)}; it should be [..., {self.d_in}]")
        if x.requires_grad and torch.is_grad_enabled():
            raise ValueError(
                "x requires a gradient, but the product by 4-bit weights has none; use "
                "torch.no_grad(), or load the weights as 'float'"
            )
        rows = x.bfloat16().reshape(-1, self.d_in)
        return self.multiply_rows(rows).view(*x.shape[:-1], -1)

    def multiply_rows(self, x: BFloat16[Tensor, "n d_in"]) -> BFloat16[Tensor, "n d_out"]:
        """As `multiply`, unchecked: every token asks this of every matrix.

        Args:
            x: [n, d_in]
        Returns: [n, d_out]
        """
        if self.n_halves == 2:
            x = torch.cat([x, x], dim=1)
        return torch._weight_int4pack_mm_for_cpu(x, self.codes, GROUP, self.scale_zero)


def pack(rows: UInt8[np.ndarray, "d_out n_bytes"], kind: str) -> PackedMatrix:
    """Bring a matrix's blocks into torch's layout.

    Args:
        rows: uint8 [d_out, bytes of d_in weights]  as GGUF stores them
        kind: of blocks, one of KINDS
    Returns: a PackedMatrix; scales and zeros are rounded to bfloat16
    Raises:
        ValueError: an unknown kind; rows that are no whole blocks; d_out is no multiple of 16
    Source: pytorch, aten/src/ATen/native/cpu/int4mm_kernel.cpp (the formula)
    """
    check_impl(kind, KINDS, "kind")
    split, n_bytes = (_split_q4_1, 20) if kind == "Q4_1" else (_split_q8_0, 34)
    if 0 in rows.shape or len(rows) % COLUMNS or rows.shape[1] % n_bytes:
        raise ValueError(
            f"rows has shape {list(rows.shape)}; for {kind} it should be [d_out, n_bytes] with "
            f"d_out a multiple of {COLUMNS} and n_bytes of {n_bytes}"
        )
    n_halves = 2 if kind == "Q8_0" else 1
    d_in = rows.shape[1] // n_bytes * GROUP
    cpu = torch.device("cpu")  # even if torch's default is another
    codes = torch.empty(len(rows), n_halves * d_in // 2, dtype=torch.uint8, device=cpu)
    n_blocks = n_halves * d_in // GROUP
    pairs = torch.empty(n_blocks, len(rows), 2, dtype=torch.bfloat16, device=cpu)
    for start in range(0, len(rows), ROWS):  # int32 codes of all rows would take 226 MB
        some = slice(start, start + ROWS)
        part = torch.tensor(np.ascontiguousarray(rows[some]), device=cpu)
        code, pair = split(part.unflatten(1, (-1, n_bytes)))
        codes[some] = torch._convert_weight_to_int4pack_for_cpu(code.flatten(1).int(), 1)
        pairs[:, some] = pair.transpose(0, 1)
    return PackedMatrix(codes, pairs, d_in, n_halves)


def fits(d_in: int, d_out: int, kinds: Sequence[str]) -> bool:
    """Whether `pack` takes a matrix.

    Args:
        d_in, d_out: its shape
        kinds: of blocks, of each of its parts
    Returns: False for parts of different or other kinds, and shapes that torch does not take
    """
    return len(set(kinds)) == 1 and kinds[0] in KINDS and not (d_in % GROUP or d_out % COLUMNS)


def keeps_blocks(weights: str, dtype: torch.dtype, device: torch.device | str) -> bool:
    """Whether to keep the file's blocks: if they are asked for, or if "auto" chooses them.

    Args:
        weights, dtype, device: as for `SmolLM2.load`
    Returns: True for "int4", perhaps with a warning that it is slow; False for "float"; for "auto"
        what is faster, with a warning that says why if that is "float"
    Raises:
        ValueError: unknown weights; "int4" with another dtype than float32, not on a CPU, or in a
            torch that has no product by 4-bit codes
    """
    check_impl(weights, WEIGHTS, "weights")
    if weights == "float":
        return False
    reason = _impossible(dtype, device)
    if reason and weights == "int4":
        raise ValueError(f"weights is 'int4', but {reason}; it should be 'float' or 'auto'")
    reason = reason or slowness()
    if reason is None:
        return True
    if weights == "int4":
        warnings.warn(f"weights is 'int4', but {reason}: 'float' is faster here", stacklevel=3)
        return True
    warnings.warn(f"weights is 'auto': taking 'float', because {reason}", stacklevel=3)
    return False


def _impossible(dtype: torch.dtype, device: torch.device | str) -> str | None:
    """Why there can be no product by 4-bit codes here; None if there can."""
    if dtype != torch.float32 or str(device).partition(":")[0] != "cpu":
        return (
            f"dtype is {dtype} and device is {str(device)!r}, and 4 bits need torch.float32 and "
            "'cpu'"
        )
    if not hasattr(torch, "_weight_int4pack_mm_for_cpu"):
        return f"torch {torch.__version__} has no 4-bit product for CPUs"
    return None


def slowness() -> str | None:
    """Why the product by 4-bit codes does not pay on this computer.

    It is timed on one thread, in processor time, so that other programs do not matter.

    Returns: None if it is fast, else the reason
    Cost: tens of milliseconds, because a product is timed.
    """
    packed = pack(np.zeros((1024, 20 * 18), np.uint8), "Q4_1")
    x, w = (torch.ones(*shape, device="cpu") for shape in ((1, 576), (576, 1024)))
    rows = x.bfloat16()
    ways: dict[str, Any] = {"4 bits": lambda: packed.multiply_rows(rows), "float32": lambda: x @ w}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        times_ms = fastest_ms(ways, REPEATS, clock="processor")
    finally:
        torch.set_num_threads(threads)
    if times_ms["4 bits"] <= SLOW * times_ms["float32"]:
        return None
    return (
        f"torch's 4-bit product takes {times_ms['4 bits']:.2g} ms on this CPU where float32's "
        f"takes {times_ms['float32']:.2g} ms"
    )


def _split_q4_1(
    blocks: UInt8[Tensor, "d_out n_blocks 20"],
) -> tuple[UInt8[Tensor, "d_out n_blocks 32"], Float[Tensor, "d_out n_blocks 2"]]:
    """Codes; scales and zeros. The low halves of the bytes are the block's first 16 codes."""
    scale, minimum = blocks[..., :4].contiguous().view(torch.float16).float().unbind(-1)
    packed = blocks[..., 4:]
    codes = torch.cat([packed & 15, packed >> 4], dim=-1)
    return codes, torch.stack([scale, minimum + 8 * scale], dim=-1)


def _split_q8_0(
    blocks: UInt8[Tensor, "d_out n_blocks 34"],
) -> tuple[UInt8[Tensor, "d_out n_blocks2 32"], Float[Tensor, "d_out n_blocks2 2"]]:
    """All high halves, then all low halves: code = 16 (high - 8) + (low - 8) + 8."""
    scale = blocks[..., :2].contiguous().view(torch.float16)[..., 0].float()
    codes = blocks[..., 2:] ^ 128  # the signed code + 128
    high = torch.stack([16 * scale, torch.zeros_like(scale)], dim=-1)
    low = torch.stack([scale, 8 * scale], dim=-1)
    return torch.cat([codes >> 4, codes & 15], dim=1), torch.cat([high, low], dim=1)
