"""What the page's own Python should do: the chapter's cells, what they print, its exercises."""

import configparser
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
from built_site import ROOT

from tools.book.chapters import Book
from tools.book.freshness import own_cells
from tools.page import needs

RULES = configparser.ConfigParser()
RULES.read(Path(__file__).parents[1] / "sanitize.cfg", encoding="utf-8")
FIGURE = "a figure: "
# A run's output as text, a figure as its description.
AS_TEXT = f"""pre => [...pre.childNodes].map(part => part.className === 'drawing'
  ? `{FIGURE}${{part.querySelector('svg').getAttribute('aria-label')}}\\n`
  : part.textContent).join('')"""


def chapter_of(page):
    return next(c for c in Book(ROOT).chapters if f"{c.docname}.html" == page)


def comparable(text):
    """Text without what may differ between two runs: timings."""
    for name in RULES.sections():
        text = re.sub(RULES[name]["regex"], RULES[name]["replace"], text)
    return text.strip()


def printed(cell):
    """What a stored cell printed, as the page prints it."""
    parts = []
    for output in cell.outputs:
        data = output.get("data", {})
        if "image/svg+xml" in data:
            parts.append(FIGURE + data["text/plain"] + "\n")
        else:
            parts.append(output.get("text") or data.get("text/plain", ""))
    return comparable("".join(parts))


def stored(page):
    """Source and printed text of each cell that the page can run."""
    cells = own_cells(nbformat.read(chapter_of(page).notebook, as_version=4))
    here = [needs.Cell(cell.source, cell.metadata.get("tags", [])).runs for cell in cells]
    return [(cell.source, printed(cell)) for cell, runs in zip(cells, here, strict=True) if runs]


@dataclass
class Exercise:
    """One exercise: its label, its stub and check cells, and the solution that the page prints."""

    label: str
    stub: str
    check: str
    solution: str
    more: list[tuple[str, str, str]]  # its further stubs, checks and solutions

    @property
    def wrong(self):
        """The stub, with an answer that nobody could accept."""
        return self.stub.replace("raise NotImplementedError", "return 0.5")


def exercises(page):
    """The exercises of a chapter that have a check, which runs in the page."""
    text = chapter_of(page).text
    found = []
    for label in re.findall(r"^:label: (ex:\S+)$", text, re.MULTILINE):
        part = text.split(f"\n:label: {label}\n")[1]
        before, _, after = part.partition(f"{{solution-start}} {label}\n")
        cells = re.findall(r"```\{code-cell\}.*?\n(.*?)\n?```", before, re.DOTALL)
        cells = [c for c in cells if "needs-" not in c.partition("\n")[0]]
        stubs = [c for c in cells if "raise NotImplementedError" in c]
        checks = [c for c in cells if re.search(r"^check_\w+\(", c, re.MULTILINE)]
        if stubs and checks:
            solution = after.partition("{solution-end}")[0]
            answers = re.findall(r"```python\n(.*?)```", solution, re.DOTALL)
            first, *more = zip(stubs, checks, answers, strict=False)
            found.append(Exercise(label, *first, more))
    return found
