"""The check of perplexity, over several texts of unequal length."""

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result

Array = np.ndarray


def _log_p(logits: Array) -> Array:
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


def _losses(logits: Array, ids: Array, ahead: int = 1) -> Array:
    """[B, n - ahead]  the loss of each token that the logits `ahead` places before it expect."""
    rows = _log_p(np.asarray(logits, dtype=np.float64))[:, : ids.shape[1] - ahead]
    return -np.take_along_axis(rows, ids[:, ahead:, None], axis=-1)[..., 0]


def pooled(
    *, ahead: int = 1, mean: Callable[[Array, Array], Any] | None = None, shift: int = 1
) -> Callable:
    """Make a function that computes a perplexity; the defaults make a right one.

    Args:
        ahead: how far the logits look
        mean: from losses and counted, both [B, n - ahead], to the exponent; None = over all
        shift: counted[:, shift:] belongs to the losses
    Returns: f(logits, ids, counted) -> float
    """

    def perplexity(logits: Array, ids: Array, counted: Array) -> float:
        loss = _losses(logits, ids, ahead)
        chosen = counted[:, shift:][:, : loss.shape[1]]
        return float(np.exp(loss[chosen].mean() if mean is None else mean(loss, chosen)))

    return perplexity


def _perplexity(logits: Array, ids: Array, counted: Array) -> float:
    return float(pooled()(logits, ids, counted))


def _of_means(loss: Array, counted: Array) -> float:
    rows = [row[chosen].mean() for row, chosen in zip(loss, counted, strict=True) if chosen.any()]
    return float(np.mean(rows))


def _mean_of_exps(logits: Array, ids: Array, counted: Array) -> float:
    return float(np.exp(_losses(logits, ids)[counted[:, 1:]]).mean())


def _inverse_mean(logits: Array, ids: Array, counted: Array) -> float:
    return float(1 / np.exp(-_losses(logits, ids)[counted[:, 1:]]).mean())


def _unshifted(logits: Array, ids: Array, counted: Array) -> float:
    loss = -np.take_along_axis(_log_p(logits), ids[..., None], axis=-1)[..., 0]
    return float(np.exp(loss[:, 1:][counted[:, 1:]].mean()))


def _case(name: str, seed: int, sizes: tuple[int, int, int], lengths: Any, spread: float) -> Case:
    """A named case. sizes: B, n, n_vocabulary; lengths: (first, end) of what each text counts."""
    rng = np.random.default_rng(seed)
    B, n, n_vocabulary = sizes
    counted = np.zeros((B, n), dtype=bool)
    for row, (first, end) in zip(counted, lengths, strict=True):
        row[first:end] = True
    logits = (spread * rng.normal(size=(B, n, n_vocabulary))).round(2)
    return Case(name, (logits, rng.integers(0, n_vocabulary, (B, n)), counted))


def _draw(rng: np.random.Generator) -> tuple:
    B, n, n_vocabulary = int(rng.integers(1, 4)), int(rng.integers(2, 7)), int(rng.integers(2, 6))
    counted = rng.random((B, n)) < rng.choice([0.4, 0.7, 1.0])
    counted[rng.integers(0, B), rng.integers(1, n)] = True
    logits = rng.normal(size=(B, n, n_vocabulary)) * rng.choice([0.5, 2.0, 8.0])
    if rng.random() < 0.3:
        logits += rng.choice([-5000.0, 5000.0])
    return logits, rng.integers(0, n_vocabulary, (B, n)), counted


