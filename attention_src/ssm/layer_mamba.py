"""A small Mamba block, after the paper's Figure 3 and the authors' code."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from attention_src.shapes import check_impl, check_size
from attention_src.ssm.layer import SCAN_FORMS, selective_scan
from attention_src.tensors import check_tokens, compute_dtype, without_autocast


class MambaBlock(nn.Module):
    """Mix tokens with a selective scan instead of attention.

        x, z = split(in_proj(u))           x = silu(conv(x))
        dt, B, C = split(x_proj(x))        dt = softplus(dt_proj(dt))
        y = selective_scan(x, dt, -exp(log_A), B, C, D)
        out = out_proj(y * silu(z))

    Args:
        d_model: width of a token
        N: numbers of state for each channel
        expand: the scan has d = expand * d_model channels
        conv_width: tokens in the window of the short causal convolution
        form: of `selective_scan`
    Raises:
        ValueError: a size below 1, an unknown form
    Source: Gu & Dao 2023, arXiv:2312.00752, Figure 3 and section 3.6: A starts as −1 … −N
        (S4D-Real), and softplus of dt's bias between 0.001 and 0.1.
    """

    def __init__(
        self,
        d_model: int,
        *,
        N: int = 16,
        expand: int = 2,
        conv_width: int = 4,
        form: str = "associative",
    ) -> None:
        super().__init__()
        check_impl(form, SCAN_FORMS, "form")
        check_size(d_model, "d_model", at_least=1)
        check_size(N, "N", at_least=1)
        check_size(conv_width, "conv_width", at_least=1)
        d = d_model * check_size(expand, "expand", at_least=1)
        rank = math.ceil(d_model / 16)  # of dt's projection
        self.sizes, self.form, self.conv_width = (rank, N, N), form, conv_width
        self.in_proj = nn.Linear(d_model, 2 * d, bias=False)
        self.conv = nn.Conv1d(d, d, conv_width, groups=d)
        self.x_proj = nn.Linear(d, rank + 2 * N, bias=False)
        self.dt_proj = nn.Linear(rank, d)
        self.log_A = nn.Parameter(torch.arange(1.0, N + 1).log().repeat(d, 1))  # [d, N]
        self.D = nn.Parameter(torch.ones(d))
        self.out_proj = nn.Linear(d, d_model, bias=False)
        self._start_dt(d)

    def _start_dt(self, d: int) -> None:
        """Step sizes log-uniform between 0.001 and 0.1: some channels forget fast, some slowly."""
        dt = torch.exp(torch.empty(d).uniform_(math.log(0.001), math.log(0.1)))
        with torch.no_grad():
            self.dt_proj.bias.copy_(dt + torch.log(-torch.expm1(-dt)))  # softplus's inverse

    def forward(self, u: Float[Tensor, "B n d_model"]) -> Float[Tensor, "B n d_model"]:
        """Mix the tokens: token t sees tokens 0 to t.

        Args:
            u: [B, n, d_model]  of this module's dtype; under torch.autocast also float16, bfloat16
                or float32 where the module is one of these; n may be 0
        Returns: [B, n, d_model]
        Raises:
            ValueError: another shape or dtype, or no tensor
        """
        check_tokens(u, "u", self.in_proj.weight.dtype, self.in_proj.in_features)
        if u.shape[1] == 0:  # the convolution takes no tokens
            return self.out_proj(self.in_proj(u).chunk(2, dim=-1)[0])
        x, z = self.in_proj(u).chunk(2, dim=-1)  # [B, n, d] each
        x = F.pad(x.mT, (self.conv_width - 1, 0))  # zeros before the first token: causal
        x = F.silu(self.conv(x)).mT  # [B, n, d]
        dt, B, C = self.x_proj(x).split(self.sizes, dim=-1)  # [B, n, rank], [B, n, N], [B, n, N]
        dt = self._step_sizes(dt)  # [B, n, d]
        y = selective_scan(x, dt, -self.log_A.exp(), B, C, self.D, form=self.form)
        return self.out_proj(y * F.silu(z))

    @without_autocast
    def _step_sizes(self, dt: Tensor) -> Tensor:
        """softplus(dt_proj(dt)), in float32 at least: the bias is large beside what tokens add."""
        dtype = compute_dtype(dt)
        weight, bias = (p.to(dtype) for p in (self.dt_proj.weight, self.dt_proj.bias))
        return F.softplus(F.linear(dt.to(dtype), weight, bias))
