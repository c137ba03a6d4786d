"""The explorable "copyist_looks": where a network with attention looks as it writes a word."""

from attention_src.explorables.drawing import Explorable
from attention_src.models.copyist import LENGTHS, recorded, words

PRESS = ("slider", "step", "ArrowRight")
SAYS = "Writing “h”"
LENGTH, STEP = 8, 3  # elephant, and its p


def make() -> Explorable:
    """Three networks with attention after 700 steps of practice, and the weights of the first.

    Returns: what the page is made from
    """
    of, runs = words(attends=True), recorded(task="copy", attends=True, steps=700)
    spelled = list(of)
    given = {
        "start": {"length": LENGTH, "step": STEP},
        "least": LENGTHS[0],
        "most": LENGTHS[-1],
        "words": spelled,
        "written": [each["written"] for each in of.values()],
        "weights": [each["weights"] for each in of.values()],
        "shares": [run["whole"] for run in runs],
    }
    word = spelled[LENGTH - LENGTHS[0]]
    weights = of[word]["weights"][STEP]
    most = max(weights)
    return Explorable(
        given,
        f"The letters of {word}, a state below each, and what three networks wrote. From the "
        f"letter that the first one is writing, lines as thick as its weights lead to the states.",
        f"Writing place {STEP} of {word}, the network puts {most:.0f} % of its weight on place "
        f"{weights.index(most)}. An interactive figure: choose a word and a step. It needs "
        "JavaScript; here is its first state.",
        "Where does it look?",
    )
