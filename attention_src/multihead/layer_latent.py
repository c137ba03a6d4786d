"""Multi-head latent attention (MLA): all heads share, and cache, one short vector per token."""

from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_src.attention.layer import attention_weights
from attention_src.flash.layer import IMPLS
from attention_src.kvcache.cache_base import Cache, restored_on_error
from attention_src.multihead.layer_attend import attend, check_cache, check_no_gradients
from attention_src.multihead.layer_checks import check_head_sizes
from attention_src.multihead.layer_rotary import Rotary, positions_of, rotary_of
from attention_src.rope.scaling_by_parts import latent_scaling
from attention_src.shapes import check_flags, check_impl, check_size
from attention_src.tensors import check_tokens


class MultiHeadLatentAttention(nn.Module):
    """As `reference_latent.latent_attention`, with gradients and a cache.

        c = norm(kv_down(x))      k_rope = rotate(k_rope_proj(x))           cached: (c, k_rope)
        q, q_rope = q_proj(x)     k = [k_up(c), k_rope]    v = v_up(c)
        y = o_proj(merge(attention([q, rotate(q_rope)], k, v)))

    Absorbing: q·(W_uk c) = (W_uk^T q)·c and sum_j p_j (W_uv c_j) = W_uv sum_j p_j c_j. So with
    `absorb` the heads attend to c itself, as one shared key/value head of width d_latent, and the
    keys and values of single heads are never formed.

    Args:
        d_model: width of x and of the result
        n_heads: H
        d_latent: width of c
        d_rope: width of the rotated part of each query, and of the rotated key, which all heads
            share; even, or 0 for none
        d_k: width of the other part; None = d_model / H
        d_v: width of a value; None = d_k
        rope: True, or a `Rotary` that says how the d_rope components are rotated. YaRN's factor
            applies to all scores, see `rope.scaling_by_parts.latent_scaling`.
        norm: whether c goes through an RMSNorm, as in DeepSeek's models
        bias: whether the projections have a bias; those that can be absorbed never do
        impl: as for `MultiHeadAttention`
    Raises:
        ValueError: sizes that do not divide, an odd d_rope, an unknown impl, a norm or bias that
            is neither True nor False
    Cost: a cache of d_latent + d_rope numbers per token, for any H. Without `absorb`, every call
        spends 2 H d_latent (d_k + d_v) FLOP on each cached token.
    Source: DeepSeek-AI 2024, arXiv:2405.04434, section 2.1.2 and 2.1.3, Eq. 9 to 19 (their W^DKV,
        W^UK, W^UV, W^KR are kv_down, k_up, v_up, k_rope_proj), with a full-rank query projection.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        d_latent: int,
        d_rope: int = 0,
        d_k: int | None = None,
        d_v: int | None = None,
        rope: bool | Rotary = True,
        norm: bool = False,
        bias: bool = False,
        impl: str = "auto",
    ):
        super().__init__()
        check_impl(impl, IMPLS)
        check_flags(norm=norm, bias=bias)
        sizes = check_head_sizes(d_model, n_heads, d_k, d_v)
        self.d_model, self.n_heads, self.d_k, self.d_v = sizes
        self.d_latent = check_size(d_latent, "d_latent", at_least=1)
        self.d_rope = check_size(d_rope, "d_rope")
        if self.d_rope % 2:
            raise ValueError(f"d_rope is {d_rope}, but rope turns pairs; it should be even")
        self.impl = impl
        self.rope = rotary_of(rope, self.d_rope) if self.d_rope else None
        self.scale = (self.d_k + self.d_rope) ** -0.5
        if self.rope is not None:
            # YaRN's factor goes from the rotated part to all scores.
            scaling, score_factor = latent_scaling(self.rope.scaling)
            self.rope = replace(self.rope, scaling=scaling)
            self.scale *= score_factor
        H = self.n_heads
        self.q_proj = nn.Linear(self.d_model, H * (self.d_k + self.d_rope), bias=bias)
        self.kv_down = nn.Linear(self.d_model, self.d_latent, bias=bias)
        self.kv_norm = nn.RMSNorm(self.d_latent, eps=1e-6) if norm else nn.Identity()
        self.k_rope_proj = nn.Linear(self.d_model, self.d_rope, bias=bias) if self.d_rope else None
        self.k_up = nn.Linear(self.d_latent, H * self.d_k, bias=False)
        self.v_up = nn.Linear(self.d_latent, H * self.d_v, bias=False)
        self.o_proj = nn.Linear(H * self.d_v, self.d_model, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "B n d_model"],
        *,
        mask: Any = None,
        causal: bool = False,
        cache: Cache | None = None,
        positions: Any = None,
        absorb: bool = False,
        return_weights: bool = False,
    ) -> Float[Tensor, "B n d_model"] | tuple[Tensor, Tensor]:
        """The tokens of x attend to each other, and to those in the cache.

        Args:
            x: [B, n, d_model]  of the dtypes that `MultiHeadAttention.forward` takes
            mask: bool, broadcast to [B, H, n, n_k], True = may attend
            causal: bottom-right; with a cache and n > 1 it must be True
            cache: from `kvcache.cache`: it holds c as keys and k_rope as values of one head (with
                d_rope = 0 the first component of c, which is not read), and must not drop tokens.
                It carries no gradient.
            positions: [n]; None = 0, 1, 2 …, continued after the tokens that the cache has seen
            absorb: attend to c itself: the same result but for rounding
            return_weights: return p as well, computed by `attention.layer.attention_weights`
        Returns: y [B, n, d_model]; or y and p [B, H, n, n_k]
        Raises:
            ValueError: shapes or dtypes that do not fit; a cache that has dropped tokens, or holds
                sequences of different lengths; a cache while gradients of c are enabled; positions
                where nothing is rotated; causal, absorb or return_weights is neither True nor False
        Cost: p takes O(n n_k) memory, whatever the impl.
        """
        check_flags(causal=causal, absorb=absorb, return_weights=return_weights)
        self._check_arguments(x, causal, cache, positions)
        q = self.q_proj(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
        q, q_rope = q.split((self.d_k, self.d_rope), dim=-1)  # [B, H, n, d_k], [B, H, n, d_rope]
        c = self.kv_down(x)
        # Under autocast the norm of PyTorch 2.6 gives float32, later ones the dtype of its input.
        c = self.kv_norm(c).to(c.dtype)[:, None]  # [B, 1, n, d_latent]
        k_rope = c[..., :0]
        if self.k_rope_proj is not None:
            k_rope = self.k_rope_proj(x)[:, None]  # [B, 1, n, d_rope]
        if self.rope is not None:
            q_rope, k_rope = self.rope(q_rope, k_rope, positions_of(positions, x.shape[1], cache))
        with restored_on_error([] if cache is None else [cache], x.shape[1]):
            if cache is not None:
                check_no_gradients(c, k_rope)
                cache.append(c, k_rope if self.d_rope else c[..., :1])  # values have no width 0
                c, k_rope = cache.read()  # [B, 1, n_k, d_latent], [B, 1, n_k, d_rope]
                k_rope = k_rope[..., : self.d_rope]
            options: dict[str, Any] = dict(mask=mask, causal=causal, scale=self.scale)
            q, k, v = (self._absorbed if absorb else self._expanded)(q, q_rope, c, k_rope)
            o = attend(q, k, v, impl=self.impl, **options)  # [B, H, n, d_v]; absorbed d_latent
            if absorb:
                o = o @ self.v_up.weight.unflatten(0, (self.n_heads, self.d_v)).mT  # [B, H, n, d_v]
            y = self.o_proj(o.transpose(1, 2).flatten(start_dim=2))
            return (y, attention_weights(q, k, **options)) if return_weights else y

    def _expanded(
        self, q: Tensor, q_rope: Tensor, c: Tensor, k_rope: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The queries, keys and values of every head."""
        H = self.n_heads
        k = self.k_up(c[:, 0]).unflatten(-1, (H, -1)).transpose(1, 2)  # [B, H, n_k, d_k]
        v = self.v_up(c[:, 0]).unflatten(-1, (H, -1)).transpose(1, 2)  # [B, H, n_k, d_v]
        k = torch.cat([k, k_rope.expand(-1, H, -1, -1)], dim=-1)
        return torch.cat([q, q_rope], dim=-1), k, v

    def _absorbed(
        self, q: Tensor, q_rope: Tensor, c: Tensor, k_rope: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Queries multiplied by k_up, and one key/value head, which is c; v_up comes after."""
        W_uk = self.k_up.weight.unflatten(0, (self.n_heads, self.d_k))  # [H, d_k, d_latent]
        q = torch.cat([q @ W_uk, q_rope], dim=-1)  # [B, H, n, d_latent + d_rope]
        return q, torch.cat([c, k_rope], dim=-1), c  # k [B, 1, n_k, d_latent + d_rope]

    def _check_arguments(self, x: Any, causal: bool, cache: Cache | None, positions: Any) -> None:
        check_tokens(x, "x", self.q_proj.weight.dtype, self.d_model)
        if positions is not None and self.rope is None:
            raise ValueError(
                "positions is given, but this module rotates nothing: d_rope=0 or rope=False"
            )
        if cache is None:
            return
        check_cache(cache, causal, x.shape[1])
        if cache.layout is not None:
            lengths = cache.lengths
            if cache.n_seen != len(cache) or bool((lengths != len(cache)).any()):
                raise ValueError(
                    "the cache has dropped tokens, or holds sequences of different lengths; it "
                    "should hold every token of equally long ones"
                )
