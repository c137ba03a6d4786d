"""The check of what one rank of a ring does: a generator that yields what it sends."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.attention.reference import attention, attention_lse
from attention_src.exercises.engine.checking import Case, Check, Mistake, Result, passed
from attention_src.ring.placement import order
from attention_src.ring.reference import join

Array = np.ndarray


def one_rank(q: Array, k: Array, v: Array, i: Array, n_ranks: int) -> Any:
    """A rank of a causal ring: attends to what is here, passes it on, joins.

    Args:
        q, k, v, i: [n_local, d_k], [n_local, d_k], [n_local, d_v], [n_local]  its own
        n_ranks: R
    Yields: keys, values and their positions for the next rank; gets those of the previous one
    Returns: [n_local, d_v]  its rows of the output
    """
    return (yield from _rank(q, k, v, i, n_ranks))


def _rank(
    q: Array, k: Array, v: Array, i: Array, n_ranks: int,
    *, sees: Callable | None = None, joins: Callable = join, sends: Any = None,
) -> Any:  # fmt: skip
    """`one_rank`, with other rules for the wrong ones."""
    o, lse, j, mine = np.zeros((len(q), v.shape[-1])), np.full(len(q), -np.inf), i, (k, v, i)
    for step in range(n_ranks):
        mask = j <= i[:, None] if sees is None else sees(i[:, None], j)
        o, lse = joins(o, lse, attention(q, k, v, mask=mask), attention_lse(q, k, mask=mask))
        if step < n_ranks - 1:
            k, v, j = yield mine if sends == "own" else (k, v, j)
    return o


def drive(f: Callable) -> Callable:
    """Run R ranks side by side and pass on what they yield.

    Args:
        f: as `one_rank`
    Returns: a function of q, k, v [R, n_local, d] and i [R, n_local] that gives the output
        [R, n_local, d_v] and how often each rank sent, [R]
    Raises:
        ValueError: ranks that do not send equally often, never end, or change what is theirs
    """

    def ring(q: Array, k: Array, v: Array, i: Array) -> tuple[Array, Array]:
        n_ranks = len(q)
        own = [tuple(x[r].copy() for x in (q, k, v, i)) for r in range(n_ranks)]
        ranks = [f(*own[r], n_ranks) for r in range(n_ranks)]
        done: list[Any] = [None] * n_ranks
        sent = np.zeros(n_ranks, dtype=int)
        given: list[Any] = [None] * n_ranks
        while any(o is None for o in done):
            passed_on = [_step(ranks, r, given[r], done) for r in range(n_ranks)]
            if not sent.any():
                _check_own(passed_on, (k, v, i))
            running = [o is None for o in done]
            if any(running) and not all(running):
                raise ValueError("some ranks have returned while others still wait to be sent to")
            if all(running):
                sent += 1
                given = [passed_on[r - 1] for r in range(n_ranks)]
            if sent[0] > 3 * n_ranks + 3:
                raise ValueError(f"each rank has sent {sent[0]} times, and none has returned")
        _check_unchanged(own, (q, k, v, i))
        return np.stack(done), sent

    return ring


def _step(ranks: list, r: int, given: Any, done: list) -> Any:
    """Run a rank up to its next yield; its sent parts, or None once it has returned."""
    if not hasattr(ranks[r], "send"):
        raise ValueError("one_rank should be a generator: it gets keys by k, v, j = yield k, v, j")
    try:
        parts = ranks[r].send(given)
    except StopIteration as end:
        if end.value is None:
            raise ValueError("one_rank ended without a result: end it with return o") from None
        done[r] = np.asarray(end.value)
        return None
    if not isinstance(parts, tuple | list) or len(parts) != 3:
        raise ValueError("what is yielded should be three arrays: k, v, j")
    return tuple(np.array(part) for part in parts)


def _check_own(passed_on: list, own: tuple[Array, ...]) -> None:
    """What goes out first is one's own, in the order that the next rank expects."""
    for r, parts in enumerate(passed_on):
        for part, mine in zip(parts or (), own, strict=False):
            if not np.array_equal(part, mine[r]):
                raise ValueError(
                    "what a rank sends first should be its own k, v and i, unchanged, in this order"
                )


def _check_unchanged(own: list[tuple[Array, ...]], before: tuple[Array, ...]) -> None:
    for r, arrays in enumerate(own):
        for name, now, old in zip("qkvi", arrays, before, strict=True):
            if not np.array_equal(now, old[r]):
                raise ValueError(f"a rank changed its own {name} in place: work on a copy")


def _only(**changes: Any) -> Callable:
    return drive(lambda *inputs: _rank(*inputs, **changes))


def _averaged(q: Array, k: Array, v: Array, i: Array, n_ranks: int) -> Any:
    """The mean of the parts' outputs."""
    total, j = np.zeros((len(q), v.shape[-1])), i
    for step in range(n_ranks):
        total = total + attention(q, k, v, mask=j <= i[:, None])
        if step < n_ranks - 1:
            k, v, j = yield k, v, j
    return total / n_ranks


def _once_more(q: Array, k: Array, v: Array, i: Array, n_ranks: int) -> Any:
    """Sends after the last step, too."""
    answer = yield from one_rank(q, k, v, i, n_ranks)
    yield k, v, i
    return answer


def _own_only(q: Array, k: Array, v: Array, i: Array, n_ranks: int) -> Any:
    for _ in range(n_ranks - 1):
        yield k, v, i
    return attention(q, k, v, mask=i <= i[:, None])


