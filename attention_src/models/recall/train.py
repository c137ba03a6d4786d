"""Train a model of recall, and score it."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import OneCycleLR

from attention_src.models.recall.mixers import MIXERS
from attention_src.models.recall.model import Recall
from attention_src.models.recall.task import draw
from attention_src.shapes import check_size

PAIRS = (4, 8, 16, 32, 64)


def train(
    mixer: str | Callable[[], nn.Module],
    seed: int,
    *,
    steps: int = 150,
    twice: bool | None = None,
    d_k: int = 8,
    texts: int = 32,
    rate: float = 0.05,
) -> Recall:
    """Train one model, in about a second. Weights and texts depend on the seed alone.

    Args:
        mixer: a name from MIXERS, or what makes a module for `Recall`
        seed: of weights and texts
        steps: batches of texts
        twice: whether keys are written twice; None = in half of the batches
        d_k: channels of keys and queries; the state has d_k × 32 numbers
        texts: in a batch; each batch has as many pairs as one entry of PAIRS says
        rate: the highest learning rate, of Adam with OneCycleLR
    Returns: the model, trained
    """
    rng = np.random.default_rng(check_size(seed, "seed"))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Recall((MIXERS[mixer] if isinstance(mixer, str) else mixer)(), d_k)
    adam = torch.optim.Adam(model.parameters(), rate)
    schedule = OneCycleLR(adam, rate, total_steps=steps)
    for _ in range(steps):
        again = bool(rng.integers(2)) if twice is None else twice
        tokens, answers = _tensors(draw(rng, texts, int(rng.choice(PAIRS)), twice=again))
        logits = model(tokens, answers.shape[1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), answers.flatten())
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        schedule.step()
    return model


@torch.no_grad()
def accuracy(
    model: Recall, pairs: int, *, twice: bool = False, texts: int = 200, seed: int = 1000
) -> float:
    """The share of questions that a model answers with the right value.

    Args:
        model: trained
        pairs, twice: as for `task.draw`
        texts: how many are drawn, each with up to 16 questions
        seed: of the texts
    Returns: between 0 and 1; guessing has 1 / N_VALUES
    """
    rng = np.random.default_rng(check_size(seed, "seed"))
    tokens, answers = _tensors(draw(rng, texts, pairs, twice=twice))
    return float((model(tokens, answers.shape[1]).argmax(-1) == answers).float().mean())


def _tensors(arrays: tuple[np.ndarray, ...]) -> list[Tensor]:
    return [torch.from_numpy(x) for x in arrays]
