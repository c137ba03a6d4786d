"""Four short texts, written for this course, to measure language models on.

About 1,650 SmolLM2 tokens each: how dough becomes bread, how maps are made, how a river shapes its
valley, and a story about a tide mill. They are part of the package, so that a perplexity is the
same on every machine; changing a word changes the results. Licence: LICENSE.txt beside them.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
TEXTS = ("bread", "maps", "rivers", "tide_mill")


def load_text(name: str) -> str:
    """One of the texts, without its last newline.

    Args:
        name: "bread", "maps", "rivers" or "tide_mill"
    Returns: about 1,400 words of plain ASCII, with an empty line between paragraphs
    Raises:
        ValueError: there is no such text
    """
    if name not in TEXTS:
        raise ValueError(f"name is {name!r}; it should be one of {TEXTS}")
    return (FOLDER / f"{name}.txt").read_text(encoding="ascii").rstrip("\n")
