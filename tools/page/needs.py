"""What a code cell needs that Python in the page has not, and so why it has no "Run here" button.

Its author says it in a tag. A cell tagged `setup` runs unseen, before the first one with a button.
"""

from __future__ import annotations

from dataclasses import dataclass

from tools.book.chapters import Chapter

# What is said of each tag stands before a link to the notebook.
WORDS = {
    "needs-processes": "starts processes",
    "needs-triton": "needs Triton",
    "needs-smollm2": "needs SmolLM2",
    "needs-torch": "needs PyTorch",
    "needs-clock": "measures time",
    "needs-packages": "reads packages",
    "needs-matplotlib": "draws what only matplotlib can",
    "needs-file": "writes a file",
    "explorable": "moves without Python",
    "setup": "runs before the first cell",
}
ON_PAGE = {WORDS["explorable"], WORDS["setup"]}  # not for want of anything: no notebook is needed
MINILM = "needs MiniLM"  # said of cells tagged minilm where the site could not get its weights


@dataclass
class Cell:
    """A code cell: its source and tags."""

    source: str
    tags: list[str]

    @property
    def reason(self) -> str:
        """Why it has no button; "" if it has one, or is not shown."""
        return next((words for tag, words in WORDS.items() if tag in self.tags), "")

    @property
    def minilm(self) -> bool:
        """Whether it has a button where the site has MiniLM's weights, and only there."""
        return "minilm" in self.tags

    @property
    def shown(self) -> bool:
        """Whether the page shows its code."""
        return not {"remove-cell", "remove-input"} & set(self.tags)

    @property
    def runs(self) -> bool:
        """Whether it has a button; without one run those that only prepare."""
        return self.shown and not self.reason


def cells(chapter: Chapter) -> list[Cell]:
    """The code cells of a chapter, in order."""
    read = (cell for cell in chapter.read().cells if cell.cell_type == "code")
    return [Cell(cell.source, list(cell.metadata.get("tags", []))) for cell in read]
