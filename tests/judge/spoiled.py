"""Mutants: right functions of many hands, and lines of text that spoil them.

mutants/<style>.txt says `== function kind`, then `cause: old => new`, several joined by ` ;; `. A
`\\n` stands for a new line. Each old text stands in the function, or what it uses, exactly once. A
line `= why` above a mutant says that it is right in another convention: it may not be refused.
"""

import re
import sys
import types
from pathlib import Path
from typing import NamedTuple

MUTANTS = Path(__file__).parent / "mutants"


class Mutant(NamedTuple):
    style: str
    function: str
    kind: str
    cause: str
    text: str
    number: int
    excuse: str  # why it is right in another convention, or ""

    def make(self):
        """The function, made of the spoiled text."""
        return made(self.text, f"{self.style}_{self.number}")[self.function]


def made(text, name):
    """The names that a module of this text defines; classes find it in sys.modules."""
    module = types.ModuleType(f"mutants_{name}")
    sys.modules[module.__name__] = module
    exec(compile(text, f"<{name}>", "exec"), vars(module))
    return vars(module)


def spoil(text, changes):
    """The text with its changes; old texts are looked for one after the other."""
    for change in changes.split(" ;; "):
        old, new = (part.replace("\\n", "\n") for part in change.split(" => "))
        if text.count(old) != 1:
            raise ValueError(f"{old!r} stands {text.count(old)} times in the text")
        text = text.replace(old, new)
    return text


def parts(text):
    """A module's text, cut before each function and class at its margin: (name, text) each."""
    pieces = re.split(r"(?m)^(?=def |class |@)", text)
    joined, kept = [], ""
    for piece in pieces:
        kept += piece
        if not piece.startswith("@"):
            found = re.match(r"(?:@.*\n)*(?:def|class) (\w+)", kept)
            joined.append((found[1] if found else "", kept))
            kept = ""
    return joined


def _spoil_where_it_stands(text, function, changes):
    """Spoil the function's own text; what stands elsewhere too, is changed there."""
    pieces = parts(text)
    for name in (function, *HELPERS.get(function, ())):
        own = dict(pieces)[name]
        try:
            changed = spoil(own, changes)
        except ValueError as error:
            reason = error
            continue
        return "".join(changed if n == name else t for n, t in pieces)
    raise reason


HELPERS = {
    "HeadsInAList": ("Head",),
    "halves": ("rotate_half",),
}


def mutants():
    """Every mutant of every file, in order."""
    found, excuse = [], ""
    for path in sorted(MUTANTS.glob("*.txt")):
        text = path.with_suffix(".py").read_text()
        for line in path.read_text().splitlines():
            if line.startswith("== "):
                _, function, kind = line.split()
            elif line.startswith("= "):
                excuse = line[2:]
            elif line.strip():
                cause, changes = line.split(": ", 1)
                spoiled = _spoil_where_it_stands(text, function, changes)
                mutant = Mutant(path.stem, function, kind, cause, spoiled, len(found), excuse)
                found.append(mutant)
                excuse = ""
    return found


def right_ones():
    """(style, function, kind, made function) of what the mutants were made of."""
    found = []
    for path in sorted(MUTANTS.glob("*.txt")):
        names = made(path.with_suffix(".py").read_text(), path.stem)
        for line in path.read_text().splitlines():
            if line.startswith("== "):
                _, function, kind = line.split()
                found.append((path.stem, function, kind, names[function]))
    return found
