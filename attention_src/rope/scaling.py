"""Frequencies of rotary positions, and ways to scale them to longer contexts. NumPy only.

A model trained on positions below L has not seen the angles beyond. Each class here slows down the
rotation, so that factor · L positions use angles that the model knows:

    PositionInterpolation    every pair by the same factor
    NTK                      the slowest pair by the factor, the fastest not at all
    YaRN                     pairs that turn less than once in L by the factor, those that turn
                             often not at all; and cos and sin grow a little
    Llama3                   as YaRN, with another ramp in between, and cos and sin as they are
    Frequencies              as given, pair by pair
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.rope.checks import check_width
from attention_src.rope.scaling_by_parts import Llama3, Scaling, YaRN
from attention_src.shapes import check_number

__all__ = [
    "NTK",
    "Frequencies",
    "Llama3",
    "PositionInterpolation",
    "Scaling",
    "YaRN",
    "amplitude",
    "frequencies",
]


def frequencies(
    d: int, *, base: float = 10000.0, scaling: Scaling | None = None
) -> Float[np.ndarray, "n_pairs"]:
    """The angle by which each pair of components rotates from one position to the next.

        theta_i = base ** (-2 i / d),  i = 0 ... d/2 - 1, then scaled

    Args:
        d: width of a query or key, even
        base: the slowest pair needs almost 2 pi base positions for one full turn
        scaling: None, or a PositionInterpolation, NTK, YaRN, Llama3 or Frequencies
    Returns: float64 [d/2]  theta in radians per position, the fastest pair first
    Raises:
        ValueError: d is odd or below 2; a base that is not above 1; another kind of scaling, or
            Frequencies of another width
    Cost: d/2 powers.
    Source: Su et al. 2021, arXiv:2104.09864, section 3.2.2, which counts i from 1.
    """
    d, base = check_width(d), check_number(base, "base", above=1)
    theta = base ** (-2 * np.arange(d // 2) / d)
    checked = _check_scaling(scaling)
    return theta if checked is None else checked.scaled(theta, base)


def amplitude(scaling: Scaling | None = None) -> float:
    """The factor on cos and sin: 1 unless YaRN or Frequencies say more; scores grow by its square.

    Args:
        scaling: as for `frequencies`
    Returns: a positive number
    Raises:
        ValueError: another kind of scaling
    """
    checked = _check_scaling(scaling)
    return 1.0 if checked is None else checked.amplitude


@dataclass(frozen=True)
class PositionInterpolation:
    """Every pair rotates more slowly by the same factor, as if positions were closer together.

        theta_i' = theta_i / factor

    Args:
        factor: how many times longer the context becomes, at least 1
    Raises:
        ValueError: a factor below 1
    Source: Chen et al. 2023, arXiv:2306.15595, section 2.3 (their L'/L is our factor).
    """

    factor: float

    def __post_init__(self) -> None:
        check_number(self.factor, "factor", at_least=1)

    @property
    def amplitude(self) -> float:
        return 1.0

    def scaled(self, theta: Float[np.ndarray, "n_pairs"], base: float) -> np.ndarray:
        """Scale the frequencies to the longer context.

        Args:
            theta: [d/2]  as `frequencies` computes it
            base: of the frequencies
        Returns: [d/2]
        """
        return theta / self.factor


@dataclass(frozen=True)
class NTK:
    """A larger base: the slowest pair is interpolated by the factor, the fastest is unchanged.

        base' = base * factor ** (d / (d - 2)),  so theta_i' = theta_i * factor ** (-2 i / (d - 2))

    Args:
        factor: how many times longer the context becomes, at least 1
    Raises:
        ValueError: a factor below 1; d = 2, whose only pair is both the slowest and the fastest
    Source: bloc97 2023, NTK-Aware Scaled RoPE (r/LocalLLaMA, post 14lz7j5); Peng et al. 2023,
        arXiv:2309.00071, section 3.1 (their s is our factor, |D| our d, b our base).
    """

    factor: float

    def __post_init__(self) -> None:
        check_number(self.factor, "factor", at_least=1)

    @property
    def amplitude(self) -> float:
        return 1.0

    def scaled(self, theta: Float[np.ndarray, "n_pairs"], base: float) -> np.ndarray:
        """As `PositionInterpolation.scaled`.

        Raises:
            ValueError: d is 2
        """
        if len(theta) == 1:
            raise ValueError(
                "d is 2, but NTK keeps the fastest pair and slows the slowest; d should be at "
                "least 4. Use PositionInterpolation"
            )
        return theta * self.factor ** (-np.arange(len(theta)) / (len(theta) - 1))


@dataclass(frozen=True)
class Frequencies:
    """Frequencies given one by one, as from a checkpoint's inv_freq; the base is not used.

        theta_i' = theta[i]

    LongRoPE's, whose factors per pair were searched for, are theta = frequencies(d) / factors.

    Args:
        theta: [d/2]  radians per position, at least 0; array, tensor or list, kept as a tuple
        attention_factor: the factor on cos and sin
    Raises:
        ValueError: theta is not a row of finite numbers; a number out of range
    Source: LongRoPE: Ding et al. 2024, arXiv:2402.13753, section 3 (their lambda_i is our factor).
    """

    theta: Any
    attention_factor: float = 1.0

    def __post_init__(self) -> None:
        row = self.theta.tolist() if hasattr(self.theta, "tolist") else self.theta
        if not isinstance(row, list | tuple) or not row:
            raise ValueError(f"theta is {row!r}; it should be a row of d/2 numbers")
        row = tuple(check_number(t, f"theta[{i}]", at_least=0) for i, t in enumerate(row))
        object.__setattr__(self, "theta", row)  # a tuple, so that equal ones compare equal
        check_number(self.attention_factor, "attention_factor", above=0)

    @property
    def amplitude(self) -> float:
        return float(self.attention_factor)

    def scaled(self, theta: Float[np.ndarray, "n_pairs"], base: float) -> np.ndarray:
        """As `PositionInterpolation.scaled`.

        Raises:
            ValueError: another number of pairs
        """
        if len(self.theta) != len(theta):
            raise ValueError(
                f"scaling gives {len(self.theta)} frequencies but d is {2 * len(theta)}; it should "
                f"give one for each pair, d/2 = {len(theta)}"
            )
        return np.array(self.theta)


def _check_scaling(scaling: Any) -> Scaling | None:
    """Return scaling; ValueError unless it is None or one of the classes of this module."""
    classes = PositionInterpolation | NTK | YaRN | Llama3 | Frequencies
    if scaling is not None and not isinstance(scaling, classes):
        raise ValueError(
            f"scaling is {scaling!r}; it should be None, or a PositionInterpolation, NTK, YaRN, "
            "Llama3 or Frequencies from attention_src.rope.scaling: PositionInterpolation(4.0)"
        )
    return scaling
