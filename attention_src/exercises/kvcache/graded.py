"""The exercise in which the learner writes a test of a cache."""

from typing import Any

import numpy as np

from attention_src.exercises.engine.grading import Implementation, TestCheck
from attention_src.exercises.engine.messages import Result
from attention_src.exercises.engine.running import Outcome
from attention_src.exercises.kvcache import readers, readers_wrong
from attention_src.exercises.kvcache.readers import start


def _all(n: int, n_new: int) -> np.ndarray:
    return np.ones((n_new, n + n_new), bool)


def _top_left(n: int, n_new: int) -> np.ndarray:
    """Causal as if the new queries were the first ones; a single one sees all."""
    return _all(n, n_new) if n_new == 1 else np.tri(n_new, n + n_new, 0, dtype=bool)


def _old_and_own(n: int, n_new: int) -> np.ndarray:
    return np.concatenate([np.ones((n_new, n), bool), np.eye(n_new, dtype=bool)], axis=1)


class _CacheTest(TestCheck):
    """A test check whose implementations forget the texts of an earlier run."""

    __test__ = False

    def _try(self, test: Any, implementation: Implementation, calls: list[int]) -> Outcome:
        getattr(implementation.function, "reset", lambda: None)()
        return super()._try(test, implementation, calls)


CACHE_TEST = _CacheTest(
    "my_cache_test",
    right=[
        Implementation("concatenated", start(), "it puts the new tokens behind the old ones"),
        Implementation("preallocated", readers.preallocated, "its storage doubles when it is full"),
        Implementation(
            "rotated when read", readers.rotated_when_read, "it rotates its keys when it reads them"
        ),
        Implementation(
            "one by one", readers.token_by_token, "it takes several new tokens one after the other"
        ),
        Implementation(
            "everything again", readers.everything_again, "it has no cache, and needs none"
        ),
        Implementation(
            "from position 7", readers.counting_from_seven, "only distances matter to a rotation"
        ),
        Implementation(
            "float32",
            start(keep=lambda x: np.array(x, np.float32)),
            "it stores float32: allow for differences of 1e-5",
        ),
    ],
    wrong=[
        Implementation(
            "newest unseen",
            readers_wrong.newest_unseen,
            "it appends after it has attended, so a token does not see itself",
        ),
        Implementation(
            "not masked",
            start(mask=_all),
            "several new tokens see one another, later ones too. Do you append several at once?",
        ),
        Implementation(
            "top left",
            start(mask=_top_left),
            "with several new tokens after old ones, its causal mask begins at the first key",
        ),
        Implementation(
            "old and own",
            start(mask=_old_and_own),
            "of several new tokens each sees the old ones and itself, and not its neighbours",
        ),
        Implementation(
            "positions from 0",
            start(positions=lambda n, n_new: np.arange(n_new)),
            "each call counts its positions from 0",
        ),
        Implementation(
            "queries one behind",
            start(
                positions=lambda n, n_new: max(n - 1, 0) + np.arange(n_new),
                key_positions=lambda n, n_new: n + np.arange(n_new),
            ),
            "after the first call its queries stand one position before their own keys",
        ),
        Implementation(
            "stale positions",
            start(positions=lambda n, n_new: n + np.zeros(n_new)),
            "all new tokens of a call stand at the position of the first of them",
        ),
        Implementation(
            "rotated again", readers_wrong.twice_rotated, "it rotates old keys in each call"
        ),
        Implementation(
            "one store",
            readers_wrong.Shared(store=True),
            "all texts share one store. Do you start two texts and go on with both?",
        ),
        Implementation(
            "one count",
            readers_wrong.Shared(store=False),
            "its texts count their positions together: one text's tokens move the other's on",
        ),
        Implementation(
            "references",
            start(keep=lambda x: x),
            "it keeps your arrays and not copies. What if the caller reuses them?",
        ),
        Implementation(
            "last of a block",
            readers_wrong.one_of_a_block,
            "of several tokens that follow old ones it keeps the last one only",
        ),
        Implementation(
            "late values", readers_wrong.late_values, "a value arrives one call too late"
        ),
        Implementation(
            "grown", readers.loses_values, "when its storage grows, the old values stay behind"
        ),
        Implementation("ring", readers_wrong.ring(24), "it holds 24 tokens; a text may have 32"),
        Implementation(
            "first token lost",
            start(held=lambda x: np.concatenate([x[:1] * 0, x[1:]]) if len(x) > 12 else x),
            "it loses the first token of a text of more than 12",
        ),
    ],
    hints=[
        "The oracle: rotate all q and k by np.arange(n), then attention(q, k, v, causal=True).",
        "Feed the same text in pieces of different sizes: 3, 1, 1, 5, 1 … up to 32 tokens.",
        "Start two texts and go on with them in turn. Overwrite the arrays that you passed.",
    ],
)


def check_cache_test(test: Any) -> Result:
    """Check test(start), which raises AssertionError if a cache does not continue a text rightly.

    Args:
        test: the learner's test
    Returns: status and message, as printed
    Raises:
        ValueError: test is not callable
    """
    return CACHE_TEST.run(test)
