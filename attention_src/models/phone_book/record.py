"""Train the models of the lab on scaling, and keep what they have learned in recorded.json.

    python -m attention_src.models.phone_book.record

One thread of a processor takes about a quarter of an hour. A run that is in the file already is
not done again: delete the file to begin anew.
"""

import json
from collections.abc import Iterator
from typing import Any

import torch

from attention_src.models.phone_book import LESSONS, RECORDED, USUAL
from attention_src.models.phone_book.train import Kind, at_the_end, train

RATES = (0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16)
PLAIN_RATES = (0.3, 0.5, 0.7, 1.0, 1.5, 3.0)  # at 6 all but the usual model diverge
POWERS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
# What differs from USUAL: divisor, size of W_Q and norm, for all LESSONS.
STARTS: tuple[dict[str, Any], ...] = (
    {"power": 0.0},
    {"power": 0.0, "grow": 1 / 16},
    {},
    {"grow": 16.0},
    {"norm": True, "grow": 16.0},
    {"norm": True, "power": 0.0},
)


def plan() -> Iterator[tuple[int, float, dict[str, Any]]]:
    """All runs.

    Returns: lessons, rate, and the other labels of each
    """
    for lessons in LESSONS:
        for more in STARTS:
            for rate in RATES[:-1]:
                yield lessons, rate, {**USUAL, **more}
    for lessons in LESSONS[1:4]:
        for more in ({"d_k": 16}, {}, {"grow": 16.0}):
            for power in POWERS:
                for rate in RATES[2:]:
                    yield lessons, rate, {**USUAL, **more, "power": power}
    for lessons in LESSONS[1:4]:
        for more in STARTS[:4]:
            for rate in PLAIN_RATES:
                yield lessons, rate, {**USUAL, **more, "plain": True}


def main() -> None:
    """Do what is missing in the file."""
    torch.set_num_threads(1)
    kept: dict[str, Any] = {"torch": torch.__version__, "runs": []}
    if RECORDED.exists():
        kept = json.loads(RECORDED.read_text(encoding="utf-8"))
    for lessons, rate, labels in plan():
        run = {"lessons": lessons, "rate": rate, **labels}
        if any(run.items() <= one.items() for one in kept["runs"]):
            continue
        of_kind = {name: value for name, value in labels.items() if name != "plain"}
        history = train(Kind(**of_kind), rate, lessons, plain=labels["plain"])
        kept["runs"].append(run | {"loss": [round(x, 3) for x in at_the_end(history)]})
        print(kept["runs"][-1], flush=True)
        lines = ",\n".join(json.dumps(one) for one in kept["runs"])
        text = f'{{"torch": "{kept["torch"]}",\n"runs": [\n{lines}\n]}}\n'
        RECORDED.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
