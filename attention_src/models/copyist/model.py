"""A network that reads a word into vectors, and one that writes it from them."""

import torch
from torch import Tensor, nn

LETTERS = "abcdefghijklmnopqrstuvwxyz^"  # ^ means "begin"


class Copyist(nn.Module):
    """An encoder and a decoder, in float64.

    Args:
        attends: False = each step of the writer gets the reader's last state; True = a weighted
            average of all of them, with additive scores
        width: of the states; None = 48 with attention and 52 without, so that both have as many
            parameters, up to one per cent
        blank: True = the writer starts from zeros; False = from the reader's last state
    """

    def __init__(self, attends: bool, width: int | None = None, blank: bool = False) -> None:
        super().__init__()
        d, real = width or (48 if attends else 52), torch.float64
        self.vector_of = nn.Embedding(len(LETTERS), 32, dtype=real)
        self.encoder = nn.GRU(32, d, batch_first=True, dtype=real)
        self.decoder = nn.GRU(32, d, batch_first=True, dtype=real)
        self.answer = nn.Linear(2 * d, 26, dtype=real)
        self.attends, self.blank = attends, blank
        if attends:
            self.w_q = nn.Linear(d, 32, bias=False, dtype=real)
            self.w_k = nn.Linear(d, 32, dtype=real)
            self.v = nn.Linear(32, 1, bias=False, dtype=real)

    def weights(self, q: Tensor, h: Tensor) -> Tensor:
        """Where each step of the writer looks.

        Args:
            q: the writer's states [batch, m, d]
            h: the reader's states [batch, n, d]
        Returns: weights [batch, m, n]; without attention, 1 on the last state
        """
        if self.attends:
            both = self.w_q(q)[:, :, None] + self.w_k(h)[:, None]
            scores: Tensor = self.v(torch.tanh(both))[..., 0]
            return scores.softmax(dim=-1)
        p = q.new_zeros(*q.shape[:2], h.shape[1])
        p[..., -1] = 1
        return p

    def forward(self, word: Tensor, written: Tensor) -> tuple[Tensor, Tensor]:
        """Guess each letter from those written before it.

        Args:
            word: the letters to read [batch, n]
            written: "begin", and the letters before each guess [batch, m]
        Returns:
            guesses: scores of the letters [batch, m, 26]
            weights: [batch, m, n]
        """
        h, last = self.encoder(self.vector_of(word))
        first = torch.zeros_like(last) if self.blank else last
        q, _ = self.decoder(self.vector_of(written), first)
        p = self.weights(q, h)
        return self.answer(torch.cat([q, p @ h], dim=-1)), p
