"""The check of a learner's own test: does a counter count attention's operations rightly?"""

from collections.abc import Callable
from typing import Any

from attention_src.costs.algorithms import visible_pairs
from attention_src.exercises.engine.checking import Result
from attention_src.exercises.engine.grading import Implementation, TestCheck


def closed(n_q: int, n_k: int, d_k: int, d_v: int, n_heads: int, causal: bool) -> int:
    """Count in closed form.

    Args:
        n_q, n_k, d_k, d_v, n_heads: sizes, n_q <= n_k
        causal: the queries are the last ones, and see no later key
    Returns: FLOP of the visible pairs
    """
    pairs = n_q * n_k - (n_q * (n_q - 1) // 2 if causal else 0)
    return 2 * n_heads * pairs * (d_k + d_v)


def by_loops(n_q: int, n_k: int, d_k: int, d_v: int, n_heads: int, causal: bool) -> int:
    """Count pair by pair.

    Args:
        n_q, n_k, d_k, d_v, n_heads, causal: as for `closed`
    Returns: FLOP
    """
    flops = 0
    for i in range(n_q):
        for j in range(n_k):
            if not causal or j <= i + n_k - n_q:
                flops += 2 * d_k + 2 * d_v
    return n_heads * flops


def _by_package(n_q: int, n_k: int, d_k: int, d_v: int, n_heads: int, causal: bool) -> int:
    return 2 * n_heads * visible_pairs(n_q, n_k, causal=causal) * (d_k + d_v)


def _in_floats(n_q: int, n_k: int, d_k: int, d_v: int, n_heads: int, causal: bool) -> float:
    seen = n_k - (n_q - 1) / 2 if causal else n_k
    return 2.0 * n_heads * n_q * seen * (d_k + d_v)


def _by_rows(n_q: int, n_k: int, d_k: int, d_v: int, n_heads: int, causal: bool) -> int:
    rows = [n_k - n_q + i + 1 if causal else n_k for i in range(n_q)]
    return sum(2 * n_heads * n * d_k for n in rows) + sum(2 * n_heads * n * d_v for n in rows)


def _two_products(n_q: int, n_k: int, d_k: int, d_v: int, n_heads: int, causal: bool) -> int:
    hidden = sum(range(n_q)) if causal else 0
    pairs = n_heads * (n_q * n_k - hidden)
    return pairs * d_k * 2 + pairs * d_v * 2


def with_pairs(pairs: Callable[..., float], each: Callable[..., float] | None = None) -> Callable:
    """Build a counter from a rule for pairs and one for the operations of each.

    Args:
        pairs: pairs(n_q, n_k, causal) of one head
        each: each(d_k, d_v); None = 2 (d_k + d_v)
    Returns: a counter with the arguments of `closed`
    """

    def counter(n_q: int, n_k: int, d_k: int, d_v: int, n_heads: int, causal: bool) -> float:
        work = 2 * (d_k + d_v) if each is None else each(d_k, d_v)
        return n_heads * pairs(n_q, n_k, causal) * work

    return counter


def _right_pairs(n_q: int, n_k: int, causal: bool) -> int:
    return visible_pairs(n_q, n_k, causal=causal)


def _top_left(n_q: int, n_k: int, causal: bool) -> int:
    return n_q * (n_q + 1) // 2 if causal else n_q * n_k


def _heads_twice(n_q: int, n_k: int, d_k: int, d_v: int, n_heads: int, causal: bool) -> int:
    return n_heads * closed(n_q, n_k, d_k, d_v, n_heads, causal)


FLOPS_TEST = TestCheck(
    "my_flops_test",
    right=[
        Implementation("closed form", closed, "it takes the hidden triangle away"),
        Implementation("loops", by_loops, "it goes from pair to pair"),
        Implementation("visible_pairs", _by_package, "the package counts the pairs"),
        Implementation("floats", _in_floats, "its numbers are floats: a mean of keys for a query"),
        Implementation("rows", _by_rows, "it adds row by row, for each product by itself"),
        Implementation("two products", _two_products, "it counts each product by itself"),
    ],
    wrong=[
        Implementation(
            "hidden ones too",
            with_pairs(lambda n_q, n_k, causal: n_q * n_k),
            "it counts the pairs that a causal mask hides",
        ),
        Implementation(
            "half",
            with_pairs(lambda n_q, n_k, causal: n_q * n_k / (2 if causal else 1)),
            "it halves exactly if causal, which misses half of the diagonal",
        ),
        Implementation(
            "no diagonal",
            with_pairs(lambda n_q, n_k, c: _right_pairs(n_q, n_k, c) - (n_q if c else 0)),
            "no token sees itself",
        ),
        Implementation(
            "top left",
            with_pairs(_top_left),
            "its triangle begins at the first key. Do you try fewer queries than keys?",
        ),
        Implementation(
            "always causal",
            with_pairs(lambda n_q, n_k, c: _right_pairs(n_q, n_k, True)),
            "it takes every attention for causal",
        ),
        Implementation(
            "multiplications",
            with_pairs(_right_pairs, lambda d_k, d_v: d_k + d_v),
            "it counts a multiplication and its addition as one",
        ),
        Implementation(
            "scores only",
            with_pairs(_right_pairs, lambda d_k, d_v: 2 * d_k),
            "it leaves out the product with the values",
        ),
        Implementation(
            "values only",
            with_pairs(_right_pairs, lambda d_k, d_v: 2 * d_v),
            "it leaves out the scores",
        ),
        Implementation(
            "keys' width twice",
            with_pairs(_right_pairs, lambda d_k, d_v: 4 * d_k),
            "it takes values to be as wide as keys",
        ),
        Implementation(
            "values' width twice",
            with_pairs(_right_pairs, lambda d_k, d_v: 4 * d_v),
            "it takes keys to be as wide as values",
        ),
        Implementation(
            "widths multiplied",
            with_pairs(_right_pairs, lambda d_k, d_v: 2 * d_k * d_v),
            "it multiplies the widths",
        ),
        Implementation(
            "keys squared",
            with_pairs(lambda n_q, n_k, c: n_k * (n_k + 1) // 2 if c else n_k**2),
            "it takes as many queries as keys",
        ),
        Implementation(
            "queries squared",
            with_pairs(lambda n_q, n_k, c: n_q * (n_q + 1) // 2 if c else n_q**2),
            "it takes as many keys as queries",
        ),
        Implementation("heads squared", _heads_twice, "it counts the heads twice"),
        Implementation(
            "one head",
            lambda n_q, n_k, d_k, d_v, n_heads, causal: closed(n_q, n_k, d_k, d_v, 1, causal),
            "it counts one head",
        ),
        Implementation(
            "one more",
            with_pairs(_right_pairs, lambda d_k, d_v: 2 * (d_k + d_v) + 1),
            "it counts one operation too many for each pair. Do you compare exactly?",
        ),
        Implementation(
            "one addition fewer",
            with_pairs(_right_pairs, lambda d_k, d_v: 2 * (d_k + d_v) - 2),
            "it counts one addition too few in each product. Do you compare exactly?",
        ),
        Implementation(
            "one ahead",
            with_pairs(lambda n_q, n_k, c: sum(min(i + 2, n_k) if c else n_k for i in range(n_q))),
            "query i sees keys up to i + 1, which is right for one more key than queries",
        ),
        Implementation(
            "softmax too",
            with_pairs(_right_pairs, lambda d_k, d_v: 2 * (d_k + d_v) + 5),
            "it adds the softmax, which the text leaves out",
        ),
    ],
    hints=[
        "Count a small case by a loop over pairs, and compare.",
        "Sizes that differ: n_q = 3, n_k = 5, d_k = 7, d_v = 2, n_heads = 4; causal and not.",
        "For causal, query i of n_q sees n_k - n_q + i + 1 keys.",
    ],
)


def check_flops_test(test: Any) -> Result:
    """Check test(counter), which raises AssertionError if the counter is wrong.

    Args:
        test: the learner's test
    Returns: status and message, as printed
    Raises:
        ValueError: test is not callable
    """
    return FLOPS_TEST.run(test)
