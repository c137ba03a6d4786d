"""Keys and values in 8 or 4 bits, in torch; `reference_quantization` says what is computed."""

import torch
from jaxtyping import Float, Float32, Int8, UInt8
from torch import Tensor

from attention_src.kvcache.cache_base import Cache, Growing, bytes_of, restored_on_error
from attention_src.kvcache.reference_quantization import SCHEMES, check_bits, quantized_tokens
from attention_src.shapes import check_impl, check_size


def quantize_symmetric(
    x: Float[Tensor, "*rows d"], bits: int = 8
) -> tuple[Int8[Tensor, "*rows d"], Float32[Tensor, "*rows 1"]]:
    """As `reference_quantization.quantize_symmetric`, on a tensor: codes * scale ≈ x.

    Args:
        x: floating point; its numbers are not checked
        bits: as for the reference
    Raises:
        ValueError: bits is neither 4 nor 8
    """
    levels = 2 ** (check_bits(bits) - 1) - 1
    x = x.float()
    scale = _nan_if_infinite(x.abs().amax(dim=-1, keepdim=True) / levels)
    codes = (x / scale.masked_fill(scale == 0, 1)).round()
    return codes.clamp(-levels, levels).to(torch.int8), scale


def quantize_asymmetric(
    x: Float[Tensor, "..."], bits: int = 4, axis: int = -1
) -> tuple[UInt8[Tensor, "..."], Float32[Tensor, "..."], Float32[Tensor, "..."]]:
    """As `reference_quantization.quantize_asymmetric`, on a tensor: codes * scale + zero ≈ x.

    Args:
        x: floating point; its numbers are not checked
        bits, axis: as for the reference
    Raises:
        ValueError: bits is neither 4 nor 8
    """
    levels = 2 ** check_bits(bits) - 1
    x = x.float()
    zero = x.amin(dim=axis, keepdim=True)
    scale = _nan_if_infinite((x.amax(dim=axis, keepdim=True) - zero) / levels)
    codes = ((x - zero) / scale.masked_fill(scale == 0, 1)).round()
    return codes.clamp(0, levels).to(torch.uint8), scale, zero


def pack_int4(codes: UInt8[Tensor, "*rows d"]) -> UInt8[Tensor, "*rows half"]:
    """As `reference_quantization.pack_int4`, on a tensor of codes 0 … 15, which is not checked."""
    codes = torch.nn.functional.pad(codes, (0, codes.shape[-1] % 2))
    return codes[..., 0::2] | codes[..., 1::2] << 4


def unpack_int4(packed: UInt8[Tensor, "*rows half"], d: int) -> UInt8[Tensor, "*rows d"]:
    """As `reference_quantization.unpack_int4`, on a tensor whose width is not checked."""
    return torch.stack([packed & 15, packed >> 4], dim=-1).flatten(-2)[..., :d]


def _nan_if_infinite(scale: Tensor) -> Tensor:
    """NaN in place of an infinite step, so that its whole group is NaN when read back."""
    return scale.masked_fill(scale.isinf(), torch.nan)


class SymmetricStore:
    """Tokens as symmetric codes, with one float32 scale for each token and head.

    Args:
        bits: 8 or 4
    """

    def __init__(self, bits: int):
        self.bits = bits
        self.codes = Growing()  # int8 [B, H_kv, n, d], or packed
        self.scale = Growing()  # float32 [B, H_kv, n, 1]

    def append(self, x: Float[Tensor, "B H_kv n d"]) -> None:
        """Quantise tokens and add them at the end.

        Args:
            x: [B, H_kv, n, d]
        """
        codes, scale = quantize_symmetric(x, self.bits)
        # A nibble holds 0 … 15, so −7 … 7 is stored as 1 … 15.
        self.codes.append(codes if self.bits == 8 else pack_int4((codes + 8).to(torch.uint8)))
        self.scale.append(scale)

    def read(self, d: int) -> Float32[Tensor, "B H_kv n d"]:
        """All tokens, dequantised.

        Args:
            d: their width before packing
        Returns: float32 [B, H_kv, n, d]
        """
        codes = self.codes.view()
        if self.bits == 4:
            codes = unpack_int4(codes, d).to(torch.int8) - 8
        return codes * self.scale.view()

    def parts(self) -> tuple[Growing, ...]:
        """All that is stored.

        Returns: codes, scale
        """
        return self.codes, self.scale


