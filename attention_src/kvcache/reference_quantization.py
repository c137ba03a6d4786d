"""Keys and values in 8 or 4 bits, in NumPy. `cache_quantized` has the same functions in torch.

A group of numbers shares a grid, and each number is stored as its index on that grid, its code.

    symmetric     x ≈ codes * scale          codes −127 … 127, or −7 … 7;  0 stays 0
    asymmetric    x ≈ codes * scale + zero   codes 0 … 255, or 0 … 15;     no code is wasted

Rounding changes a number by half a step at most, and the step is `scale`: an outlier makes the step
coarse for its whole group. So it matters which numbers share a group. Steps are stored in float32,
so they are computed in float32, here and in torch: both give the same codes. A group that contains
NaN or an infinity is NaN throughout when read back.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Int8, UInt8

from attention_src.errstate import own_errstate
from attention_src.shapes import as_array, as_float64, check_impl, check_size

BITS = (4, 8)
SCHEMES = ("per_token", "per_channel")


@own_errstate()
def quantize_symmetric(
    x: Any, bits: int = 8
) -> tuple[Int8[np.ndarray, "*rows d"], Float32[np.ndarray, "*rows 1"]]:
    """Round each row to a grid around zero.

        scale = max_d |x_d| / (2^(bits-1) - 1)        codes = round(x / scale)

    Args:
        x: [..., d]  each row the key or value of one token
        bits: 8, or 4 (codes −7 … 7, not yet packed)
    Returns: codes int8 [..., d] and scale float32 [..., 1]; a row of zeros has scale 0
    Raises:
        ValueError: bits is neither 4 nor 8; x does not hold real numbers
    Error: |codes * scale − x| <= scale / 2, plus the rounding of float32.
    """
    levels = 2 ** (check_bits(bits) - 1) - 1
    x = _float32(x, "x")
    with np.errstate(invalid="ignore"):  # infinities and NaN make the scale NaN
        largest = np.abs(x).max(axis=-1, keepdims=True, initial=0)
        scale = _nan_if_infinite(largest / np.float32(levels))
        codes = np.rint(x / np.where(scale == 0, np.float32(1), scale))
        return np.clip(codes, -levels, levels).astype(np.int8), scale


@own_errstate()
def dequantize_symmetric(codes: Any, scale: Any) -> Float32[np.ndarray, "*rows d"]:
    """Turn codes of `quantize_symmetric` back into numbers.

        x = codes * scale

    Args:
        codes: int8 [..., d]
        scale: float32 [..., 1]
    Returns: float32 [..., d]
    Raises:
        ValueError: an argument that does not hold real numbers
    """
    return _float32(codes, "codes") * _float32(scale, "scale")


@own_errstate()
def quantize_asymmetric(
    x: Any, bits: int = 4, axis: int = -1
) -> tuple[UInt8[np.ndarray, "..."], Float32[np.ndarray, "..."], Float32[np.ndarray, "..."]]:
    """Round to a grid from the smallest to the largest number along one axis.

        zero = min x    scale = (max x - min x) / (2^bits - 1)    codes = round((x - zero) / scale)

    Args:
        x: array of real numbers, at least one along `axis`
        bits: 4 (codes 0 … 15, not yet packed) or 8 (0 … 255)
        axis: the axis that shares a grid: -1 = the channels of a token, -2 = the tokens of a
            channel
    Returns: codes uint8 of x's shape; scale and zero float32, of size 1 along `axis`
    Raises:
        ValueError: bits is neither 4 nor 8; x does not hold real numbers
    Error: |codes * scale + zero − x| <= scale / 2, plus the rounding of float32.
    Source: Liu et al. 2024 (KIVI), arXiv:2402.02750; their z_X and s_X are our zero and scale.
    """
    levels = 2 ** check_bits(bits) - 1
    x = _float32(x, "x")
    with np.errstate(invalid="ignore", over="ignore"):  # an infinite range becomes NaN
        zero = x.min(axis=axis, keepdims=True)
        scale = _nan_if_infinite((x.max(axis=axis, keepdims=True) - zero) / np.float32(levels))
        codes = np.rint((x - zero) / np.where(scale == 0, np.float32(1), scale))
        return np.clip(codes, 0, levels).astype(np.uint8), scale, zero


@own_errstate()
def dequantize_asymmetric(codes: Any, scale: Any, zero: Any) -> Float32[np.ndarray, "..."]:
    """Turn codes of `quantize_asymmetric` back into numbers.

        x = codes * scale + zero

    Args:
        codes: uint8 [...]
        scale, zero: float32, broadcast against codes
    Returns: float32, of the shape of codes
    Raises:
        ValueError: an argument that does not hold real numbers
    """
    codes, scale, zero = as_array(codes, "codes"), as_array(scale, "scale"), as_array(zero, "zero")
    with np.errstate(invalid="ignore"):
        return _float32(codes, "codes") * _float32(scale, "scale") + _float32(zero, "zero")


@own_errstate()
def quantize_per_channel(
    x: Any, bits: int = 4, group: int = 32
) -> tuple[
    UInt8[np.ndarray, "*rows n d"],
    Float32[np.ndarray, "*rows n_groups d"],
    Float32[np.ndarray, "*rows n_groups d"],
]:
    """As `quantize_asymmetric`, with one grid for each channel of `group` neighbouring tokens.

    Suits keys, whose outliers stay in a few channels.

    Args:
        x: [..., n, d], n a multiple of group
        bits: 4 or 8
        group: tokens that share a grid
    Returns: codes uint8 [..., n, d], scale and zero float32 [..., n / group, d]
    Raises:
        ValueError: as `quantize_asymmetric`; group does not divide n
    Source: Liu et al. 2024 (KIVI), arXiv:2402.02750, Algorithm 1; their G is our group.
    """
    group = check_size(group, "group", at_least=1)
    x = _float32(x, "x")
    if x.ndim < 2 or x.shape[-2] % group:
        raise ValueError(
            f"x has shape {list(x.shape)}; it should be [..., n, d] with n a multiple of "
            f"group={group}"
        )
    *rows, n, d = x.shape
    grouped = x.reshape(*rows, n // group, group, d)
    codes, scale, zero = quantize_asymmetric(grouped, bits, axis=-2)
    return codes.reshape(x.shape), scale.squeeze(-2), zero.squeeze(-2)


@own_errstate()
def dequantize_per_channel(codes: Any, scale: Any, zero: Any) -> Float32[np.ndarray, "*rows n d"]:
    """Turn codes of `quantize_per_channel` back into numbers.

    Args:
        codes: uint8 [..., n, d]
        scale, zero: float32 [..., n / group, d]
    Returns: float32 [..., n, d]
    Raises:
        ValueError: an argument that does not hold real numbers
    """
    codes, scale, zero = as_array(codes, "codes"), as_array(scale, "scale"), as_array(zero, "zero")
    group = codes.shape[-2] // max(1, scale.shape[-2])
    scale, zero = (np.repeat(x, group, axis=-2) for x in (scale, zero))
    return dequantize_asymmetric(codes, scale, zero)


def pack_int4(codes: Any) -> UInt8[np.ndarray, "*rows half"]:
    """Pack two 4-bit codes in each byte: even indices in the low half, odd ones in the high half.

        packed_i = codes_{2i} + 16 codes_{2i+1}

    Args:
        codes: int [..., d], 0 … 15
    Returns: uint8 [..., ceil(d / 2)]; if d is odd, the last high half is 0
    Raises:
        ValueError: a code that needs more than 4 bits
    """
    codes = as_array(codes, "codes")
    if codes.dtype.kind not in "iu" or ((codes < 0) | (codes > 15)).any():
        raise ValueError("codes do not fit in 4 bits; they should be whole numbers from 0 to 15")
    padding = [(0, 0)] * (codes.ndim - 1) + [(0, codes.shape[-1] % 2)]
    codes = np.pad(codes, padding).astype(np.uint8)
    return codes[..., 0::2] | codes[..., 1::2] << 4


def unpack_int4(packed: Any, d: int) -> UInt8[np.ndarray, "*rows d"]:
    """Undo `pack_int4`.

    Args:
        packed: uint8 [..., ceil(d / 2)]
        d: number of codes in a row
    Returns: uint8 [..., d], 0 … 15
    Raises:
        ValueError: packed does not hold whole numbers, or not ceil(d / 2) bytes a row
    """
    packed = as_array(packed, "packed")
    if packed.dtype.kind not in "iu" or packed.ndim < 1:
        raise ValueError(
            f"packed has dtype {packed.dtype} and shape {list(packed.shape)}; it should be rows of "
            "whole numbers, from pack_int4"
        )
    if packed.shape[-1] != (check_size(d, "d") + 1) // 2:
        raise ValueError(
            f"packed has {packed.shape[-1]} bytes a row; for d={d} codes it should have "
            f"{(d + 1) // 2}"
        )
    both = np.stack([packed & 15, packed >> 4], axis=-1)  # [..., half, 2]
    return both.reshape(*packed.shape[:-1], 2 * packed.shape[-1])[..., :d]


def quantized_tokens(n: int, group: int, residual: int) -> int:
    """How many of n tokens are quantised: whole groups, but not the newest `residual`.

        n_quantized = group * floor(max(0, n - residual) / group)

    The other `residual` to `residual + group − 1` tokens stay as they are: the range of a group is
    known only when it is full, and recent tokens matter most.

    Args:
        n: number of tokens appended
        group: tokens in a group, at least 1
        residual: number of newest tokens that are never quantised
    Returns: n_quantized
    Raises:
        ValueError: a negative or fractional number, or a group of none
    """
    n, residual = check_size(n, "n"), check_size(residual, "residual")
    group = check_size(group, "group", at_least=1)
    return max(0, n - residual) // group * group


@own_errstate()
def read_quantized(
    k: Any, v: Any, bits: int, *, scheme: str, group: int = 1, residual: int = 0
) -> tuple[Float[np.ndarray, "*rows n d_k"], Float[np.ndarray, "*rows n d_v"]]:
    """What a quantised cache returns after k and v were appended, in portions of any size.

    Args:
        k: [..., n, d_k]; v: [..., n, d_v]
        bits: 4 or 8
        scheme: "per_token": keys and values symmetric, one scale for each token and head.
            "per_channel": keys asymmetric, one grid for each channel of `group` tokens; values
            asymmetric, one grid for each token and head (KIVI)
        group: tokens in a group of keys; 1 for "per_token"
        residual: number of newest tokens that are never quantised, as in `quantized_tokens`
    Returns: k, v  in their own dtypes
    Raises:
        ValueError: an unknown scheme; as the functions above
    Source: "per_channel": Liu et al. 2024 (KIVI), arXiv:2402.02750, Algorithm 1, simplified: KIVI
        quantises keys and values at slightly different times, we quantise them together; KIVI
        splits the channels of a value into groups, we do not. Their R is about our
        residual + group.
    """
    check_impl(scheme, SCHEMES, "scheme")
    k, v = as_array(k, "k"), as_array(v, "v")
    n = quantized_tokens(k.shape[-2], group, residual)
    old_k, old_v = k[..., :n, :], v[..., :n, :]
    if scheme == "per_token":
        old_k = dequantize_symmetric(*quantize_symmetric(old_k, bits))
        old_v = dequantize_symmetric(*quantize_symmetric(old_v, bits))
    else:
        old_k = dequantize_per_channel(*quantize_per_channel(old_k, bits, group))
        old_v = dequantize_asymmetric(*quantize_asymmetric(old_v, bits))
    return (
        np.concatenate([old_k.astype(k.dtype), k[..., n:, :]], axis=-2),
        np.concatenate([old_v.astype(v.dtype), v[..., n:, :]], axis=-2),
    )


def check_bits(bits: int) -> int:
    """Check the number of bits of a code.

    Args:
        bits: 4 or 8
    Returns: bits
    Raises:
        ValueError: bits is neither 4 nor 8
    """
    if check_size(bits, "bits") not in BITS:
        raise ValueError(f"bits is {bits}; it should be 4 or 8")
    return bits


def _nan_if_infinite(scale: np.ndarray) -> np.ndarray:
    """NaN in place of an infinite step, so that its whole group is NaN when read back."""
    return np.where(np.isfinite(scale), scale, np.float32(np.nan))


def _float32(x: Any, name: str) -> np.ndarray:
    """x in float32; numbers beyond its range become infinities."""
    with np.errstate(over="ignore"):
        return as_float64(x, name)[0].astype(np.float32)
