"""The explorable "pages": texts that grow in one memory, in reserved rooms or on pages."""

from dataclasses import asdict
from typing import Any

from attention_src.explorables.drawing import Explorable, Line
from attention_src.explorables.pages_memory import KINDS, SIZES, SLOTS, TEXTS, counts, run

PRESS = ("button", "End A", "Enter")
SAYS = "10 tokens take 3 pages of 4"
START: dict[str, Any] = {"events": ["next"] * 4, "size": 4, "policy": "pages", "chosen": "A"}
QUESTION = "Three texts grow in one memory, and a fourth may come. How much of it is wasted?"
TRIES: tuple[Line, ...] = (
    "Move the page size. Which size wastes least, and what does it cost?",
    "Reserve each text’s limit instead, its greatest length: 16 slots, 12 for B. Then end B, and "
    "let D begin like A. Does D find room?",
    "Go back to pages. With D begun like A, take a step: who gets a copy, and why? (See below.)",
)
# In braces: what the script computes.
WORDS: dict[str, Any] = {
    # On the controls.
    "next": "Next step",
    "room": "Room",
    "policies": {"pages": "pages", "reserve": "reserve each limit"},
    "size": "page size",
    "text": "Text",
    "texts": {name: name for name in TEXTS},
    "end": "End {chosen}",
    "like": "Begin {newest} like {chosen}",
    "again": "Start over",
    # The lines of the texts.
    "label": "Texts, a block table and the memory",
    "pages_lanes": "tokens, and the page that holds them",
    "reserve_lanes": "tokens, and the slot where they start",
    "longest": "full: {n}",
    "waits": "must wait",
    "ended": "has ended",
    "absent": "not begun",
    # The memory.
    "pages_table": "block table of {text}",
    "reserve_table": "{text} starts at slot",
    "no_table": "{text} has no slots",
    "users": "×{n}",
    "copy": "copy",
    "free": "free pages, the next first: {list}",
    "none": "none",
    # What is wasted.
    "wasted": "wasted, as a share of the memory",
    "pages_share": "on pages of {size}",
    "reserve_share": "with each limit reserved",
    "kinds": {
        "token": "holds a token",
        "reserved": "reserved, not yet used",
        "tail": "rest of a text’s last page",
        "hole": "gap too short for a text of {limit}",
        "free": "free",
    },
    "columns": "slots of {slots}",
    # The sentence. The first of these that fits is said.
    "empty": "No text is left: all {slots} slots are free.",
    "copied": "{text} had to write into page {old}, which {others} uses too. So it got a copy of "
    "its own first: page {copy}.",
    "pages_wait": "{who} must wait for a page: none is free, although {empty} slots hold nothing.",
    "reserve_wait": "{who} must wait for {limit} free slots in a row. {free} slots are free, at "
    "most {gap} of them in a row.",
    "shared": "{who} begin alike: {n} are stored once for both, on {pages} with two users.",
    "reserve": "Only {tokens} of {slots} slots hold tokens. {reserved} are kept for tokens that "
    "may never come, and {hole} lie in gaps too short for another text of {limit}.",
    "pages_of_1": "On pages of one slot nothing is wasted, but the block tables have an entry for "
    "each token: {tokens}.",
    "pages_of_16": "A page of {size} is as long as the longest text: to take a page is to reserve "
    "all that it may need.",
    "pages": "{tokens} tokens take {used} pages of {size}. Only the rest of each last page is "
    "wasted: {tail} slots now, at most {most} a text.",
}


def make() -> Explorable:
    """Three texts, and a fourth that begins like one of them, in a memory of 48 slots.

    Returns: what the page is made from
    """
    page = START["size"]
    now = run(START["events"], page, "pages")
    kinds = counts(now)
    said = WORDS["pages"].format(
        tokens=kinds["token"],
        used=sum(map(len, now.table.values())),
        size=page,
        tail=kinds["tail"],
        most=f"{page - 1} slots",
    )
    rooms = counts(run(START["events"], page, "reserve"))
    return Explorable(
        start(),
        f"Tokens of three texts in a memory of {SLOTS} slots, and the block table of one. On pages "
        f"of {page} slots {kinds['tail']} slots are wasted; with each text's limit "
        f"reserved, {rooms['reserved'] + rooms['hole']}.",
        f"{said} An interactive figure: let texts grow, end and begin, choose the page size, and "
        "see what is wasted. It needs JavaScript; here is its first state.",
        QUESTION,
        TRIES,
    )


def start() -> dict[str, Any]:
    """The data that the script starts from.

    Returns: the memory's slots, the texts, the page sizes, the kinds of slots, the first state, the
        words
    """
    return {
        "slots": SLOTS,
        "texts": {name: asdict(text) for name, text in TEXTS.items()},
        "newest": "D",
        "sizes": SIZES,
        "kinds": KINDS,
        "start": START,
        "words": WORDS,
    }
