"""Multi-head attention as a PyTorch module."""

from jaxtyping import Float
from torch import Tensor, nn

from attention_src.attention.layer import IMPLS, attention
from attention_src.shapes import check_groups, check_impl, check_size


class MultiHeadAttention(nn.Module):
    """Project, attend in every head, and project back; self-attention or cross-attention.

        q, k, v = q_proj(x), k_proj(context), v_proj(context)
        y = o_proj(merge(attention(q, k, v)))

    Args:
        d_model: width of x and of the answer
        n_heads: H, the query heads
        n_kv_heads: H_kv, the key/value heads, which divides H; None = H
        d_k: width of a query and a key; None = d_model / H
        d_v: width of a value; None = d_k
        rope: rotary positions; needs the topic `rope`
        bias: whether the four projections have a bias
        impl: as in `attention.layer.attention`
    Raises:
        ValueError: sizes that do not divide, an unknown impl, rope without its topic
    Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2. Grouped heads: Ainslie et al.
        2023, arXiv:2305.13245.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_kv_heads: int | None = None,
        d_k: int | None = None,
        d_v: int | None = None,
        rope: bool = False,
        bias: bool = False,
        impl: str = "auto",
    ):
        super().__init__()
        check_impl(impl, IMPLS)
        if rope:
            raise ValueError(
                "rope is True, but this version has no topic attention_src.rope yet; "
                "it should be False"
            )
        self.d_model = check_size(d_model, "d_model", at_least=1)
        self.n_heads = check_size(n_heads, "n_heads", at_least=1)
        self.n_kv_heads = self.n_heads
        if n_kv_heads is not None:
            self.n_kv_heads = check_size(n_kv_heads, "n_kv_heads", at_least=1)
        check_groups(self.n_heads, self.n_kv_heads)
        if d_k is None and self.d_model % self.n_heads:
            raise ValueError(
                f"n_heads is {n_heads}, which does not divide d_model={d_model}; "
                "choose another, or give d_k"
            )
        self.d_k = (
            self.d_model // self.n_heads if d_k is None else check_size(d_k, "d_k", at_least=1)
        )
        self.d_v = self.d_k if d_v is None else check_size(d_v, "d_v", at_least=1)
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
        mask: object = None,
        causal: bool = False,
        cache: object = None,
    ) -> Float[Tensor, "B n_q d_model"]:
        """Let each token of x look at the tokens of context.

        Args:
            x: [B, n_q, d_model]  what the queries are made from
            context: [B, n_k, d_model]  what keys and values are made from; None = x
            mask: bool, broadcast to [B, H, n_q, n_k], True = may attend; a mask [B, 1, n_q, n_k]
                serves all heads
            causal: key j is visible to query i iff j <= i + n_k - n_q (bottom-right)
            cache: keys and values of earlier tokens; needs the topic `kvcache`
        Returns: [B, n_q, d_model]
        Raises:
            ValueError: shapes that do not fit; as `attention`; a cache without its topic
        Cost: four projections and `attention`.
        """
        if cache is not None:
            raise ValueError(
                "cache is given, but this version has no topic attention_src.kvcache yet; "
                "it should be None"
            )
        context = x if context is None else context
        for name, source in (("x", x), ("context", context)):
            self._check_input(name, source)
        q = self._split(self.q_proj(x), self.n_heads)  # [B, H, n_q, d_k]
        k = self._split(self.k_proj(context), self.n_kv_heads)  # [B, H_kv, n_k, d_k]
        v = self._split(self.v_proj(context), self.n_kv_heads)  # [B, H_kv, n_k, d_v]
        o = attention(q, k, v, mask=mask, causal=causal, impl=self.impl)  # [B, H, n_q, d_v]
        return self.o_proj(o.transpose(1, 2).flatten(start_dim=2))  # [B, n_q, H * d_v]

    def _check_input(self, name: str, x: Tensor) -> None:
        dtype = self.q_proj.weight.dtype
        if not isinstance(x, Tensor) or x.dtype != dtype:
            what = x.dtype if isinstance(x, Tensor) else type(x).__name__
            raise ValueError(f"{name} is {what}; it should be a tensor of this module's {dtype}")
        if x.ndim != 3 or x.shape[-1] != self.d_model:
            raise ValueError(
                f"{name} has shape {list(x.shape)}; it should be [B, n, d_model={self.d_model}]"
            )

    @staticmethod
    def _split(x: Tensor, n_heads: int) -> Tensor:
        """[B, n, H * d] -> [B, H, n, d]"""
        return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)
