"""The explorable "copyist": what three networks write down of a word that they read."""

from attention_src.explorables.drawing import Explorable
from attention_src.models.copyist import LENGTHS, recorded, words

PRESS = ("slider", "letters", "ArrowRight")
SAYS = "“elephant”: none of the three came back right."
# The slider; what was written, and where the chart stands.
IN_SIGHT = ("input", "[data-key=row2-tile0]")  # the slider, and the last word that comes back
LENGTH = 7  # of the first word


def make() -> Explorable:
    """Three networks with one vector between reader and writer, after 700 steps of practice.

    Returns: what the page is made from
    """
    of, runs = words(attends=False), recorded(task="copy", attends=False, steps=700)
    spelled, at = list(of), LENGTH - LENGTHS[0]
    given = {
        "start": {"length": LENGTH},
        "least": LENGTHS[0],
        "most": LENGTHS[-1],
        "words": spelled,
        "written": [each["written"] for each in of.values()],
        "states": [each["state"] for each in of.values()],
        "shares": [run["whole"] for run in runs],
    }
    word = spelled[at]
    written = ", ".join(of[word]["written"])
    shares = ", ".join(f"{run['whole'][at]:.0f}" for run in runs)
    return Explorable(
        given,
        f"The letters of {word} run into one strip of 52 cells; below it three networks wrote "
        f"{written}. A chart: the share of new strings copied whole falls with their length.",
        f"Three networks read {word} into one vector and wrote {written}; of 500 new strings of "
        f"{LENGTH} letters they copied {shares} %. An interactive figure: choose a length. It "
        "needs JavaScript; here is its first state.",
        "What comes back?",
    )
