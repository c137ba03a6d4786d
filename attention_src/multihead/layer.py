"""Multi-head attention as PyTorch modules: MHA, GQA and MQA in one, and latent attention (MLA)."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_src.flash.layer import IMPLS
from attention_src.multihead.layer_cache import (
    attend,
    attend_with_cache,
    attend_with_weights,
    check_cache,
)
from attention_src.multihead.layer_checks import check_head_sizes, check_tokens
from attention_src.multihead.layer_latent import MultiHeadLatentAttention
from attention_src.multihead.layer_rotary import Rotary, positions_of, rotary_of
from attention_src.shapes import check_groups, check_impl, check_size

__all__ = ["MultiHeadAttention", "MultiHeadLatentAttention", "Rotary"]


class MultiHeadAttention(nn.Module):
    """As `reference.multihead_attention`, with gradients, rotary positions and a cache.

        q, k, v = q_proj(x), k_proj(context), v_proj(context)
        y = o_proj(merge(attention(q, k, v)))

    Args:
        d_model: width of x and of the result
        n_heads: H, the number of query heads
        n_kv_heads: H_kv, the number of key/value heads, which divides H; None = H
        d_k: width of a query and a key; None = d_model / H
        d_v: width of a value; None = d_k
        rope: True rotates queries and keys by their positions; a `Rotary` says how
        bias: whether the four projections have a bias
        impl: "dense", "sdpa" or "auto" as in `attention.layer.attention`, "tiled" or "triton" as
            in `flash.layer.flash_attention`
    Raises:
        ValueError: sizes that do not divide, an odd d_k with rope, an unknown impl
    Source: H_kv = 1: Shazeer 2019, arXiv:1911.02150; 1 < H_kv < H: Ainslie et al. 2023,
        arXiv:2305.13245. Rotation: Su et al. 2021, arXiv:2104.09864.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_kv_heads: int | None = None,
        d_k: int | None = None,
        d_v: int | None = None,
        rope: bool | Rotary = False,
        bias: bool = False,
        impl: str = "auto",
    ):
        super().__init__()
        check_impl(impl, IMPLS)
        sizes = check_head_sizes(d_model, n_heads, d_k, d_v)
        self.d_model, self.n_heads, self.d_k, self.d_v = sizes
        self.n_kv_heads = self.n_heads
        if n_kv_heads is not None:
            self.n_kv_heads = check_size(n_kv_heads, "n_kv_heads", at_least=1)
        check_groups(self.n_heads, self.n_kv_heads)
        self.rope = rotary_of(rope, self.d_k)
        self.impl = impl
        self.q_proj = nn.Linear(self.d_model, self.n_heads * self.d_k, bias=bias)
        self.k_proj = nn.Linear(self.d_model, self.n_kv_heads * self.d_k, bias=bias)
        self.v_proj = nn.Linear(self.d_model, self.n_kv_heads * self.d_v, bias=bias)
        self.o_proj = nn.Linear(self.n_heads * self.d_v, self.d_model, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "B n_q d_model"],
        context: Float[Tensor, "B n_k d_model"] | None = None,
        *,
        mask: Any = None,
        causal: bool = False,
        cache: Any = None,
        positions: Any = None,
        return_weights: bool = False,
    ) -> Float[Tensor, "B n_q d_model"] | tuple[Tensor, Tensor]:
        """The tokens of x attend to the tokens of context.

        Args:
            x: [B, n_q, d_model]  the queries are computed from it
            context: [B, n_k, d_model]  keys and values are computed from it; None = x
            mask: bool, broadcast to [B, H, n_q, n_k], True = may attend; a mask [B, 1, n_q, n_k]
                applies to all heads
            causal: key j is visible to query i iff j <= i + n_k - n_q (bottom-right)
            cache: from `kvcache.cache`: the keys and values of earlier tokens, which are visible
                too; afterwards it also holds those of x. It carries no gradient.
            positions: [n_q], or [B, n_q] for sequences of different lengths: for rope; None = 0,
                1, 2 …, continued after the tokens that the cache has seen
            return_weights: return p as well
        Returns: y [B, n_q, d_model]; or y and p [B, H, n_q, n_k], as `attend_with_weights`
        Raises:
            ValueError: as `attention`; shapes that do not fit; a context with a cache or with rope;
                a cache and several tokens without causal, or while gradients of its keys and values
                are enabled; positions without rope
        Cost: four projections and `attention`; p takes O(n_q n_k) memory, whatever the impl.
        """
        self._check_arguments(x, context, causal, cache, positions)
        context = x if context is None else context
        q = self._split(self.q_proj(x), self.n_heads)  # [B, H, n_q, d_k]
        k = self._split(self.k_proj(context), self.n_kv_heads)  # [B, H_kv, n_k, d_k]
        v = self._split(self.v_proj(context), self.n_kv_heads)  # [B, H_kv, n_k, d_v]
        if self.rope is not None:
            q, k = self.rope(q, k, positions_of(positions, x.shape[1], cache))
        p = None
        if return_weights:
            options: dict[str, Any] = dict(mask=mask, causal=causal, impl=self.impl)
            o, p = attend_with_weights(q, k, v, cache, **options)
        elif cache is None:
            o = attend(q, k, v, mask=mask, causal=causal, impl=self.impl)  # [B, H, n_q, d_v]
        else:
            o = attend_with_cache(q, k, v, cache, mask=mask, impl=self.impl)
        y = self.o_proj(o.transpose(1, 2).flatten(start_dim=2))  # [B, n_q, d_model]
        return y if p is None else (y, p)

    @classmethod
    def from_torch(cls, theirs: nn.MultiheadAttention, **options: Any) -> "MultiHeadAttention":
        """A module with the weights of a torch.nn.MultiheadAttention.

        Args:
            theirs: its keys and values are as wide as its queries; no add_bias_kv or add_zero_attn
            options: arguments of the class, except d_model, n_heads and bias, which are theirs
        Returns: the same function of x [B, n, d_model]
        Raises:
            ValueError: theirs uses an option that this class does not have
        """
        if theirs.in_proj_weight is None or theirs.bias_k is not None or theirs.add_zero_attn:
            raise ValueError(
                "theirs has its own widths for keys and values, add_bias_kv or add_zero_attn; it "
                "should have none of them"
            )
        bias = theirs.in_proj_bias is not None
        ours = cls(theirs.embed_dim, theirs.num_heads, bias=bias, **options)
        weights = [*theirs.in_proj_weight.chunk(3), theirs.out_proj.weight]
        biases = [*theirs.in_proj_bias.chunk(3), theirs.out_proj.bias] if bias else None
        return ours._load(weights, biases)

    @classmethod
    def from_llama(cls, theirs: Any, **options: Any) -> "MultiHeadAttention":
        """A module with the weights of a transformers LlamaAttention.

        Args:
            theirs: anything with q_proj, k_proj, v_proj, o_proj, head_dim and a config that gives
                the numbers of heads and the rotation's base (rope_parameters, or rope_theta before
                version 5)
            options: impl, for example, or rope to override the config's
        Returns: the same function of x, with the same rotation (half-split pairs)
        Raises:
            ValueError: as `Rotary.of_config`; then pass the rotation as rope=
        """
        config = theirs.config
        if "rope" not in options:
            options["rope"] = Rotary.of_config(config)
        d_model = theirs.q_proj.in_features
        bias = theirs.q_proj.bias is not None
        heads = dict(n_kv_heads=config.num_key_value_heads, d_k=theirs.head_dim)
        ours = cls(d_model, config.num_attention_heads, bias=bias, **heads, **options)
        parts = [getattr(theirs, name) for name in ("q_proj", "k_proj", "v_proj", "o_proj")]
        return ours._load([p.weight for p in parts], [p.bias for p in parts] if bias else None)

    @torch.no_grad()
    def _load(self, weights: list[Tensor], biases: list[Tensor] | None) -> "MultiHeadAttention":
        """Copy into q_proj, k_proj, v_proj and o_proj, in that order; return self."""
        self.to(weights[0])
        for i, part in enumerate((self.q_proj, self.k_proj, self.v_proj, self.o_proj)):
            part.weight.copy_(weights[i])
            if biases is not None:
                part.bias.copy_(biases[i])
        return self

    def _check_arguments(
        self, x: Tensor, context: Tensor | None, causal: bool, cache: Any, positions: Any
    ) -> None:
        dtype = self.q_proj.weight.dtype
        check_tokens(x, "x", dtype, self.d_model)
        if context is not None:
            check_tokens(context, "context", dtype, self.d_model)
            for name, given in (("cache", cache), ("rope", self.rope)):
                if given is not None:
                    raise ValueError(
                        f"context is given, but {name} is about the tokens of one sequence; "
                        "context should be None"
                    )
        if cache is not None:
            check_cache(cache, causal, x.shape[1])
        if positions is not None and self.rope is None:
            raise ValueError("positions is given, but this module was made with rope=False")

    @staticmethod
    def _split(x: Tensor, n_heads: int) -> Tensor:
        """[B, n, H * d] -> [B, H, n, d]"""
        return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)
