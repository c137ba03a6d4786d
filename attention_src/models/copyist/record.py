"""Train the copyists of the chapter and its lab, and keep what they can do in recorded.json.

    python -m attention_src.models.copyist.record

One thread of a processor takes about a quarter of an hour. A run that is in the file already is
not done again: delete the file to begin anew.
"""

import json
from typing import Any

import numpy as np
import torch

from attention_src.models.copyist import LENGTHS, RECORDED
from attention_src.models.copyist.model import Copyist
from attention_src.models.copyist.train import copy, exam, looks, remembers, train

WORDS = [
    *("go", "cat", "lamp", "stone", "planet", "network", "elephant"),
    *("attention", "dictionary", "temperature", "encyclopedia"),
]
ONE, TWO = False, True  # one vector; attention
# Task, attention, steps, and what else differs.
PLAN: list[tuple[str, bool, int, dict[str, Any]]] = [
    *[("copy", TWO, steps, {}) for steps in (700, 175, 350, 1400, 2800)],
    *[("copy", ONE, steps, {}) for steps in (700, 1400, 2800, 5600, 11200, 22400)],
    *[("sort", attends, steps, {}) for steps in (400, 800, 1600) for attends in (ONE, TWO)],
    *[("copy", ONE, steps, {"width": 26}) for steps in (700, 2800)],
    *[("copy", ONE, steps, {"width": 104}) for steps in (700, 2800)],
    ("copy", ONE, 11200, {"width": 26}),
    *[("backwards", ONE, steps, {}) for steps in (700, 1400, 2800)],
    *[("exchanged", ONE, steps, {}) for steps in (700, 1400, 2800)],
    *[("backwards", TWO, steps, {}) for steps in (700, 1400)],
    *[("copy", attends, 700, {"rate": r}) for r in (0.005, 0.02) for attends in (ONE, TWO)],
    ("copy", TWO, 700, {"blank": True}),
]


def starts(steps: int, more: dict[str, Any]) -> int:
    """How many random starts a line of PLAN gets: the longest practice only one.

    Args:
        steps, more: of the line
    Returns: 1 or 3
    """
    return 1 if steps > 11200 or (more and steps == 11200) else 3


def where(model: Copyist, task: str) -> dict[str, float]:
    """How much weight 8-letter words get, in exams.

    Args:
        model: with attention
        task: what it was trained on
    Returns: means: of the weight on the letter to be written, the next and the one before in the
        order of the word; and the share of steps whose largest weight lies on the first of these
    """
    _, p = exam(model, task, 8)
    if task == "backwards":
        p = p[..., ::-1]
    return {
        "own": p[:, range(8), range(8)].mean(),
        "next": p[:, range(7), range(1, 8)].mean(),
        "before": p[:, range(1, 8), range(7)].mean(),
        "largest": (p.argmax(axis=2) == np.arange(8)).mean(),
    }


def main() -> None:
    """Do what is missing in the file."""
    torch.set_num_threads(1)
    kept: dict[str, Any] = {"torch": torch.__version__, "words": {}, "runs": []}
    if RECORDED.exists():
        kept = json.loads(RECORDED.read_text(encoding="utf-8"))
    for task, attends, steps, more in PLAN:
        for seed in range(starts(steps, more)):
            labels = {"task": task, "attends": attends, "steps": steps, "seed": seed}
            labels |= {"width": None, "rate": 0.01, "blank": False, **more}
            if any(labels.items() <= run.items() for run in kept["runs"]):
                continue
            model = train(task, attends, seed, steps=steps, **more)
            whole = [100 * exam(model, task, n)[0].all(axis=1).mean() for n in LENGTHS]
            run = labels | {"whole": [round(share, 1) for share in whole]}
            if attends and task != "sort":
                run["looks"] = {k: round(float(x), 3) for k, x in where(model, task).items()}
            kept["runs"].append(run)
            if (task, steps, more) == ("copy", 700, {}):
                _write_words(kept["words"], model, seed)
            print(run, flush=True)
            _save(kept)


def _write_words(words: dict[str, Any], model: Copyist, seed: int) -> None:
    of = words.setdefault("attention" if model.attends else "one vector", {})
    for word in WORDS:
        here = of.setdefault(word, {"written": []})
        here["written"].append(copy(model, word))
        if model.attends and seed == 0:
            here["weights"] = (100 * looks(model, word)).round(1).tolist()
        elif seed == 0:
            here["state"] = remembers(model, word).round(2).tolist()


def _save(kept: dict[str, Any]) -> None:
    """A line a run, a line a word."""
    runs = ",\n".join(json.dumps(run) for run in kept["runs"])
    words = {
        name: ",\n".join(f"{json.dumps(w)}: {json.dumps(x)}" for w, x in each.items())
        for name, each in kept["words"].items()
    }
    told = ",\n".join(f'"{name}": {{\n{lines}\n}}' for name, lines in words.items())
    head = f'"torch": "{kept["torch"]}"'
    text = f'{{{head},\n"words": {{\n{told}\n}},\n"runs": [\n{runs}\n]}}\n'
    RECORDED.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
