"""Train a copyist, let it write, and examine it."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import OneCycleLR

from attention_src.models.copyist.model import LETTERS, Copyist

TASKS: dict[str, Callable[[Tensor], tuple[Tensor, Tensor]]] = {  # what is read, what is written
    "copy": lambda word: (word, word),
    "backwards": lambda word: (word.flip(1), word),
    "exchanged": lambda word: (word[:, _neighbours(word.shape[1])], word),
    "sort": lambda word: (word, word.sort(dim=1).values),
}


def train(
    task: str,
    attends: bool,
    seed: int,
    *,
    steps: int = 700,
    rate: float = 0.01,
    width: int | None = None,
    blank: bool = False,
) -> Copyist:
    """Train one copyist on random strings of 2 to 8 letters; 700 steps take some seconds.

    Args:
        task: "copy"; "backwards", which reads the word from its end, or "exchanged", the second
            letter before the first, the fourth before the third and so on; "sort"
        attends, width, blank: as for `Copyist`
        seed: of parameters and words
        steps: batches of 64 words, all of one length
        rate: the highest learning rate, of Adam with OneCycleLR
    Returns: the network, trained
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Copyist(attends, width, blank)
        adam = torch.optim.Adam(model.parameters(), lr=rate)
        plan = OneCycleLR(adam, rate, total_steps=steps, pct_start=0.1)
        for _ in range(steps):
            n = int(torch.randint(2, 9, ()))
            read, target = TASKS[task](torch.randint(26, (64, n)))
            guesses, _ = model(read, _written_before(target))
            loss = nn.functional.cross_entropy(guesses.flatten(0, 1), target.flatten())
            adam.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            adam.step()
            plan.step()
    return model


@torch.no_grad()
def copy(model: Copyist, word: str) -> str:
    """Let it write, letter by letter, and feed back what it has written.

    Args:
        model: trained on the task "copy"
        word: of the letters a to z
    Returns: as many letters
    """
    text = "^"
    while len(text) <= len(word):
        guesses, _ = model(_code(word), _code(text))
        text += LETTERS[int(guesses[0, -1].argmax())]
    return text[1:]


@torch.no_grad()
def looks(model: Copyist, word: str) -> np.ndarray:
    """Where it looks while it copies a word.

    Args:
        model, word: as for `copy`
    Returns: weights [n, n], a row for each letter that it writes
    """
    _, p = model(_code(word), _code("^" + copy(model, word)[:-1]))
    weights: np.ndarray = p[0].numpy()
    return weights


@torch.no_grad()
def remembers(model: Copyist, word: str) -> np.ndarray:
    """What the reader hands to the writer.

    Args:
        model, word: as for `copy`
    Returns: its last state [d], numbers between -1 and 1
    """
    _, last = model.encoder(model.vector_of(_code(word)))
    state: np.ndarray = last[0, 0].numpy()
    return state


@torch.no_grad()
def exam(model: Copyist, task: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """500 random words of n letters, the same for every copyist.

    The letters before are given. Words that are right as a whole are the same as if the model wrote
    alone: until it errs, it feeds itself these.

    Args:
        model: trained
        task: a name from TASKS
        n: letters
    Returns:
        right: is each letter right? [500, n]
        weights: [500, n, n]
    """
    draw = torch.Generator().manual_seed(1000 + n)
    read, target = TASKS[task](torch.randint(26, (500, n), generator=draw))
    guesses, p = model(read, _written_before(target))
    return (guesses.argmax(dim=-1) == target).numpy(), p.numpy()


def _neighbours(n: int) -> list[int]:
    """1, 0, 3, 2 and so on: of an odd number of places, the last stays."""
    return [min(place ^ 1, n - 1) for place in range(n)]


def _written_before(target: Tensor) -> Tensor:
    begin = torch.full_like(target[:, :1], LETTERS.index("^"))
    return torch.cat([begin, target[:, :-1]], dim=1)


def _code(text: str) -> Tensor:
    return torch.tensor([[LETTERS.index(letter) for letter in text]])
