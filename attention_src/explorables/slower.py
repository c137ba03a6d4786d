"""The explorable "slower": what SmolLM2's next token takes where nothing is stored.

The seconds were recorded, in one thread, so that no model is needed to show them. To record them
again:

    python -m attention_src.explorables.slower
"""

import json
from pathlib import Path

import numpy as np

from attention_src.explorables.drawing import Explorable

PRESS = ("slider", "tokens so far", "ArrowRight")
SAYS = "After 65 tokens the next takes"
IN_SIGHT = ('[data-key="marker"]', '[data-key="goal"]')
FILE = Path(__file__).with_name("slower.json")
LENGTHS = (4, 16, 32, 64, 128, 192, 256, 320, 384, 448, 512, 640, 768, 896, 960, 1024)
START = 64  # tokens at the start
RUNS = 3  # of each length; the fastest counts


def make() -> Explorable:
    """A text of 1,024 tokens, and the seconds that the next token takes after each.

    Returns: what the page is made from
    """
    took, words = recorded()
    step = seconds(took)
    given = {"lengths": LENGTHS, "took": took, "words": "|".join(words), "n": START}
    return Explorable(
        given,
        f"A curve of seconds against tokens, drawn as far as {START} tokens, where the next one "
        f"takes {step[START - LENGTHS[0]]:.2f} s. A dashed line stands at 1 s.",
        f"After {START} tokens the next takes {step[START - LENGTHS[0]]:.2f} s. An interactive "
        "figure: drag the marker along the text. It needs JavaScript; here is its first state.",
        "How long until the next token?",
        ("Press “Write” at 64 tokens and at 900: it writes at the pace that was recorded.",),
    )


def recorded() -> tuple[list[float], list[str]]:
    """What the model took, and the text.

    Returns:
        took: seconds for the next token after each of LENGTHS
        words: the tokens of the text, as they are written
    """
    found = json.loads(FILE.read_text("utf-8"))
    return found["took"], found["words"]


def seconds(took: list[float]) -> np.ndarray:
    """The seconds after each number of tokens.

    Args:
        took: those after each of LENGTHS
    Returns: after 4, 5, ... 1,024 tokens, on straight lines between those recorded
    """
    return np.interp(np.arange(LENGTHS[0], LENGTHS[-1] + 1), LENGTHS, took)


def record() -> None:
    """Run SmolLM2 on beginnings of a text, and write the file."""
    from time import process_time

    import torch

    from attention_src.models.corpus import load_text
    from attention_src.models.smollm2 import SmolLM2

    torch.set_num_threads(1)
    lm = SmolLM2.load()
    text = lm.encode(load_text("rivers"))
    lm.logits(text[:8])  # the first pass of all is slower

    def run(n: int) -> float:
        start = process_time()
        lm.logits(text[:n], last=True)
        return process_time() - start

    took = [round(min(run(n) for _ in range(RUNS)), 4) for n in LENGTHS]
    words = [" ".join(lm.decode(text[i : i + 1]).split("\n")) for i in range(LENGTHS[-1])]
    FILE.write_text(json.dumps({"took": took, "words": words}, ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    record()
