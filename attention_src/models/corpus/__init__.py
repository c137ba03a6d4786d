"""Four short texts, written for this course, on which language models are measured.

About 1,650 tokens of SmolLM2 each: how dough becomes bread, how maps are made, how a river shapes
its valley, and a story of a tide mill. They are part of the package, so that a perplexity is the
same on every machine; whoever changes a word changes the results. Licence: LICENSE.txt beside them.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
TEXTS = ("bread", "maps", "rivers", "tide_mill")


def load_text(name: str) -> str:
    """One of the texts, without its last newline.

    Args:
        name: "bread", "maps", "rivers" or "tide_mill"
    Returns: about 1,400 words of plain ASCII; paragraphs are parted by an empty line
    Raises:
        ValueError: there is no such text
    """
    if name not in TEXTS:
        raise ValueError(f"name is {name!r}; it should be one of {TEXTS}")
    return (FOLDER / f"{name}.txt").read_text(encoding="ascii").rstrip("\n")
