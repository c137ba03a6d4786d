"""The explorable "queen": the sum queen − woman + man in MiniLM's table, little by little."""

import numpy as np

from attention_src.explorables.drawing import Explorable

PRESS = ("slider", "how far", "ArrowLeft")
SAYS = "the nearest word is queen"
IN_SIGHT = ('[data-key="goal"]', '[data-key="name-king"]')
INPUTS = ["queen", "woman", "man"]
RANKINGS = ("all", "rest")
# Each word that is among the six nearest anywhere on the way, with or without the three inputs: its
# dot products with queen and with man − woman, and its norm. A test computes them from MiniLM.
TABLE = {
    "queen": (1.75277, -0.11030, 1.32392),
    "queens": (1.08333, -0.13097, 1.30228),
    "king": (1.09271, 0.17442, 1.31582),
    "monarch": (0.73649, -0.09628, 1.12383),
    "royal": (0.87368, 0.05172, 1.39442),
    "prince": (0.82635, 0.16853, 1.34528),
    "princess": (0.73113, -0.18344, 1.25291),
    "kings": (0.65662, 0.10373, 1.20471),
    "lord": (0.59850, 0.27467, 1.33283),
    "princes": (0.43854, 0.17733, 1.07234),
    "south": (0.34576, 0.36702, 1.32133),
    "man": (0.20319, 0.86261, 1.25383),
    "monk": (0.17510, 0.36084, 1.14527),
    "titan": (0.15526, 0.36091, 1.12729),
}
# queen · queen, queen · (man − woman), and that difference with itself
QUEEN = (1.75277, -0.11030, 1.77355)


def nearest(t: float, ranking: str = "all") -> list[tuple[str, float]]:
    """The words of TABLE by their cosine with queen + t (man − woman).

    Args:
        t: how often the difference is added
        ranking: "all" words may win, or the "rest", without the three that went in
    Returns: word and cosine, the nearest first
    """
    length = np.sqrt(QUEEN[0] + 2 * t * QUEEN[1] + t * t * QUEEN[2])
    cosines = [(w, (a + t * b) / (norm * length)) for w, (a, b, norm) in TABLE.items()]
    kept = [(w, c) for w, c in cosines if ranking == "all" or w not in INPUTS]
    return sorted(kept, key=lambda one: -one[1])


def make(t: float = 1.0, ranking: str = "all") -> Explorable:
    """Queen, and so many times man − woman.

    Args:
        t: how often the difference is added, from 0 to 2
        ranking: one of RANKINGS
    Returns: what the page is made from
    Raises:
        ValueError: there is no such ranking
    """
    if ranking not in RANKINGS:
        raise ValueError(f"ranking is {ranking!r}; it should be one of {', '.join(RANKINGS)}")
    dots, steps, norms = (list(each) for each in zip(*TABLE.values(), strict=True))
    given = {
        "names": list(TABLE),
        "dots": dots,
        "steps": steps,
        "norms": norms,
        "queen": list(QUEEN),
        "inputs": INPUTS,
        "t": t,
        "ranking": ranking,
    }
    (one, a), (two, b), (three, c) = nearest(t, ranking)[:3]
    return Explorable(
        given,
        "A line from queen along man minus woman with a handle on it, and below it the six words "
        f"that are nearest: {one}, {two} and {three} lead.",
        f"At {t:.2f} the nearest word is {one} ({a:.2f}), then {two} ({b:.2f}) and {three} "
        f"({c:.2f}). An interactive figure: go from queen along man − woman, and see which words "
        "are nearest. It needs JavaScript; here is its first state.",
        "When does king come first?",
    )
