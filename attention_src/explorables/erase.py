"""The explorable "erase": tokens that no head sees, and how far their sentence's vector turns."""

from typing import Any

from attention_src.explorables.drawing import Explorable
from attention_src.models.minilm.erasing import recorded

PRESS = ("button", "erase [CLS]", "Enter")
SAYS = "The most within 10° so far: 61\u00a0%."
IN_SIGHT = ('[data-key="name0"]', '[data-key="notch"]')  # a token to press, and how far to go
STATES = ("gone", "share")
NAMES = ("[CLS]", "first the", "cat", "sat", "on", "second the", "mat", "[SEP]")
NEEDS = "It needs JavaScript; here is its first state."


def make(state: str = "gone") -> Explorable:
    """All that can be erased of "The cat sat on the mat", as it was recorded.

    Args:
        state: "gone", with the second "the" erased; or "share", with [CLS] erased, and the other
            tokens share its weight
    Returns: what the page is made from
    Raises:
        ValueError: there is no such state
    """
    if state not in STATES:
        raise ValueError(f"state is {state!r}; it should be one of {', '.join(STATES)}")
    given: dict[str, Any] = {**recorded(), "names": list(NAMES), "state": state}
    if state == "gone":
        del given["stretched"], given["shares"]  # only the other state shows them
        given |= {"erased": 1 << 5, "kind": "leave"}
        return Explorable(
            given,
            "Eight bars: the token [CLS] has 56 per cent of all weight, no other more than 8. The "
            "second the is erased, and an arrow has turned by 6.9 degrees, less than a notch at "
            "10. Another notch, dog for cat, stands at 43.5.",
            "An interactive figure: erase tokens of a sentence, and see how far its vector turns. "
            f"{NEEDS}",
            "How much attention can go before the vector turns by 10°?",
        )
    given |= {"erased": 1, "kind": "stretch"}
    return Explorable(
        given,
        "[CLS] is erased and the other seven tokens share its weight. The arrow has turned by "
        "43.7 degrees, as far as the notch dog for cat.",
        "An interactive figure: erase tokens, and let the others share their weight or not. "
        f"{NEEDS}",
        "What if each row sums to 1 again?",
        state=state,
    )