PERPLEXITY = Check(
    "perplexity",
    reference=_perplexity,
    cases=[
        _case("one text of three tokens", 0, (1, 3, 4), [(1, 3)], 1.0),
        _case("one text, the first two are context", 1, (1, 5, 3), [(2, 5)], 1.0),
        _case("counted[0, 0] is True", 2, (1, 4, 3), [(0, 4)], 1.0),
        _case("two texts, one padded", 3, (2, 5, 4), [(1, 5), (1, 3)], 1.0),
        _case("two texts, one with a long context", 4, (2, 6, 4), [(1, 6), (5, 6)], 2.0),
        _case("three texts, one of them not counted", 5, (3, 4, 5), [(1, 4), (0, 0), (2, 3)], 2.0),
        _case("logits in the hundreds", 6, (2, 4, 3), [(1, 4), (1, 3)], 40.0),
        Case(
            "a token of probability e^-800 that is not counted",
            (
                np.array([[[0.0, 800.0], [1.0, 0.5], [0.0, 0.0]]]),
                np.array([[0, 0, 1]]),
                np.array([[True, False, True]]),
            ),
        ),
        Case(
            "a token of probability e^-800 that is counted",
            (
                np.array([[[0.0, 800.0], [1.0, 0.5], [0.0, 0.0]]]),
                np.array([[0, 0, 1]]),
                np.array([[False, True, True]]),
            ),
        ),
        Case(
            "a token of probability 1, to rounding",
            (
                np.array([[[800.0, 0.0], [0.0, 0.0], [0.0, 0.0]]]),
                np.array([[0, 0, 0]]),
                np.array([[False, True, True]]),
            ),
        ),
        Case(
            "logits near 20,000",
            (np.array([[[20000.0, 20002.0]] * 2]), np.array([[0, 0]]), np.array([[True, True]])),
        ),
        Case(
            "logits near 5,000",
            (
                np.array([[[5000.0, 5001.0, 4990.0], [5003.0, 5000.5, 5001.0]]]),
                np.array([[2, 0]]),
                np.array([[False, True]]),
            ),
        ),
    ],
    draw=_draw,
    mistakes=[
        Mistake(
            "no shift",
            _unshifted,
            "You compare logits[:, t] with ids[:, t]. They speak of the token *after* t.",
        ),
        Mistake(
            "mean of means",
            pooled(mean=_of_means),
            "You average each text first, then the texts: a text with one counted token weighs "
            "as much as one with five. Average over all counted tokens.",
        ),
        Mistake(
            "all tokens",
            pooled(mean=lambda loss, counted: loss.mean()),
            "You count every token, padding and context too.",
        ),
        Mistake(
            "divided by all",
            pooled(mean=lambda loss, counted: (loss * counted).sum() / loss.size),
            "Your sum is right. Divide it by the number of tokens that are counted.",
        ),
        Mistake(
            "the wrong end of counted",
            pooled(shift=0),
            "counted[:, t] says whether token t is counted, not whether what follows it is.",
        ),
        Mistake(
            "mean of exponentials",
            _mean_of_exps,
            "You exponentiate, then average. Average the losses first.",
        ),
        Mistake(
            "mean of probabilities",
            _inverse_mean,
            "You average probabilities. Average their logarithms.",
        ),
        Mistake(
            "not exponentiated",
            lambda *x: np.log(_perplexity(*x)),
            "That is the mean loss. Perplexity is e to the power of it.",
        ),
        Mistake(
            "base 2",
            lambda *x: 2.0 ** np.log(_perplexity(*x)),
            "Losses in nats go with e: np.exp, not 2 to the power.",
        ),
        Mistake(
            "per text",
            lambda *x: np.exp((_losses(*x[:2]) * x[2][:, 1:]).sum() / len(x[1])),
            "You divide by the number of texts. Divide by the number of counted tokens.",
        ),
    ],
    hints=[
        "logits[:, :-1] speak of ids[:, 1:]; so does counted[:, 1:].",
        "log p = logits - log-sum-exp, with the row's maximum taken out first.",
        "loss[counted[:, 1:]].mean() is one mean over all texts.",
    ],
)


def check_perplexity(f: Any) -> Result:
    """Check f(logits [B, n, n_vocabulary], ids [B, n], counted [B, n]) -> perplexity.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return PERPLEXITY.run(f)