def _positions_stay(q: Array, k: Array, v: Array, i: Array, n_ranks: int) -> Any:
    """Keys travel, their positions do not."""
    o, lse = np.zeros((len(q), v.shape[-1])), np.full(len(q), -np.inf)
    for step in range(n_ranks):
        see = i <= i[:, None]
        o, lse = join(o, lse, attention(q, k, v, mask=see), attention_lse(q, k, mask=see))
        if step < n_ranks - 1:
            k, v, _ = yield k, v, i
    return o


def _last_skipped(q: Array, k: Array, v: Array, i: Array, n_ranks: int) -> Any:
    """What comes last is not used."""
    o, lse, j = np.zeros((len(q), v.shape[-1])), np.full(len(q), -np.inf), i
    for _ in range(n_ranks - 1):
        see = j <= i[:, None]
        o, lse = join(o, lse, attention(q, k, v, mask=see), attention_lse(q, k, mask=see))
        k, v, j = yield k, v, j
    return o if n_ranks > 1 else attention(q, k, v, mask=i <= i[:, None])


def _added(o: Array, lse: Array, o_part: Array, lse_part: Array) -> tuple[Array, Array]:
    return o + o_part, np.logaddexp(lse, lse_part)


def _case(
    name: str, seed: int, n_ranks: int, sizes: tuple[int, int, int], placement: str = "contiguous",
    spread: float = 1.0,
) -> Case:  # fmt: skip
    """sizes: tokens of each rank, d_k, d_v."""
    n_local, d_k, d_v = sizes
    rng = np.random.default_rng(seed)
    q, k, v = (rng.normal(size=(n_ranks, n_local, d)) for d in (d_k, d_k, d_v))
    if placement == "shuffled":
        i = rng.permutation(n_ranks * n_local).reshape(n_ranks, n_local)
    else:
        i = np.array(order(n_ranks * n_local, n_ranks, placement)).reshape(n_ranks, n_local)
    return Case(name, (spread * q, k, v, i))


def _draw(rng: np.random.Generator) -> Case:
    n_ranks, d_k, d_v = (int(size) for size in rng.integers(1, 5, 3))
    n_local = 2 * int(rng.integers(1, 4))
    placement = str(rng.choice(["zigzag", "contiguous", "shuffled"]))
    spread = float(rng.choice([0.3, 3.0, 3000.0]))
    seed = int(rng.integers(10**6))
    name = f"drawn: {n_ranks} ranks, {n_local} tokens each, {placement}"
    return _case(name, seed, n_ranks, (n_local, d_k, d_v), placement, spread)


ONE_RANK = Check(
    "one_rank",
    reference=drive(one_rank),
    cases=[
        _case("two ranks of 2 tokens", 0, 2, (2, 3, 2)),
        _case("three ranks of 2 tokens", 1, 3, (2, 3, 1)),
        _case("two ranks, zigzag", 2, 2, (4, 2, 3), "zigzag"),
        _case("four ranks, zigzag", 3, 4, (4, 3, 2), "zigzag"),
        _case("one rank alone", 4, 1, (3, 2, 2)),
        _case("one token each", 5, 5, (1, 2, 3)),
        _case("tokens in any order", 7, 3, (4, 2, 3), "shuffled"),
        _case("scores in the thousands", 6, 4, (4, 3, 2), "zigzag", 3000.0),
    ],
    draw=_draw,
    drawn=8,
    returns=("o", "times_sent"),
    mistakes=[
        Mistake("not causal", _only(sees=lambda i, j: j > -1 + 0 * i), "Your queries see later "
                "tokens. Key j is visible to query i if j <= i, by their places in the text."),
        Mistake("oneself hidden", _only(sees=lambda i, j: j < i), "A query sees itself, too: "
                "j <= i."),
        Mistake("own keys only", drive(_own_only), "You never use what comes: "
                "k, v, j = yield k, v, j."),
        Mistake("positions stay at home", drive(_positions_stay), "The keys have moved on, but "
                "you still use your own positions for them. Send j along."),
        Mistake("always one's own sent", _only(sends="own"), "You send your own keys each time, "
                "so a rank only meets its neighbour. Pass on what you got."),
        Mistake("outputs added", _only(joins=_added), "Each part is an average of its own. Weigh "
                "them by exp(lse − lse of both)."),
        Mistake("outputs averaged", drive(_averaged), "Parts count by what they hold: by "
                "exp(lse − lse of both), not evenly."),
        Mistake("once too often", drive(_once_more), "After the last step nobody needs the keys "
                "any more: R ranks send R − 1 times."),
        Mistake("the last keys unused", drive(_last_skipped), "What arrives last is not used. "
                "Attend once more than you send."),
    ],
    hints=[
        "Begin with o = 0 and lse = −∞, and with your own keys, whose positions are j = i.",
        "In each step: attend to what is here under the mask j <= i[:, None], and join.",
        "Then, except after the last step: k, v, j = yield k, v, j. At the end: return o.",
    ],
)  # fmt: skip


def check_one_rank(f: Any) -> Result:
    """Check f(q, k, v, i, n_ranks), a generator that yields k, v, j and returns o.

    Args:
        f: the learner's generator function
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    if not callable(f):
        return ONE_RANK.run(f)
    result = ONE_RANK.run(drive(f))
    if result and inspect.isgeneratorfunction(f):
        passed[f] = ONE_RANK.name
    return result
