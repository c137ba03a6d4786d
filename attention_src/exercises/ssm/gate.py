"""The ladder on step sizes: a gate is a step."""

import math
from typing import Any

from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.ladder import Ladder, Reply, Rung

Z, SLOW = 4.0, 0.01


def _softplus(z: float = Z) -> float:
    return math.log1p(math.exp(z))


def _sigmoid(z: float = Z) -> float:
    return 1 / (1 + math.exp(-z))


GATE = Ladder(
    "gate",
    [
        Rung(
            "a",
            "the step for z = 4",
            _softplus,
            [
                Reply(lambda: Z, "Near, but softplus of 4 is a little more than 4."),
                Reply(lambda: math.log10(1 + math.exp(Z)), "That is the logarithm of base 10."),
                Reply(_sigmoid, "That is the sigmoid. Softplus is ln(1 + exp(z))."),
            ],
            hint="ln(1 + exp(4)): np.log1p(np.exp(4)).",
            rtol=1e-3,
        ),
        Rung(
            "b",
            "the share that is kept",
            lambda: 1 - _sigmoid(),
            [
                Reply(_sigmoid, "That is the share that is replaced."),
                Reply(lambda: math.exp(-Z), "You took exp(-4): the step is not 4, but your (a)."),
                Reply(lambda: math.exp(_softplus()), "A is -1: the state fades, it does not grow."),
            ],
            hint="exp(-dt), with your (a) for dt.",
        ),
        Rung(
            "c",
            "what zero-order hold multiplies x with",
            _sigmoid,
            [
                Reply(lambda: 1 - _sigmoid(), "That is what is kept. What is added?"),
                Reply(_softplus, "That is dt B, Mamba's rule. Zero-order hold: (exp(dt A) - 1)/A."),
                Reply(lambda: -_sigmoid(), "Both exp(dt A) - 1 and A are negative: the sign goes."),
            ],
            hint="(exp(-dt) - 1) / (-1) = 1 - your (b).",
        ),
        Rung(
            "d",
            "how many times more Mamba's rule writes",
            lambda: _softplus() / _sigmoid(),
            [
                Reply(lambda: _sigmoid() / _softplus(), "The other way round: Mamba's over yours."),
                Reply(_softplus, "That is what it writes. Divide it by your (c)."),
                Reply(lambda: _softplus() - _sigmoid(), "Divide the two, don't subtract."),
            ],
            hint="dt B is your (a). Divide it by your (c).",
            rtol=1e-3,
        ),
        Rung(
            "e",
            "the share that is kept for z = -4",
            lambda: 1 - _sigmoid(-Z),
            [
                Reply(lambda: _sigmoid(-Z), "That is what is replaced. A small z, a small step."),
                Reply(lambda: _softplus(-Z), "That is the step. What does exp(-dt) give?"),
            ],
            hint="1 - sigmoid(-4) = sigmoid(4).",
        ),
        Rung(
            "f",
            "tokens until half is left",
            lambda: math.log(2) / SLOW,
            [
                Reply(lambda: 1 / SLOW, "After 100 tokens exp(-1) is left, 37 %."),
                Reply(lambda: 0.5 / SLOW, "It does not fade along a line: exp(-0.5) is 61 %."),
                Reply(lambda: math.log10(2) / SLOW, "The natural logarithm: ln 2."),
            ],
            hint="exp(-0.01 t) = 1/2: take the logarithm.",
            rtol=1.1e-2,  # 69 or 70
        ),
    ],
)


def check_gate_ladder(
    a: Any = ..., b: Any = ..., c: Any = ..., d: Any = ..., e: Any = ..., f: Any = ...
) -> Result:
    """Check the rungs of "A gate is a step".

    Args:
        a, b, c, d, e, f: the learner's numbers; `...` = not answered yet
    Returns: status and message, as printed
    """
    return GATE.run(a=a, b=b, c=c, d=d, e=e, f=f)
