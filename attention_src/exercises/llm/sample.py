"""The check of `sample`: temperature, top-p and one draw."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.checking import Case, Check, Mistake, Result
from attention_src.exercises.llm.samplers import below, sampler, softmax

Array = np.ndarray
MARGIN = 1e-6  # no running sum in a case lies so near to top_p or to u
_right = sampler()


def _sample(logits: Array, temperature: float, top_p: float, u: float) -> int:
    return int(_right(logits, temperature, top_p, u))


def _clear(logits: Array, temperature: float, top_p: float, u: float) -> bool:
    """Whether rounding cannot decide which token is right."""
    if temperature == 0:
        return True
    p = -np.sort(-softmax(np.asarray(logits, dtype=np.float64) / temperature))
    total = np.cumsum(p)
    stay = len(p) if top_p >= 1 else int((total[:-1] < top_p).sum()) + 1
    near_top = top_p < 1 and np.abs(total - top_p).min() < MARGIN
    near_u = np.abs(total[:stay] / total[stay - 1] - u)[:-1].min(initial=1.0) < MARGIN
    return not (near_top or near_u)


def _draw(rng: np.random.Generator) -> tuple:
    n = int(rng.choice([1, 2, 3, 5, 8, 40]))
    spread = float(rng.choice([0.5, 2.0, 10.0, 1e3]))
    while True:
        logits = (spread * rng.normal(size=n)).round(2)
        if rng.random() < 0.3:
            logits = logits.round(0)  # with ties
        if rng.random() < 0.2:
            logits[rng.permutation(n)[: n // 2]] = -np.inf
        temperature = float(rng.choice([0.0, 0.3, 0.7, 1.0, 2.0, 10.0]))
        top_p = float(rng.choice([0.1, 0.5, 0.77, 0.9, 1.0]))
        args = logits, temperature, top_p, round(float(rng.random()), 6)
        if _clear(*args):
            return args


def _whole(seed: int, temperature: float, top_p: float, u: float, more: float = 14.0) -> Case:
    """A vocabulary of SmolLM2's size: twenty tokens get more, nobody expects the rest."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=49152) * 2
    logits[rng.integers(0, 49152, 20)] += more
    none = "" if more else " none stands out,"
    return Case(f"49,152 tokens,{none} top_p {top_p}", (logits, temperature, top_p, u))


FOUR = np.log([0.1, 0.4, 0.3, 0.2])
THREE = np.repeat([0.0, 1.0, 2.0, 1.0], 25)
TWICE = np.array([1.0, 3.0, 0.0, 3.0, 2.0])

