"""What is wrong with tiles that are not joined rightly, and whether they save memory."""

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np

from attention_src.exercises.engine.memory import warm_up, with_peak
from attention_src.judge.calls.calling import role
from attention_src.judge.calls.oracle import tile_mistakes
from attention_src.judge.calls.trying import Trier
from attention_src.judge.calls.ways import ALL, CAUSAL, How, same

LETTERS = "(m is the maximum so far, l the sum of exponentials, acc that of weighted values.)"
OTHERS = (1, 16, 32, 64)  # sizes of tiles that it may have of its own


def tile_mistake(t: Trier, ran: list[How]) -> bool:
    """Add the mistake of tiles that gives the same."""
    ways = [*product(ran, [3]), *product(ran[:1], OTHERS)]  # tiles of 3 is what is asked for
    ways += [(replace(how, sizes=how.sizes | {"k": 8}), 4) for how in ran[:1]]  # or two halves
    for (how, block), (name, wrong, says) in product(ways, tile_mistakes()):
        arrays, _, trial = t.answer(how, 0)
        heads = list(np.ndindex(how.sizes["B"], how.sizes["H"]))
        try:
            made = [wrong(*(x[head] for x in arrays.values()), block)[0] for head in heads]
        except Exception:
            continue
        if trial and same(trial.o, np.reshape(made, trial.o.shape)):
            t.draft.cause(name, f"{says} {LETTERS}", "flash")
            return True
    return False


def right_in_one_tile(t: Trier, ran: list[How]) -> bool:
    """Whether it is right as long as all keys lie in one tile."""
    given = t.callee.given
    tiles = {name: 16 for name, size in given.items() if role(name) == "block" and size == 3}
    t.callee.given = given | tiles
    for how, t.band in product(map(replace, ran[:3] if tiles else ()), (ALL, *CAUSAL)):
        if t.fits(how):
            t.draft.add("tiles not joined")
            return True
    t.callee.given, t.band = given, ALL
    return False


def _peak(framework: str, call: Callable) -> int:
    """The most bytes that a call holds; torch is watched, which takes seconds at first, if used."""
    if "torch" in framework:
        warm_up()
        return with_peak(call)[1]
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def memory(t: Trier) -> None:
    """Tiles never hold the whole table of n_q × n_k scores."""
    known = t.callee.given
    blocks = {p.name: 64 for p in t.callee.parameters if role(p.name) == "block"}
    if t.kind != "tiled" or any(known.get(name, 3) != 3 for name in blocks):
        return
    n = 1024 if blocks else 256  # tiles of its own may be small, and a loop of them slow
    sizes = t.how.sizes | {"B": 1, "H": 1, "G": 1, "q": n, "k": n, "d": 4, "e": 4}
    how, t.callee.given = replace(t.how, sizes=sizes), known | blocks
    given = t.given(how, t.draw(sizes))
    try:
        peak = _peak(how.framework[0], lambda: t.callee(**given, **how.extra))
    except Exception:
        return
    finally:
        t.callee.given = known
    table = 8 * n * n
    if peak >= table:
        t.draft.add("the whole table", f"{peak / 2**20:.1f}", f"{n:,}", f"{table / 2**20:.1f}")
    else:
        t.draft.convention["memory"] = f"{peak / 2**20:.2g} MiB for {n} tokens, of {table >> 20}"
