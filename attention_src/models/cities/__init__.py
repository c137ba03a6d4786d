"""How much warmer is a than b? Small layers of heads that learn it, many side by side.

Twelve cities report 16 numbers each, and a question names two of them; the answer is the difference
of their reports. A city has three learned vectors of 64 numbers: for being named first, for being
named second, and for its key. The chapter on heads and its lab train such layers; runs.py
trains them longer, and records what comes out.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor
from torch.optim.lr_scheduler import OneCycleLR

CITIES, REPORT, WIDTH = 12, 16, 64
PAIRS = np.array([(a, b) for a in range(CITIES) for b in range(CITIES) if a != b])
SOLVED = 0.25  # less of the error is left; one head leaves half
RATE = 3e-3

Layers = dict[str, Tensor]  # weights, with the layers on the first axis
Questions = tuple[np.ndarray, Tensor, Tensor]


def questions(rng: np.random.Generator, n: int = 64, *, apart: bool = False) -> Questions:
    """Draw questions.

    Args:
        rng: what draws
        n: how many
        apart: whether both reports are wanted, one beside the other, and not their difference
    Returns:
        ab: which two cities each names [n, 2]
        x: what all cities report [n, 12, 16]
        y: what is wanted [n, 16], or [n, 32] apart
    """
    ab, i = PAIRS[rng.integers(0, len(PAIRS), n)], np.arange(n)
    x = torch.tensor(rng.normal(size=(n, CITIES, REPORT))).float()
    x_a, x_b = x[i, ab[:, 0]], x[i, ab[:, 1]]
    return ab, x, torch.cat([x_a, x_b], dim=-1) if apart else x_a - x_b


def first_weights(
    seed: int, layers: int, d_k: int = WIDTH, d_v: int = WIDTH, n_out: int = REPORT
) -> Layers:
    """Random layers.

    Args:
        seed: of the numbers
        layers: how many layers
        d_k, d_v: how many columns all heads' keys, and values, have together
        n_out: how many numbers are wanted
    Returns: the weights of all
    """
    rng = np.random.default_rng(seed)
    shapes = {name: (CITIES, WIDTH) for name in ("a_first", "b_second", "names")}
    shapes |= {"w_q": (WIDTH, d_k), "w_k": (WIDTH, d_k)}  # all heads side by side
    shapes |= {"w_v": (REPORT, d_v), "w_o": (d_v, n_out)}
    w = {}
    for name, (rows, columns) in shapes.items():
        spread = rows**-0.5 if name.startswith("w_") else 1
        w[name] = torch.tensor(rng.normal(0, spread, (layers, rows, columns))).float()
    return w


def signed(seed: int, layers: int, signs: tuple[int, ...], size: float = 0.5) -> Layers:
    """Random layers, in which each head's W_O is its own W_V turned, times a number.

    Args:
        seed, layers: as for first_weights
        signs: of each head's number
        size: of all heads' numbers
    Returns: the weights of all
    """
    w = first_weights(seed, layers)
    d = WIDTH // len(signs)
    for head, sign in enumerate(signs):
        own = slice(head * d, (head + 1) * d)
        w["w_o"][:, own] = sign * size * w["w_v"][..., own].mT
    return w


def look(w: Layers, n_heads: int, ab: np.ndarray) -> Tensor:
    """Where each head looks.

    Args:
        w: the layers' weights
        n_heads: how many heads each has
        ab: the questions [n, 2]
    Returns: weights [layers, n_heads, n, 12]
    """

    def split(t: Tensor) -> Tensor:
        return t.unflatten(-1, (n_heads, -1)).transpose(-2, -3)

    asked = w["a_first"][:, ab[:, 0]] + w["b_second"][:, ab[:, 1]]
    q, k = split(asked @ w["w_q"]), split(w["names"] @ w["w_k"])
    s = k @ (q / q.shape[-1] ** 0.5).mT  # [layers, n_heads, 12, n]
    return torch.softmax(s, dim=-2).mT  # twelve in a column: faster


def answer(w: Layers, n_heads: int, ab: np.ndarray, x: Tensor) -> Tensor:
    """What each layer answers.

    Args:
        w, n_heads, ab: as for `look`
        x: what all cities report [n, 12, 16]
    Returns: answers [layers, n, 16]
    """
    seen = (look(w, n_heads, ab)[..., None, :] @ x)[..., 0, :]  # p (x W_V) = (p x) W_V
    w_v = w["w_v"].unflatten(-1, (n_heads, -1)).movedim(-2, 1)  # [layers, H, 16, d_v]
    return (seen @ w_v).movedim(1, -2).flatten(-2) @ w["w_o"]


def factors(w: Layers, n_heads: int) -> np.ndarray:
    """With which factor a number of a report arrives at the same number of the answer.

    Args:
        w, n_heads: as for `look`
    Returns: the mean diagonal of W_V W_O of each head [layers, n_heads]
    """
    w_v = w["w_v"].unflatten(-1, (n_heads, -1))
    w_o = w["w_o"].unflatten(-2, (n_heads, -1))
    return (w_v.permute(0, 2, 3, 1) * w_o).sum(dim=(-2, -1)).numpy() / REPORT


@torch.no_grad()
def error_left(w: Layers, n_heads: int, *, apart: bool = False) -> np.ndarray:
    """The error on questions that no layer was trained on, as a share of that of answering 0.

    Args:
        w, n_heads, apart: as for `look` and `questions`
    Returns: shares [layers]
    """
    ab, x, y = questions(np.random.default_rng(1), 2048, apart=apart)
    missed = answer(w, n_heads, ab, x) - y
    return ((missed**2).mean((1, 2)) / (y**2).mean()).numpy()


def train(
    start: Mapping[str, Tensor],
    n_heads: int,
    steps: int = 500,
    *,
    every: int | None = None,
    apart: bool = False,
) -> tuple[Layers, np.ndarray]:
    """Train layers side by side, all on the same questions.

    Args:
        start: the weights to start from; they stay as they are
        n_heads: how many heads each layer has
        steps: how many steps of Adam, with 64 questions each; its rate goes up, then down
        every: after how many steps the error is looked at, otherwise at the end alone
        apart: as for `questions`
    Returns:
        w: the trained weights
        curve: the error left before the first step and after each `every` [looks, layers]
    """
    rng = np.random.default_rng(0)
    w = {name: t.clone().requires_grad_() for name, t in start.items()}
    adam = torch.optim.Adam(w.values(), lr=RATE, fused=True)
    rate = OneCycleLR(adam, RATE, total_steps=steps)
    curve = [error_left(w, n_heads, apart=apart)]
    for step in range(1, steps + 1):
        ab, x, y = questions(rng, apart=apart)
        loss = ((answer(w, n_heads, ab, x) - y) ** 2).mean((1, 2)).sum()
        adam.zero_grad()
        loss.backward()
        adam.step()
        rate.step()
        if step % (every or steps) == 0:
            curve.append(error_left(w, n_heads, apart=apart))
    return {name: t.detach() for name, t in w.items()}, np.array(curve)