class AsymmetricStore:
    """Tokens as asymmetric codes, with one float32 scale and zero for each grid.

    Args:
        bits: 8 or 4
        group: None = one grid for each token and head; else one for each channel of `group` tokens
    """

    def __init__(self, bits: int, group: int | None = None):
        self.bits, self.group = bits, group
        self.codes = Growing()  # uint8 [B, H_kv, n, d], or packed
        self.scale, self.zero = Growing(), Growing()  # [B, H_kv, n, 1] or [B, H_kv, n / group, d]

    def append(self, x: Float[Tensor, "B H_kv n d"]) -> None:
        """As `SymmetricStore.append`; n is a multiple of `group`."""
        if self.group is None:
            codes, scale, zero = quantize_asymmetric(x, self.bits)
        else:
            grouped = self._grouped(x)  # [B, H_kv, n / group, group, d]
            codes, scale, zero = quantize_asymmetric(grouped, self.bits, axis=-2)
            codes, scale, zero = codes.flatten(2, 3), scale.squeeze(-2), zero.squeeze(-2)
        self.codes.append(codes if self.bits == 8 else pack_int4(codes))
        self.scale.append(scale)
        self.zero.append(zero)

    def read(self, d: int) -> Float32[Tensor, "B H_kv n d"]:
        """As `SymmetricStore.read`."""
        codes = self.codes.view() if self.bits == 8 else unpack_int4(self.codes.view(), d)
        if self.group is None:
            return codes * self.scale.view() + self.zero.view()
        scale, zero = (x.view().unsqueeze(-2) for x in (self.scale, self.zero))
        return (self._grouped(codes) * scale + zero).flatten(2, 3)

    def _grouped(self, x: Tensor) -> Tensor:
        """[B, H_kv, n, d] -> [B, H_kv, n / group, group, d]"""
        assert self.group is not None
        return x.unflatten(-2, (x.shape[-2] // self.group, self.group))

    def parts(self) -> tuple[Growing, ...]:
        """As `SymmetricStore.parts`: codes, scale, zero."""
        return self.codes, self.scale, self.zero


class QuantizedKVCache(Cache):
    """Keys and values in 8 or 4 bits, except perhaps the newest tokens.

    `read` returns what `reference_quantization.read_quantized` does, which explains the schemes. An
    error is half a step at most, plus the rounding of float32 and of the appended dtype.

    Args:
        bits: 8 or 4
        scheme: "per_token" or "per_channel"; None = "per_token" for 8 bits, "per_channel" for 4
        group: tokens in a group of keys, for "per_channel" only; None = 32
        residual: number of newest tokens that are never quantised; None = 32 for "per_channel" and
            0 for "per_token"
    Raises:
        ValueError: bits other than 4 and 8; an unknown scheme; a group for "per_token"; a group or
            residual that is not a whole number
    Source: as `reference_quantization.read_quantized`.
    """

    def __init__(
        self,
        bits: int,
        *,
        scheme: str | None = None,
        group: int | None = None,
        residual: int | None = None,
    ):
        self.bits = check_bits(bits)
        self.scheme = ("per_token" if bits == 8 else "per_channel") if scheme is None else scheme
        check_impl(self.scheme, SCHEMES, "scheme")
        self._k: SymmetricStore | AsymmetricStore
        self._v: SymmetricStore | AsymmetricStore
        if self.scheme == "per_token":
            if group is not None:
                raise ValueError(
                    f"group is {group}, but each token has its own scale in scheme 'per_token'; "
                    "it should be None"
                )
            self.group = 1
            self._k, self._v = SymmetricStore(bits), SymmetricStore(bits)
        else:
            self.group = 32 if group is None else check_size(group, "group", at_least=1)
            self._k, self._v = AsymmetricStore(bits, self.group), AsymmetricStore(bits)
        if residual is None:
            residual = 0 if self.scheme == "per_token" else 32
        self.residual = check_size(residual, "residual")
        self._n = 0
        self._new: tuple[Tensor, Tensor] | None = None  # the newest tokens, not quantised

    def __len__(self) -> int:
        return self._n

    def append(self, k: Float[Tensor, "B H_kv n d_k"], v: Float[Tensor, "B H_kv n d_v"]) -> None:
        """As `Cache.append`."""
        k, v = self._admit(k, v)
        n_held = self._n + k.shape[-2]
        if self._new is not None:
            k, v = (torch.cat(pair, dim=-2) for pair in zip(self._new, (k, v), strict=True))
        n = quantized_tokens(k.shape[-2], self.group, self.residual)
        with restored_on_error([self], n):
            if n or self._new is None:  # the first append fixes the shapes, even with n = 0
                self._k.append(k[:, :, :n])
                self._v.append(v[:, :, :n])
            self._new = k[:, :, n:].clone(), v[:, :, n:].clone()
            self._n = n_held

    def read(
        self,
    ) -> tuple[Float[Tensor, "B H_kv held d_k"], Float[Tensor, "B H_kv held d_v"]]:
        """As `Cache.read`; dequantises at each call."""
        layout = self._known_layout()
        assert self._new is not None
        old_k, old_v = self._k.read(layout.d_k), self._v.read(layout.d_v)
        new_k, new_v = self._new
        k = torch.cat([old_k.to(layout.dtype), new_k], dim=-2)
        return k, torch.cat([old_v.to(layout.dtype), new_v], dim=-2)

    def stored_int8(
        self,
    ) -> tuple[
        Int8[Tensor, "B H_kv n d_k"],
        Float32[Tensor, "B H_kv n"],
        Int8[Tensor, "B H_kv n d_v"],
        Float32[Tensor, "B H_kv n"],
    ]:
        """The stored codes and scales, without a copy, for kernels that attend to them.

        Returns: k, k_scale, v, v_scale; do not write to them
        Raises:
            ValueError: no append yet; not `is_int8`
        """
        self._known_layout()
        if not self.is_int8:
            raise ValueError(
                f"the cache has bits={self.bits}, scheme={self.scheme!r}, residual="
                f"{self.residual}; only 8 bits, 'per_token', residual=0 is all int8"
            )
        (k, k_scale), (v, v_scale) = (
            [part.view() for part in store.parts()] for store in (self._k, self._v)
        )
        return k, k_scale[..., 0], v, v_scale[..., 0]

    @property
    def is_int8(self) -> bool:
        """Whether all tokens are stored as symmetric 8-bit codes."""
        return (self.bits, self.scheme, self.residual) == (8, "per_token", 0)

    @property
    def nbytes(self) -> int:
        """Bytes of the codes, scales and zeros, and of the newest tokens."""
        return bytes_of(*(self._new or ())) + sum(part.nbytes for part in self._parts())

    @property
    def allocated_nbytes(self) -> int:
        """As `Cache.allocated_nbytes`."""
        return bytes_of(*(self._new or ())) + sum(part.allocated_nbytes for part in self._parts())

    def _parts(self) -> tuple[Growing, ...]:
        return *self._k.parts(), *self._v.parts()
