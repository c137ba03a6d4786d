"""The ladder on frequencies and wavelengths."""

import math
from typing import Any

from attention_src.exercises.engine.ladder import Ladder, Reply, Rung
from attention_src.exercises.engine.messages import Result

D, PAIRS = 64, 32
BASE, FAR_BASE, LENGTH, FACTOR = 10_000.0, 100_000.0, 2048, 4.0


def wavelength(i: float, base: float) -> float:
    """Positions that pair i needs for a full turn.

    Args:
        i: the pair, from 0
        base: of the frequencies
    Returns: 2 pi / theta_i, for d = 64
    """
    return 2 * math.pi * base ** (i / PAIRS)


def _unturned(base: float, length: int = LENGTH) -> int:
    return int(sum(wavelength(i, base) > length for i in range(PAIRS)))


def _base_for(length: float) -> float:
    """The base whose slowest pair turns once in `length` positions."""
    return float((length / (2 * math.pi)) ** (PAIRS / (PAIRS - 1)))


WAVELENGTHS = Ladder(
    "wavelengths",
    [
        Rung(
            "a",
            "positions for a full turn of the fastest pair",
            lambda: wavelength(0, BASE),
            replies=[
                Reply(lambda: 1, "It turns by 1 radian a step. A full turn has 2 pi of them."),
                Reply(lambda: 360, "The angle is in radians."),
            ],
            hint="theta_0 = base ** 0.",
        ),
        Rung(
            "b",
            "positions for a full turn of the slowest pair",
            lambda: wavelength(PAIRS - 1, BASE),
            replies=[
                Reply(
                    lambda: wavelength(PAIRS, BASE),
                    "That is 2 pi base. The last pair is i = 31, and 2 i / d is a little below 1.",
                ),
                Reply(lambda: BASE ** (31 / 32), "That is 1 / theta. A turn has 2 pi radians."),
                Reply(lambda: wavelength(31 / 2, BASE), "The exponent is 2 i / d, not i / d."),
            ],
            hint="2 pi / theta_31.",
        ),
        Rung(
            "c",
            "pairs of SmolLM2 that do not complete a turn in 2,048 positions",
            lambda: _unturned(FAR_BASE),
            replies=[
                Reply(lambda: PAIRS - _unturned(FAR_BASE), "So many do complete a turn."),
                Reply(lambda: _unturned(BASE), "That is for base 10,000. SmolLM2 has 100,000."),
                Reply(lambda: _unturned(FAR_BASE, 8192), "That is for 8,192 positions."),
            ],
            hint="For which i is 2 pi 100000 ** (i / 32) above 2048?",
            rtol=1e-9,
        ),
        Rung(
            "d",
            "the angle between neighbours of the fastest pair after interpolation by 4",
            lambda: 1 / FACTOR,
            replies=[
                Reply(lambda: FACTOR, "Interpolation slows down."),
                Reply(lambda: 1, "Interpolation slows all pairs, the fastest too."),
            ],
            hint="theta' = theta / factor, and theta_0 = 1.",
        ),
        Rung(
            "e",
            "NTK's new base for 4 times the length",
            lambda: FAR_BASE * FACTOR ** (D / (D - 2)),
            replies=[
                Reply(lambda: FAR_BASE * FACTOR, "Close, but then the slowest pair falls short."),
                Reply(lambda: BASE * FACTOR ** (D / (D - 2)), "SmolLM2's base is 100,000."),
            ],
            hint="Solve b' ** (-62/64) = b ** (-62/64) / 4 for b'.",
        ),
        Rung(
            "f",
            "the base whose slowest pair needs 131,072 positions for a turn",
            lambda: _base_for(131_072),
            replies=[
                Reply(lambda: 131_072 / (2 * math.pi), "Nearly. The slowest exponent is 31/32."),
                Reply(lambda: 131_072, "A turn has 2 pi radians, and the exponent is 31/32."),
            ],
            hint="Solve 2 pi b ** (31/32) = 131072 for b.",
        ),
    ],
)


def check_wavelengths(
    a: Any = ..., b: Any = ..., c: Any = ..., d: Any = ..., e: Any = ..., f: Any = ...
) -> Result:
    """Check the rungs of the exercise "How slow is slow?".

    Args:
        a, b: positions
        c: a number of pairs
        d: an angle in radians
        e, f: bases
    Returns: status and message, as printed
    """
    return WAVELENGTHS.run(a=a, b=b, c=c, d=d, e=e, f=f)
