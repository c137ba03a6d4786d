"""What takes the place of attention: each turns queries and keys into weights on the values.

    o_i = Σ_j w_ij v_j       for the last `asked` positions i, over all j up to i

Softmax needs all keys and values for that. The others have a recurrent form, whose whole memory
is a state of d_k × d_v numbers; the weights are that of their parallel form. Queries and keys
of `Linear`, `Decay`, `Delta` and `SSD` have length 1, so that they differ in how they write alone.

A mixer is a module: forward(q, k, gate) with q [B, asked, d_k], k [B, n, d_k] and gate [B, n], a
learned number for each token, returns the weights [B, asked, n].
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_src.linear.layer_parts import features


def lags(q: Tensor, k: Tensor) -> Tensor:
    """How far each query's position is behind each key's; below 0 where a key comes later.

    Args:
        q, k: [B, asked, d_k], [B, n, d_k]
    Returns: [asked, n]
    """
    i = torch.arange(k.shape[1])
    return (i[:, None] - i)[-q.shape[1] :]


class Softmax(nn.Module):
    """Softmax attention. A learned slope takes off some score for each token of distance.

    Otherwise it could not tell a key's two values apart. The scale of the scores is learned too.
    """

    def __init__(self) -> None:
        super().__init__()
        self.slope = nn.Parameter(torch.tensor(0.05))
        self.scale = nn.Parameter(torch.tensor(0.35))

    def forward(self, q: Tensor, k: Tensor, gate: Tensor) -> Tensor:
        """The weights of softmax.

        Args:
            q: [B, asked, d_k]
            k: [B, n, d_k]
            gate: [B, n]; not used here
        Returns: [B, asked, n]
        """
        lag = lags(q, k)
        s = self.scale * (q @ k.mT) - self.slope * lag
        return s.masked_fill(lag < 0, -torch.inf).softmax(dim=-1)


class Elu(nn.Module):
    """Linear attention with the features elu + 1, divided by the sum of the weights."""

    def forward(self, q: Tensor, k: Tensor, gate: Tensor) -> Tensor:
        """As `Softmax.forward`."""
        w = (features(q, "elu") @ features(k, "elu").mT) * (lags(q, k) >= 0)
        return w / w.sum(dim=-1, keepdim=True)


class Linear(nn.Module):
    """The bare sum of outer products: no features, no division."""

    def forward(self, q: Tensor, k: Tensor, gate: Tensor) -> Tensor:
        """As `Softmax.forward`."""
        return (F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT) * (lags(q, k) >= 0)


class Decay(Linear):
    """The sum fades by one learned factor at each token, the same whatever the token is."""

    def __init__(self) -> None:
        super().__init__()
        self.keep = nn.Parameter(torch.tensor(4.0))

    def forward(self, q: Tensor, k: Tensor, gate: Tensor) -> Tensor:
        """As `Softmax.forward`."""
        return super().forward(q, k, gate) * self.keep.sigmoid() ** lags(q, k).clamp(min=0)


class Delta(Linear):
    """The delta rule: a share β = sigmoid(gate) of what the state holds for a key is replaced."""

    def forward(self, q: Tensor, k: Tensor, gate: Tensor) -> Tensor:
        """As `Softmax.forward`: w (I + overlap)⁻¹ diag(β), where w are those of `Linear`."""
        beta, k1 = gate.sigmoid()[..., None], F.normalize(k, dim=-1)  # [B, n, 1], [B, n, d_k]
        overlap = beta * (k1 @ k1.mT)  # [B, n, n]; read below the diagonal alone
        w = super().forward(q, k, gate)  # [B, asked, n]
        w = torch.linalg.solve_triangular(overlap, w, upper=False, left=False, unitriangular=True)
        return w * beta.mT


class SSD(Linear):
    """A selective state space model (Mamba-2's): each token says how much is forgotten and written.

    dt = softplus(gate) does both: the state is multiplied by exp(A dt), and dt v is written.
    """

    def __init__(self) -> None:
        super().__init__()
        self.log_a = nn.Parameter(torch.tensor(-4.0))

    def forward(self, q: Tensor, k: Tensor, gate: Tensor) -> Tensor:
        """As `Softmax.forward`; C = q, B = k, x = v."""
        dt = F.softplus(gate)  # [B, n]
        log_a = (-self.log_a.exp() * dt).cumsum(dim=-1)  # log of the decay from the start
        between = log_a[:, -q.shape[1] :, None] - log_a[:, None, :]  # [B, asked, n]
        decay = between.masked_fill(lags(q, k) < 0, -torch.inf).exp()
        return super().forward(q, k, gate) * decay * dt[:, None]


MIXERS = {
    "softmax": Softmax,
    "elu": Elu,
    "linear": Linear,
    "decay": Decay,
    "delta": Delta,
    "ssd": SSD,
}
