"""What many layers of this package learn in 500, 1,000 and 2,000 steps; python -m … records it.

    python -m attention_src.models.cities.runs

takes twenty minutes on one core and writes record.json, which the lab of the chapter on heads
prints.
"""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attention_src.commands import run
from attention_src.models.cities import (
    SOLVED,
    Layers,
    error_left,
    factors,
    first_weights,
    signed,
    train,
)

RECORD = Path(__file__).with_name("record.json")
STEPS = (500, 1000, 2000)


def recorded() -> dict[str, Any]:
    """What was measured.

    Returns: of each experiment, by its name, what it gave
    """
    found: dict[str, Any] = json.loads(RECORD.read_text("utf-8"))
    return found


def stuck(start: Layers, n_heads: int, steps: int) -> np.ndarray:
    """Which of these layers have not solved it.

    Args:
        start, n_heads: as for `train`
        steps: of training
    Returns: True where it is stuck [layers]
    """
    return np.asarray(train(start, n_heads, steps)[1][-1] > SOLVED)


def count(start: Layers, n_heads: int, steps: tuple[int, ...] = STEPS) -> list[int]:
    """How many are stuck.

    Args:
        start, n_heads: as for `train`
        steps: numbers of them, each counted from the start
    Returns: how many, for each of these
    """
    return [int(stuck(start, n_heads, n).sum()) for n in steps]


def by_random_start() -> dict[str, list[int]]:
    """Ten starts of two heads.

    Returns: how many are stuck after 500, 1,000 and 2,000 steps
    """
    return {"stuck": count(first_weights(0, 10), 2)}


def by_signs(layers: int = 24) -> dict[str, list[int]]:
    """Layers whose heads start with opposite or with equal signs.

    Args:
        layers: how many of each
    Returns: how many are stuck, by the signs and the size of the start
    """
    two = {"opposite": (1, -1), "equal": (1, 1)}
    found = {name: count(signed(1, layers, signs), 2) for name, signs in two.items()}
    for size, (name, signs) in itertools.product((0.1, 0.25, 1.0), two.items()):
        found[f"{name}, {size}"] = count(signed(1, layers, signs, size), 2, STEPS[:1])
    for name, four in {"four plus": (1, 1, 1, 1), "one minus": (1, 1, 1, -1)}.items():
        found[name] = count(signed(1, layers, four), 4, STEPS[:1])
    return found


def by_heads() -> dict[str, list[int]]:
    """24 random starts with 2, 4 and 8 heads.

    Returns: how many are stuck after each number of steps, by the number of heads
    """
    return {str(n): count(first_weights(1, 24), n) for n in (2, 4, 8)}


def by_random_signs() -> dict[str, list[int]]:
    """144 random starts with two heads.

    Returns: how many are stuck, and of how many, by their signs
    """
    rows = {"equal": [0, 0], "different": [0, 0]}
    for seed in range(1, 7):
        start = first_weights(seed, 24)
        alike = factors(start, 2).prod(axis=1) > 0
        caught = stuck(start, 2, STEPS[0])
        for name, these in {"equal": alike, "different": ~alike}.items():
            rows[name][0] += int((these & caught).sum())
            rows[name][1] += int(these.sum())
    return rows


def kicked(w: Layers, head_0: float = 1, head_1: float = 1) -> Layers:
    """Trained layers of two heads, each head's rows of W_O multiplied.

    Args:
        w: their weights
        head_0, head_1: by what
    Returns: the new weights
    """
    half = w["w_o"].shape[1] // 2
    by = torch.tensor([head_0] * half + [head_1] * half)[:, None]
    return {**w, "w_o": w["w_o"] * by}


KICKS = {"no kick": (1, 1), "one head × 3": (1, 3), "one sign turned": (1, -1)}


def by_kicks() -> dict[str, Any]:
    """34 trained layers of two heads, kicked and trained on.

    Returns: how many had solved it; the mean error after each kick; who solves it after each
        number of steps, of those that had ("kept") and of those that had not ("freed")
    """
    found: dict[str, Any] = {"solved": 0, "stuck": 0, "error": {}, "kept": {}, "freed": {}}
    for seed, layers in ((0, 10), (1, 24)):
        w, curve = train(first_weights(seed, layers), 2)
        good = curve[-1] < SOLVED
        found["solved"] += int(good.sum())
        found["stuck"] += int((~good).sum())
        for name, by in KICKS.items():
            start = kicked(w, *by)
            found["error"].setdefault(name, []).extend(error_left(start, 2)[good].tolist())
            for i, steps in enumerate(STEPS):
                after = ~stuck(start, 2, steps)
                for key, these in {"kept": good, "freed": ~good}.items():
                    found[key].setdefault(name, [0, 0, 0])[i] += int((after & these).sum())
    found["error"] = {name: round(float(np.mean(x)), 2) for name, x in found["error"].items()}
    return found


def by_fading() -> dict[str, dict[str, list[list[float]]]]:
    """The solved ones of these 34, one sign turned: their heads' factors, the smaller first.

    Returns: after each number of steps the sizes of the two factors of those that solve it again
        ("back") and of those that do not ("lost"), ordered by the smaller
    """
    found: dict[str, dict[str, list[list[float]]]] = {}
    for seed, layers in ((0, 10), (1, 24)):
        w, curve = train(first_weights(seed, layers), 2)
        good = curve[-1] < SOLVED
        for steps in STEPS:
            after, left = train(kicked(w, *KICKS["one sign turned"]), 2, steps)
            size = np.sort(abs(factors(after, 2)), axis=1).astype(float)  # (layers, H)
            rows = found.setdefault(str(steps), {"back": [], "lost": []})
            for key, these in {"back": left[-1] < SOLVED, "lost": left[-1] > SOLVED}.items():
                rows[key] = sorted(rows[key] + size[these & good].round(2).tolist())
    return found


def by_widths() -> dict[str, list[float]]:
    """64 narrow heads.

    Returns: the mean error of two starts after 1,000, 2,000 and 4,000 steps, by the widths d_k, d_v
    """
    found = {}
    for d_k, d_v in ((1, 1), (2, 1), (1, 5)):
        start = first_weights(0, 2, 64 * d_k, 64 * d_v)
        left = [train(start, 64, steps)[1][-1] for steps in (1000, 2000, 4000)]
        found[f"{d_k}, {d_v}"] = [round(float(x.mean()), 4) for x in left]
    return found


EXPERIMENTS = [by_random_start, by_signs, by_heads, by_random_signs, by_kicks, by_fading, by_widths]


def main() -> None:
    """Run all, and write what comes out."""
    torch.set_num_threads(1)
    found = {}
    for experiment in EXPERIMENTS:
        found[experiment.__name__] = experiment()
        print(experiment.__name__, found[experiment.__name__], flush=True)
        RECORD.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    raise SystemExit(run(main))
