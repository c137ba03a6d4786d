"""Rotary frequencies scaled by parts: slow pairs are interpolated, fast ones are left alone.

YaRN and Llama 3.1 differ in the ramp between the two, and in YaRN's factor on the scores.
NumPy only.
"""

import math
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from attention_src.shapes import check_number, check_size


@runtime_checkable
class Scaling(Protocol):
    """A change of the frequencies: one of the classes of `scaling`."""

    @property
    def amplitude(self) -> float:
        """The factor on cos and sin."""

    def scaled(self, theta: Float[np.ndarray, "n_pairs"], base: float) -> np.ndarray:
        """As `PositionInterpolation.scaled`.

        Args:
            theta: [d/2]  as `frequencies` computes it
            base: of the frequencies
        Returns: [d/2]
        """


@dataclass(frozen=True)
class YaRN:
    """Pairs that turn often keep their frequency, slow pairs are interpolated, a ramp in between.

        theta_i' = (1 - r_i) theta_i + r_i theta_i / factor
        r_i = clip((i - low) / (high - low), 0, 1)
        low, high = the i that turn beta_fast and beta_slow times in original_context, rounded
            outwards unless truncate is False

    The ramp is linear in i, as in the authors' code and in transformers; in their paper it is
    linear in the number of turns.

    Args:
        factor: how many times longer the context becomes, at least 1
        original_context: number of positions that the model was trained on
        beta_fast: pairs with at least this many turns keep their frequency
        beta_slow: pairs with at most this many turns are fully interpolated
        attention_factor: the factor on cos and sin; None = 0.1 ln(factor) + 1
        truncate: round the ends of the ramp to whole pairs
        mscale_all_dim: for latent attention only, see `latent_scaling`
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
    truncate: bool = True
    mscale_all_dim: float | None = None

    def __post_init__(self) -> None:
        check_number(self.factor, "factor", at_least=1)
        check_size(self.original_context, "original_context", at_least=1)
        check_number(self.beta_slow, "beta_slow", above=0)
        check_number(self.beta_fast, "beta_fast", above=self.beta_slow)
        if self.attention_factor is not None:
            check_number(self.attention_factor, "attention_factor", above=0)
        if not isinstance(self.truncate, bool):
            raise ValueError(f"truncate is {self.truncate!r}; it should be True or False")
        if self.mscale_all_dim is not None:
            check_number(self.mscale_all_dim, "mscale_all_dim", at_least=0)

    @property
    def amplitude(self) -> float:
        if self.attention_factor is not None:
            return float(self.attention_factor)
        return mscale(self.factor)

    def scaled(self, theta: Float[np.ndarray, "n_pairs"], base: float) -> np.ndarray:
        """As `PositionInterpolation.scaled`."""
        n_pairs = len(theta)
        i_fast = self._pair_that_turns(self.beta_fast, n_pairs, base)
        i_slow = self._pair_that_turns(self.beta_slow, n_pairs, base)
        if self.truncate:
            i_fast, i_slow = math.floor(i_fast), math.ceil(i_slow)
        low = max(i_fast, 0)
        # The ramp must not have length 0.
        high = max(min(i_slow, 2 * n_pairs - 1), low + 1e-3)
        r = np.clip((np.arange(n_pairs) - low) / (high - low), 0, 1)
        return (1 - r) * theta + r * theta / self.factor

    def _pair_that_turns(self, times: float, n_pairs: int, base: float) -> float:
        """The fractional i with base ** (-i / n_pairs) * original_context = 2 pi times."""
        return n_pairs * math.log(self.original_context / (2 * math.pi * times), base)


@dataclass(frozen=True)
class Llama3:
    """Llama 3.1's scaling: as YaRN, with a ramp that is linear in the number of turns.

        theta_i' = (1 - s_i) theta_i / factor + s_i theta_i
        s_i = clip((turns_i - low_freq_factor) / (high_freq_factor - low_freq_factor), 0, 1)
        turns_i = original_context theta_i / (2 pi)

    Args:
        factor: how many times longer the context becomes, at least 1
        original_context: number of positions that the model was trained on
        low_freq_factor: pairs with at most this many turns are fully interpolated
        high_freq_factor: pairs with at least this many turns keep their frequency
    Raises:
        ValueError: a number out of range, or high_freq_factor not above low_freq_factor
    Source: Meta 2024, github.com/meta-llama/llama-models, models/llama3/model.py,
        `apply_scaling`; it compares wavelengths 2 pi / theta_i with original_context / *_factor.
    """

    factor: float
    original_context: int
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0

    def __post_init__(self) -> None:
        check_number(self.factor, "factor", at_least=1)
        check_size(self.original_context, "original_context", at_least=1)
        check_number(self.low_freq_factor, "low_freq_factor", above=0)
        check_number(self.high_freq_factor, "high_freq_factor", above=self.low_freq_factor)

    @property
    def amplitude(self) -> float:
        return 1.0

    def scaled(self, theta: Float[np.ndarray, "n_pairs"], base: float) -> np.ndarray:
        """As `PositionInterpolation.scaled`."""
        low, high = self.low_freq_factor, self.high_freq_factor
        turns = self.original_context * theta / (2 * math.pi)
        s = np.clip((turns - low) / (high - low), 0, 1)
        return (1 - s) * theta / self.factor + s * theta


def mscale(factor: float, weight: float = 1.0) -> float:
    """YaRN's factor on queries and keys, so that scores grow by its square.

        0.1 weight ln(factor) + 1

    Args:
        factor: how many times longer the context becomes, at least 1
        weight: 1 in YaRN; DeepSeek's mscale or mscale_all_dim
    Returns: at least 1
    Source: Peng et al. 2023, arXiv:2309.00071, Eq. 22; `yarn_get_mscale` in DeepSeek's code.
    """
    return 0.1 * weight * math.log(factor) + 1.0


def latent_scaling(scaling: Scaling | None) -> tuple[Scaling | None, float]:
    """How latent attention, which rotates only a part of each query and key, applies a scaling.

        s = score_factor scale (q · k + a² q_rope · k_rope),  a = amplitude(rotation)

    YaRN means its factor for all scores. Where everything is rotated, a on cos and sin does that;
    here the rotation gets a = 1 and the scores the square of YaRN's factor. A YaRN that says
    mscale_all_dim has both factors, as DeepSeek's code: its own a, and
    mscale(factor, mscale_all_dim)² on all scores. Their models have a = 1, so both ways agree.

    Args:
        scaling: as for `frequencies`
    Returns: the scaling of the rotated part, and score_factor
    Source: DeepSeek-V3's `softmax_scale * mscale * mscale`, github.com/deepseek-ai/DeepSeek-V3,
        inference/model.py; `yarn_apply_mscale` in transformers.
    """
    if not isinstance(scaling, YaRN):
        return scaling, 1.0
    if scaling.mscale_all_dim is None:
        return replace(scaling, attention_factor=1.0), scaling.amplitude**2
    return scaling, mscale(scaling.factor, scaling.mscale_all_dim) ** 2
