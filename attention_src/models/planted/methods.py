"""Methods of asking which heads and places matter, to be graded on a model whose truth is known.

of places   value_norms, for `contributions` of attention_src.attention.maps
of heads    ablation (by zero, by mean), patching
grade       is what is true among the brightest?
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.errstate import own_errstate
from attention_src.models.heads import Head
from attention_src.models.planted.checks import N_HEADS, N_LAYERS
from attention_src.models.planted.model import PlantedModel, Trace
from attention_src.shapes import as_array, check_impl

HEADS: list[Head] = [(layer, head) for layer in range(N_LAYERS) for head in range(N_HEADS)]

Score = Callable[[Trace], float]  # one number that says how a run went


@own_errstate()
def value_norms(model: PlantedModel, trace: Trace) -> Float[np.ndarray, "L H n"]:
    """The length of what each token would write if a head looked at it alone, ||v_j W_O||.

    Args:
        model: the model
        trace: a run of it
    Returns: [2, 4, n]  what `contributions(trace.weights, …)` needs
    """
    norms = [np.linalg.norm(trace.values[at] @ model.head(*at).w_o, axis=-1) for at in HEADS]
    return np.stack(norms).reshape(trace.values.shape[:3])


@own_errstate()
def mean_outputs(model: PlantedModel, texts: Iterable[Iterable[str]]) -> dict[Head, np.ndarray]:
    """What each head gives on average, over all tokens of all texts.

    Args:
        model: the model
        texts: at least one
    Returns: maps each (layer, head) to its mean o, [32]; part of it is a `patch` for `run`
    Raises:
        ValueError: no texts
    """
    heads = [model.run(text).heads for text in texts]
    if not heads:
        raise ValueError("texts is empty; a mean needs at least one text")
    mean = np.concatenate(heads, axis=2).mean(axis=2)  # [L, H, d_v]
    return {at: mean[at] for at in HEADS}


@own_errstate()
def ablation(
    model: PlantedModel, texts: Iterable[Iterable[str]], score: Score, *, by: str = "zero"
) -> Float[np.ndarray, "texts L H"]:
    """How the score changes when one head at a time is silenced.

    Args:
        model: the model
        texts: at least one
        score: of a Trace, a loss for instance
        by: "zero": its o becomes 0; "mean": its o becomes its mean over all these texts
    Returns: [texts, 2, 4]  score without the head minus score with it
    Raises:
        ValueError: no texts; another `by`
    """
    check_impl(by, ("zero", "mean"), "by")
    texts = [list(text) for text in texts]
    patch = mean_outputs(model, texts)
    change = []
    for text in texts:
        whole = score(model.run(text))
        for at in HEADS:
            run = (
                model.run(text, ablate=[at])
                if by == "zero"
                else model.run(text, patch={at: patch[at]})
            )
            change.append(score(run) - whole)
    return np.array(change).reshape(len(texts), N_LAYERS, N_HEADS)


@own_errstate()
def patching(
    model: PlantedModel, clean: Iterable[str], corrupt: Iterable[str], score: Score
) -> Float[np.ndarray, "L H"]:
    """How much of the clean score comes back when one head of the corrupt run is made clean.

        restored = (s(corrupt, head from clean) - s(corrupt)) / (s(clean) - s(corrupt))

    Args:
        model: the model
        clean, corrupt: two texts of the same length
        score: of a Trace; the two texts should differ in it
    Returns: [2, 4]  0 = nothing comes back, 1 = all
    Raises:
        ValueError: texts of different lengths, or with the same score
    Source: Vig et al. 2020, arXiv:2004.12265; Wang et al. 2022, arXiv:2211.00593.
    """
    good, bad = model.run(clean), model.run(corrupt)
    if len(good.tokens) != len(bad.tokens):
        raise ValueError(
            f"corrupt has {len(bad.tokens)} tokens, clean {len(good.tokens)}; they should be equal"
        )
    low, high = score(bad), score(good)
    if np.isclose(low, high):
        raise ValueError(f"corrupt has clean's score, {high:.3g}: there is nothing to bring back")
    runs = [model.run(bad.tokens, patch={at: good.heads[at]}) for at in HEADS]
    return np.array([score(run) - low for run in runs]).reshape(N_LAYERS, N_HEADS) / (high - low)


@own_errstate()
def grade(scores: Any, truth: Any) -> float:
    """How many of the brightest entries are true: k of them count, where k entries are true.

        grade = |the k highest scores that are true| / k

    Equal scores share their places, so `grade(np.zeros_like(truth), truth)` is chance.

    Args:
        scores: any shape; or a map [n, n], whose row i may look at places 0 … i
        truth: bool, of the same shape. A map's rows are graded one by one and averaged; rows that
            are all true or all false are left out
    Returns: from 0 to 1
    Raises:
        ValueError: shapes differ; truth has nothing to tell apart
    """
    s, t = as_array(scores, "scores").astype(float), as_array(truth, "truth").astype(bool)
    if s.shape != t.shape:
        raise ValueError(f"scores has shape {list(s.shape)}; it should be truth's {list(t.shape)}")
    is_map = s.ndim == 2 and s.shape[0] == s.shape[1]
    rows = [(s[i, : i + 1], t[i, : i + 1]) for i in range(len(s))] if is_map else [(s, t)]
    grades = [_top(a, b) for a, b in rows if b.any() and not b.all()]
    if not grades:
        raise ValueError("truth is all true or all false; it should hold both")
    return sum(grades) / len(grades)


def _top(scores: np.ndarray, truth: np.ndarray) -> float:
    """The expected share of true ones among the k highest, with ties broken at random."""
    k = int(truth.sum())
    last = np.sort(scores.ravel())[-k]  # the lowest score that still has a place
    above, tied = scores > last, scores == last
    chance = (k - above.sum()) / tied.sum()
    return float(((truth & above).sum() + chance * (truth & tied).sum()) / k)
