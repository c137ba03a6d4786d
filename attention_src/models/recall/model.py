"""One layer around a mixer."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from attention_src.models.recall.task import N_KEYS, N_VALUES


class Recall(nn.Module):
    """One layer: tokens to q, k and v, a mixer, and logits of the values at the questions.

    A token's projection is a row of W_Q, W_K or W_V. Each channel then mixes this token's number
    with the previous token's, as a convolution of width 2 does. It starts where the task wants it:
    q and v from this token, k from the one before, so that a value meets its key. A token's query
    starts as its key. What is left to learn is how to share the room.

    Args:
        mixer: a module whose forward(q, k, gate) returns weights; see `mixers`
        d_k, d_v: channels of a key and of a value
    """

    def __init__(self, mixer: nn.Module, d_k: int = 8, d_v: int = 32) -> None:
        super().__init__()
        sizes, starts = dict(q=d_k, k=d_k, v=d_v, gate=1), dict(q=1, k=0, v=1, gate=1)
        self.rows = nn.ParameterDict(
            {name: torch.randn(N_KEYS + N_VALUES, d) for name, d in sizes.items()}
        )
        self.rows["q"].data.copy_(self.rows["k"].data)
        self.rows["gate"].data.zero_()
        self.taps = nn.ParameterDict(  # [2, d]: of this token, and of the previous one
            {x: torch.tensor([[now], [1.0 - now]]).repeat(1, sizes[x]) for x, now in starts.items()}
        )
        self.mixer, self.to_logits = mixer, nn.Linear(d_v, N_VALUES)

    def project(self, name: str, tokens: Int[Tensor, "B n"]) -> Float[Tensor, "B n d"]:
        """One of q, k, v and gate, of each token.

        Args:
            name: which
            tokens: [B, n]
        Returns: [B, n, d]
        """
        now = F.embedding(tokens, self.rows[name])  # [B, n, d]
        before = F.pad(now, (0, 0, 1, 0))[:, :-1]
        return self.taps[name][0] * now + self.taps[name][1] * before

    def forward(self, tokens: Int[Tensor, "B n"], asked: int) -> Float[Tensor, "B asked values"]:
        """Logits of the values.

        Args:
            tokens: [B, n], of which the last are questions
            asked: how many
        Returns: [B, asked, N_VALUES]
        """
        q, k, v, gate = (self.project(name, tokens) for name in ("q", "k", "v", "gate"))
        o = self.mixer(q[:, -asked:], k, gate[..., 0]) @ v  # [B, asked, d_v]
        return self.to_logits(F.rms_norm(o, o.shape[-1:]))