SAMPLE = Check(
    "sample",
    reference=_sample,
    cases=[
        Case("p = 0.1, 0.4, 0.3, 0.2, all stay", (FOUR, 1.0, 1.0, 0.5)),
        Case("the same, u near 1", (FOUR, 1.0, 1.0, 0.95)),
        Case("the same, top_p 0.6: two tokens stay", (FOUR, 1.0, 0.6, 0.62)),
        Case("the same, top_p 0.8: three stay", (FOUR, 1.0, 0.8, 0.8)),
        Case("the same, top_p 0.05: one stays", (FOUR, 1.0, 0.05, 0.999)),
        Case("the same, temperature 0.5", (FOUR, 0.5, 1.0, 0.6)),
        Case("the same, temperature 0.5 and top_p 0.8", (FOUR, 0.5, 0.8, 0.9)),
        Case("the same, temperature 2 and top_p 0.6", (FOUR, 2.0, 0.6, 0.9)),
        Case("temperature 0", (FOUR, 0.0, 1.0, 0.99)),
        Case("temperature 0, two largest", (TWICE, 0.0, 1.0, 0.9)),
        Case("temperature 0, one token forbidden", (np.array([-np.inf, -5.0]), 0.0, 1.0, 0.5)),
        Case("temperature 0, 100 tokens of three logits", (THREE, 0.0, 1.0, 0.5)),
        Case("two equal logits, a small u", (TWICE, 1.0, 1.0, 0.1)),
        Case("two equal logits, top_p takes one of them", (TWICE, 1.0, 0.3, 0.9)),
        Case("u = 0", (FOUR, 1.0, 1.0, 0.0)),
        Case("one token", (np.array([-3.0]), 1.0, 0.9, 0.7)),
        Case("logits in the thousands", (np.array([9000.0, 9001.0, 8999.5]), 1.0, 0.95, 0.8)),
        Case("a temperature of a thousandth", (np.array([40.0, 41.0, 40.9]), 1e-3, 1.0, 0.4)),
        Case("forbidden tokens, -inf", (np.array([-np.inf, 1.0, -np.inf, 2.0]), 1.0, 1.0, 0.9)),
        Case("one token allowed", (np.array([-np.inf, 1.0, -np.inf]), 0.7, 1.0, 0.9)),
        Case("logits of 20,000", (np.array([20000.0, 20001.0]), 1.0, 1.0, 0.9)),
        Case("the same, a small u", (np.array([20000.0, 20001.0]), 1.0, 1.0, 0.2)),
        Case("forbidden, or -2,000,000,000", (np.array([-np.inf, -2e9]), 1.0, 1.0, 0.2)),
        Case("top_p 0.955", (np.log([0.5, 0.46, 0.04]), 1.0, 0.955, 0.99)),
        Case("a thousandth, near logits", (np.array([0.0, 0.001, 0.0004]), 1e-3, 1.0, 0.9)),
        Case("a thousandth, less near", (np.array([0.0, 0.003]), 1e-3, 1.0, 0.93)),
        Case("a temperature of a hundredth", (np.array([1.0, 1.005, 1.002]), 0.01, 1.0, 0.9)),
        Case("49 equal tokens, top_p 1", (np.zeros(49), 1.0, 1.0, 0.985)),
        Case("100 tokens of three logits", (THREE, 1.0, 1.0, 0.513)),
        Case("300 tokens, of five logits", (np.arange(300) * 7 % 5 / 2.0, 1.0, 0.9, 0.3001)),
        _whole(0, 1.0, 0.9, 0.5),
        _whole(3, 1.0, 1.0, 0.50437, more=0.0),
    ],
    draw=_draw,
    drawn=120,
    mistakes=[
        Mistake(
            "multiplied",
            sampler(scaled=lambda x, temperature: x * temperature),
            "You multiply by the temperature. A low one must make large logits stand out: divide.",
        ),
        Mistake(
            "no temperature",
            sampler(scaled=lambda x, temperature: x),
            "Your answer does not depend on the temperature, except at 0.",
        ),
        Mistake(
            "not renormalised",
            sampler(renormalised=False),
            "The tokens that stay have a sum below 1, and u goes up to 1: divide by their sum.",
        ),
        Mistake(
            "without the one that reaches top_p",
            sampler(kept=below),
            "You keep the tokens whose running sum is at most top_p. The sum must *reach* top_p: "
            "the token that gets it there stays.",
        ),
        Mistake(
            "one too many",
            sampler(kept=lambda p, top_p: int((np.cumsum(p) < top_p).sum()) + 2),
            "You keep one token more than are needed to reach top_p.",
        ),
        Mistake(
            "no top_p",
            sampler(kept=lambda p, top_p: len(p)),
            "Your answer does not depend on top_p.",
        ),
        Mistake(
            "unsorted",
            sampler(order=lambda p: np.arange(len(p))),
            "You go through the tokens by id. The most probable comes first.",
        ),
        Mistake(
            "rarest first",
            sampler(order=lambda p: np.argsort(p, kind="stable")),
            "You sort upwards: the least probable token comes first.",
        ),
        Mistake(
            "higher id first",
            sampler(order=lambda p: np.argsort(p, kind="stable")[::-1]),
            "Of two equally probable tokens you take the higher id first. argsort(...)[::-1] "
            "turns ties round as well: argsort(-p, kind='stable').",
        ),
        Mistake(
            "nearest",
            sampler(drawn=lambda total, u: np.abs(total - u).argmin()),
            "You take the running sum that lies nearest to u. Take the first that exceeds u.",
        ),
        Mistake(
            "turned round",
            sampler(drawn=lambda total, u: (total <= 1 - u).sum()),
            "You use 1 - u for u: the same distribution, but not the same token.",
        ),
        Mistake(
            "no shift",
            sampler(weights=lambda x: np.exp(x) / np.exp(x).sum()),
            "exp overflows above 709. Subtract the largest logit first: p does not change.",
        ),
        Mistake(
            "top_p before temperature",
            sampler(nucleus=lambda logits, temperature: softmax(logits)),
            "You look for the tokens that stay before the temperature is applied.",
        ),
        Mistake(
            "place, not token",
            lambda logits, temperature, top_p, u: _place(logits, temperature, top_p, u),
            "You return the place in the sorted order. Which token stands there?",
        ),
        Mistake(
            "place, not token, but for temperature 0",
            lambda logits, temperature, top_p, u: _place(
                logits, temperature, top_p, u, greedy=True
            ),
            "You return the place in the sorted order. Which token stands there?",
        ),
        Mistake(
            "always the likeliest",
            lambda logits, temperature, top_p, u: int(np.argmax(logits)),
            "You always take the most probable token. That is temperature 0.",
        ),
    ],
    hints=[
        "order = np.argsort(-p, kind='stable') holds ids, and p[order] falls.",
        "How many running sums are still below top_p? One token more than that stays.",
        "Among those, how many running sums, divided by the last, are at most u? That is the "
        "place in the order.",
    ],
)


def _place(logits: Array, temperature: float, top_p: float, u: float, greedy: bool = False) -> int:
    if temperature == 0:
        return int(np.argmax(logits)) if greedy else 0
    p = np.asarray(logits, dtype=np.float64) / temperature
    return _sample(-np.sort(-p), 1.0, top_p, u)


def check_sample(f: Any) -> Result:
    """Check f(logits [n_vocabulary], temperature, top_p, u) -> the id of a token.

    Args:
        f: the learner's function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return SAMPLE.run(f)
