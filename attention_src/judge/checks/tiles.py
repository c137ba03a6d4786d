"""What is wrong with tiles that are not joined rightly."""

from dataclasses import replace
from itertools import product

import numpy as np

from attention_src.judge.calls.bands import ALL, CAUSAL
from attention_src.judge.calls.calling import role
from attention_src.judge.calls.trying import Trier
from attention_src.judge.calls.ways import How, same


def tile_mistake(t: Trier, ran: list[How]) -> bool:
    """Of those that the exercise on tiles declares, the mistake that gives the same."""
    from attention_src.exercises.flash import check_tiled_attention as check

    for mistake, how in product(check.mistakes, ran):
        arrays = t.draw(how.sizes, 0)
        heads = list(np.ndindex(how.sizes["B"], how.sizes["H"]))
        try:
            made = [mistake.wrong(*(x[head] for x in arrays.values()), 3)[0] for head in heads]
        except Exception:
            continue
        trial = t.run(how, arrays)
        if trial and same(trial.o, np.reshape(made, trial.o.shape)):
            t.draft.cause(mistake.name, mistake.message, "flash")
            return True
    return False


def right_in_one_tile(t: Trier, ran: list[How]) -> bool:
    """Whether it is right as long as all keys lie in one tile."""
    given = t.callee.given
    tiles = {name: 16 for name, size in given.items() if role(name) == "block" and size == 3}
    t.callee.given = given | tiles
    for how, t.band in product(ran[:3] if tiles else (), (ALL, *CAUSAL)):
        if t.fits(replace(how)):
            t.draft.add("tiles not joined")
            return True
    t.callee.given, t.band = given, ALL
    return False
