"""The models that learn to use a phone book, several seeds side by side, in float64."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

NAMES = 32  # and as many numbers
WIDTH = 64  # of the vectors of names and numbers
ENTRIES = 16  # of a book
BOOKS = 16  # in a lesson


@dataclass(frozen=True)
class Kind:
    """What a model is.

    Args:
        d_k: the width of queries and keys
        power: the scores are divided by d_k to this power: 0 = no divisor
        grow: W_Q starts so many times as large
        norm: whether queries and keys are brought to mean square 1, without a gain
    """

    d_k: int = 256
    power: float = 0.5
    grow: float = 1.0
    norm: bool = False


def start(kind: Kind, seeds: Sequence[int]) -> list[Tensor]:
    """Random weights, the matrices' of variance 1/64.

    Args:
        kind: of the model
        seeds: one for each model
    Returns: vectors of names and of numbers [S, 32, 64], W_Q and W_K [S, 64, d_k],
        W_V [S, 64, 64], and the read-out [S, 64, 32]
    """
    shapes = [(WIDTH, kind.d_k), (WIDTH, kind.d_k), (WIDTH, WIDTH), (WIDTH, NAMES)]
    each = []
    for seed in seeds:
        draw = torch.Generator().manual_seed(seed)
        new = lambda *shape: torch.randn(*shape, generator=draw, dtype=torch.float64)  # noqa: B023, E731
        vectors = [new(NAMES, WIDTH), new(NAMES, WIDTH)]
        each.append(vectors + [new(*shape) / WIDTH**0.5 for shape in shapes])
    w = [torch.stack(tables) for tables in zip(*each, strict=True)]
    w[2] = kind.grow * w[2]
    return w


def new_books(draw: torch.Generator) -> tuple[Tensor, Tensor]:
    """The books of a lesson.

    Args:
        draw: what draws
    Returns: names and numbers [books, entries]; no name twice in a book
    """
    names = torch.rand(BOOKS, NAMES, generator=draw).argsort(-1)[:, :ENTRIES]
    return names, torch.randint(NAMES, (BOOKS, ENTRIES), generator=draw)


def answer(
    w: list[Tensor], names: Tensor, numbers: Tensor, kind: Kind
) -> tuple[Tensor, Tensor, Tensor]:
    """Ask for every name of every book.

    Args:
        w: as `start` gives them, for S seeds
        names, numbers: the books [S, books, entries]
        kind: of the models
    Returns:
        scores: of each question with each entry [S, books, entries, entries]
        weights: the same after softmax
        logits: for each question one for each number [S, books, entries, 32]
    """
    name, number, w_q, w_k, w_v, read = w
    x = F.layer_norm(_pick(name, names) + _pick(number, numbers), (WIDTH,))
    y = F.layer_norm(name, (WIDTH,))  # all 32 questions
    scale = kind.d_k**-kind.power
    if kind.norm:
        q = _normed(y @ w_q)
        k = _normed((x.flatten(1, 2) @ w_k).unflatten(1, x.shape[1:3]))
        s = _pick(scale * q, names) @ k.mT
    else:  # q kᵀ, the small products first: the same, in less time
        s = _pick(y @ (scale * w_q @ w_k.mT), names) @ x.mT
    p = torch.softmax(s, dim=-1)
    v = x @ (w_v @ read)[:, None]
    return s, p, p @ v


def _pick(table: Tensor, which: Tensor) -> Tensor:
    """Rows of each seed's table."""
    first_row = table.shape[1] * torch.arange(len(table))
    return F.embedding(which + first_row[:, None, None], table.flatten(0, 1))


def _normed(x: Tensor) -> Tensor:
    return x / (x.square().mean(dim=-1, keepdim=True) + 1e-6).sqrt()


def train(
    kind: Kind,
    rate: float,
    lessons: int,
    *,
    plain: bool = False,
    seeds: Sequence[int] = range(5),
) -> Tensor:
    """Train one model for each seed.

    Args:
        kind: of the models
        rate: the highest learning rate: it rises for 20 lessons, and then falls to 0
        lessons: how many
        plain: True = plain gradient steps; False = Adam
        seeds: of weights and books
    Returns: of each seed and lesson the mean loss, the entropy of the weights in bits, and the
        weight on the right entry [S, lessons, 3]
    """
    w = [table.requires_grad_() for table in start(kind, seeds)]
    steps = torch.optim.SGD(w, lr=rate) if plain else torch.optim.Adam(w, lr=rate, fused=True)
    draws = [torch.Generator().manual_seed(100 + seed) for seed in seeds]
    history = []
    for t in range(lessons):
        steps.param_groups[0]["lr"] = rate * min((t + 1) / 20, (lessons - t) / (lessons - 20))
        each = [new_books(draw) for draw in draws]
        names, numbers = (torch.stack(one) for one in zip(*each, strict=True))
        _, p, logits = answer(w, names, numbers, kind)
        loss = F.cross_entropy(logits.movedim(-1, 1), numbers, reduction="none")
        bits = -torch.xlogy(p, p).sum(-1) / torch.log(torch.tensor(2.0, dtype=p.dtype))
        own = p.diagonal(dim1=2, dim2=3)
        history.append(torch.stack([loss, bits, own]).detach().mean((2, 3)))
        steps.zero_grad()
        loss.mean((1, 2)).sum().backward()
        steps.step()
    return torch.stack(history).movedim(2, 0)


def at_the_end(history: Tensor) -> list[float]:
    """The mean loss of the last five lessons.

    Args:
        history: as `train` gives it
    Returns: for each seed a number
    """
    found: list[float] = history[:, -5:, 0].mean(dim=1).tolist()
    return found
