"""Three texts on pages of four tokens; two that begin alike share their first page."""

from attention_src.figures.drawing import (
    LIT,
    Drawing,
    Part,
    Scene,
    arrow,
    both,
    box,
    cells,
    column,
    frame,
    label,
    note,
    row,
    tensor,
)

ALT = (
    "Three texts keep their tokens on pages that lie anywhere in memory; two texts that begin with "
    "the same four words share one page."
)
PAGE = 4  # tokens
SLOTS = 8  # pages in memory
# A text: its words, page by page, and the number of each page in memory.
TEXTS = {
    "A": ((1, "the river\nbank was"), (3, "steep and\nwet all"), (6, "winter")),
    "B": ((1, "the river\nbank was"), (4, "closed")),
    "C": ((5, "a bank\nhas money"), (7, "to lend")),
}
SHARED = 1


def pages() -> Drawing:
    """Texts at the sides, the memory between them.

    Caption: A page may lie anywhere; a number beside the text says where. A and B have the same
    beginning, so its page is stored once.

    Returns: the drawing
    """
    return both(_arrange, ALT)


def _arrange(narrow: bool) -> Scene:
    used = {page: len(words.split()) for text in TEXTS.values() for page, words in text}
    slots = [_slot(used.get(i, 0), i == SHARED, 9 if narrow else 13) for i in range(SLOTS)]
    lines = [row(note(f"{i}"), slot, gap=6) for i, slot in enumerate(slots)]
    memory = tensor(label("memory", bold=True), frame(column(*lines, gap=8), gap=8))
    joins, texts = [], {}
    for name, pages_ in TEXTS.items():
        parts = []
        for page, words in pages_:
            entry = box(f"{page}", w=26, h=24, bold=page == SHARED)
            said = note(
                words, "ink" if page == SHARED else "soft", align="end" if name == "A" else "start"
            )
            parts.append(row(*((said, entry) if name == "A" else (entry, said)), gap=8))
            width = 2.5 if page == SHARED else 1
            joins.append(arrow(entry, lines[page], width=width, gap=5))
        side = "right" if name == "A" else "left"
        texts[name] = column(label(f"text {name}", bold=True), *parts, gap=10, align=side)
    right = column(texts["B"], texts["C"], gap=24, align="left")
    root = row(texts["A"], memory, right, gap=27 if narrow else 96)
    said = note(f"page {SHARED}: the same beginning, stored once", "ink")
    return Scene(column(root, said, gap=12), joins)


def _slot(n: int, shared: bool, size: float) -> Part:
    """A page of memory: a key and a value for each of its tokens."""
    strength = LIT if shared else 0.4
    shade = lambda i, j: strength if j < n else "empty"  # noqa: E731
    return cells(2, PAGE, lambda i, j: "kv"[i] if j < n else "ink", size, shade=shade)
