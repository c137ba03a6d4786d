"""Frequencies of rotary positions, and three ways to scale them to longer contexts. NumPy only.

A model trained on positions below L has not seen the angles beyond. Each class here slows down the
rotation, so that factor · L positions use angles that the model knows:

    PositionInterpolation    every pair by the same factor
    NTK                      the slowest pair by the factor, the fastest not at all
    YaRN                     pairs that turn less than once in L by the factor, those that turn
                             often not at all; and cos and sin grow a little
"""

import math
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.shapes import check_size, shape


def frequencies(
    d: int, *, base: float = 10000.0, scaling: Any = None
) -> Float[np.ndarray, "n_pairs"]:
    """The angle by which each pair of components rotates from one position to the next.

        theta_i = base ** (-2 i / d),  i = 0 ... d/2 - 1, then scaled

    Args:
        d: width of a query or key, even
        base: the slowest pair needs almost 2 pi base positions for one full turn
        scaling: None, or a PositionInterpolation, NTK or YaRN
    Returns: float64 [d/2]  theta in radians per position, the fastest pair first
    Raises:
        ValueError: d is odd or below 2; a base that is not above 1; another kind of scaling
    Cost: d/2 powers.
    Source: Su et al. 2021, arXiv:2104.09864, section 3.2.2, which counts i from 1.
    """
    d, base = check_width(d), _check_base(base)
    theta = base ** (-2 * np.arange(d // 2) / d)
    return theta if _check_scaling(scaling) is None else scaling.scaled(theta, base)


def amplitude(scaling: Any = None) -> float:
    """The factor on cos and sin: 1 except for YaRN, whose scores grow by its square.

    Args:
        scaling: as for `frequencies`
    Returns: a positive number
    Raises:
        ValueError: another kind of scaling
    """
    return 1.0 if _check_scaling(scaling) is None else scaling.amplitude


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
        _check_number(self.factor, "factor", at_least=1)

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
        _check_number(self.factor, "factor", at_least=1)

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
class YaRN:
    """Pairs that turn often keep their frequency, slow pairs are interpolated, a ramp in between.

        theta_i' = (1 - r_i) theta_i + r_i theta_i / factor
        r_i = clip((i - low) / (high - low), 0, 1)
        low, high = the i that turn beta_fast and beta_slow times in original_context, rounded
            outwards

    The ramp is linear in i, as in the authors' code and in transformers; in their paper it is
    linear in the number of turns.

    Args:
        factor: how many times longer the context becomes, at least 1
        original_context: number of positions that the model was trained on
        beta_fast: pairs with at least this many turns keep their frequency
        beta_slow: pairs with at most this many turns are fully interpolated
        attention_factor: the factor on cos and sin; None = 0.1 ln(factor) + 1
    Raises:
        ValueError: a number out of range, or beta_fast not above beta_slow
    Source: Peng et al. 2023, arXiv:2309.00071, sections 3.2 and 3.4 (their s is our factor, L our
        original_context, alpha and beta our beta_slow and beta_fast, sqrt(1/t) our
        attention_factor).
    """

    factor: float
    original_context: int
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    attention_factor: float | None = None

    def __post_init__(self) -> None:
        _check_number(self.factor, "factor", at_least=1)
        check_size(self.original_context, "original_context", at_least=1)
        _check_number(self.beta_slow, "beta_slow", above=0)
        _check_number(self.beta_fast, "beta_fast", above=self.beta_slow)
        if self.attention_factor is not None:
            _check_number(self.attention_factor, "attention_factor", above=0)

    @property
    def amplitude(self) -> float:
        if self.attention_factor is not None:
            return float(self.attention_factor)
        return 0.1 * math.log(self.factor) + 1.0

    def scaled(self, theta: Float[np.ndarray, "n_pairs"], base: float) -> np.ndarray:
        """As `PositionInterpolation.scaled`."""
        n_pairs = len(theta)
        i_fast = self._pair_that_turns(self.beta_fast, n_pairs, base)
        i_slow = self._pair_that_turns(self.beta_slow, n_pairs, base)
        low = max(math.floor(i_fast), 0)
        # The ramp must not have length 0.
        high = max(min(math.ceil(i_slow), 2 * n_pairs - 1), low + 1e-3)
        r = np.clip((np.arange(n_pairs) - low) / (high - low), 0, 1)
        return (1 - r) * theta + r * theta / self.factor

    def _pair_that_turns(self, times: float, n_pairs: int, base: float) -> float:
        """The fractional i with base ** (-i / n_pairs) * original_context = 2 pi times."""
        return n_pairs * math.log(self.original_context / (2 * math.pi * times), base)


def check_width(d: Any) -> int:
    """Check the width of a query or key.

    Args:
        d: the width
    Returns: d as an int
    Raises:
        ValueError: d is not a whole number, is odd or is below 2
    """
    d = check_size(d, "d", at_least=2)
    if d % 2:
        raise ValueError(f"d is {d}; it should be even: rotary positions turn pairs of components")
    return d


def _check_base(base: Any) -> float:
    """Return base as a float; ValueError unless it is a finite number above 1."""
    return _check_number(base, "base", above=1)


def _check_scaling(scaling: Any) -> Any:
    """Return scaling; ValueError unless it is None or of one of this file's classes."""
    if scaling is not None and not isinstance(scaling, PositionInterpolation | NTK | YaRN):
        raise ValueError(
            f"scaling is {scaling!r}; it should be None, or a PositionInterpolation, NTK or YaRN "
            "from attention_src.rope.scaling: PositionInterpolation(4.0)"
        )
    return scaling


def check_precision(dtype: Any) -> None:
    """Check that a dtype is precise enough for positions.

    Args:
        dtype: of NumPy or torch
    Raises:
        ValueError: float16 or bfloat16
    """
    first_gap = {"float16": 2048, "bfloat16": 256}.get(str(dtype).removeprefix("torch."))
    if first_gap:
        raise ValueError(
            f"positions has dtype {dtype}, which cannot tell {first_gap} from {first_gap + 1}; "
            "it should hold whole numbers, float32 or float64"
        )


def check_rotation(q: Any, k: Any, cos: Any, sin: Any) -> None:
    """Check that queries and keys fit the cosines and sines that rotate them.

    Args:
        q, k: [B, H, n, d], [B, H_kv, n, d]
        cos, sin: [n, d/2] or [B, n, d/2]
    Raises:
        ValueError: names the axis that does not fit
    """
    for name, x in (("q", q), ("k", k)):
        if len(x.shape) != 4:
            raise ValueError(f"{name} has shape {shape(x)}; it should be [B, H, n, d]")
    B, _, n, d = q.shape
    check_width(d)
    for axis, at in (("B", 0), ("n", 2), ("d", 3)):
        if k.shape[at] != q.shape[at]:
            raise ValueError(
                f"k has {axis}={k.shape[at]} but q has {axis}={q.shape[at]}; they are rotated "
                "together, so only their numbers of heads may differ"
            )
    for name, x in (("cos", cos), ("sin", sin)):
        if tuple(x.shape) not in ((n, d // 2), (B, n, d // 2)):
            raise ValueError(
                f"{name} has shape {shape(x)}; it should be [n, d/2] = [{n}, {d // 2}] or "
                f"[B, n, d/2] = [{B}, {n}, {d // 2}]"
            )
    if cos.shape != sin.shape:
        raise ValueError(f"sin has shape {shape(sin)} but cos has shape {shape(cos)}")


def _check_number(
    value: Any, name: str, *, at_least: float = -math.inf, above: float = -math.inf
) -> float:
    """Return value as a float; ValueError unless it is a finite number in range."""
    limit = f"at least {at_least:g}" if at_least > above else f"above {above:g}"
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or not math.isfinite(value) or value < at_least or value <= above:
        raise ValueError(f"{name} is {value!r}; it should be a finite number, {limit}")
    return float(value)
