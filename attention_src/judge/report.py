"""What is said about a function: how it is called, what was found, a verdict."""

import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path

LEVELS = {"wrong": "Likely cause", "fragile": "Fragile", "note": "Note"}
EXITS = {"right": 0, "fragile": 0, "wrong": 1, "not judged": 2}
_TEXT = (Path(__file__).parent / "words.txt").read_text(encoding="utf-8")
WORDS = {key: rest for key, *rest in re.findall(r"(?m)^(.+) \[(\w+), (\w+)\]: (.+)$", _TEXT)}
HAPPENED = re.findall(r"(?m)^(.+) -> (.+)$", _TEXT)


@dataclass(frozen=True)
class Finding:
    """One thing that was found.

    Args:
        key: its short name, such as "not scaled"
        level: "wrong"; "fragile", right until something usual happens; "note", a choice to know
        says: what is the matter, in a sentence or two
        case: the smallest input that shows it, or how it was seen; "" if there is nothing to show
        lesson: the chapter that explains it, as in its address
        happened: a real, dated bug of the same kind, by its title in "It happened"; "" if none is
    """

    key: str
    level: str
    says: str
    case: str = ""
    lesson: str = ""
    happened: str = ""

    def __str__(self) -> str:
        lines = [f"{LEVELS[self.level]} ({self.key}): {self.says}", *self.case.splitlines()]
        if self.level == "wrong":
            happened = f" It happened: {self.happened}." * bool(self.happened)
            lines.append(f"See the chapter {self.lesson}.{happened}")
        return "\n  ".join(lines)


@dataclass(frozen=True)
class Report:
    """A verdict, and why.

    Args:
        kind: what it was judged as
        verdict: "right", "wrong", "fragile" (right until something usual happens) or "not judged"
        convention: how it is called and what it chose, by name: layout, mask, framework, ...
        findings: causes first, then what is fragile, then notes
        cause: the key of the first cause; None if nothing is wrong
        seconds: that judging took
        name: of what was judged
        why: the reason, where nothing could be judged
    """

    kind: str
    verdict: str
    convention: dict[str, str]
    findings: tuple[Finding, ...]
    cause: str | None
    seconds: float
    name: str = ""
    why: str = ""

    @property
    def exit_code(self) -> int:
        """0 right (if fragile, too), 1 wrong, 2 not judged."""
        return EXITS[self.verdict]

    def to_json(self) -> str:
        """All of it as JSON.

        Returns: a text, with the words of `str(report)` under "words"
        """
        return json.dumps(
            asdict(self) | {"exit_code": self.exit_code, "words": str(self)}, ensure_ascii=False
        )

    def __str__(self) -> str:
        said = [f"{key}: {value}" for key, value in self.convention.items()]
        said += [self.why] * (self.verdict == "not judged")
        head = f"{self.name}: {self.verdict}" + f", as {self.kind}" * bool(self.kind)
        return "\n".join([head, *(f"  {line}" for line in said), *map(str, self.findings)])


@dataclass
class Draft:
    """A report while it is written."""

    name: str
    kind: str
    convention: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    why: str = ""

    def add(self, key: str, *values: object, case: str = "") -> None:
        """Add a finding of words.txt.

        Args:
            key: its name
            values: what its sentence lacks
            case: what shows it
        """
        level, lesson, says = WORDS[key]
        self.cause(key, says.format(*values), lesson, case, level)

    def cause(self, key: str, says: str, lesson: str, case: str = "", level: str = "wrong") -> None:
        """Add a finding in words of its own.

        Args:
            key, says, lesson, case, level: as in `Finding`
        """
        happened = next((bug for words, bug in HAPPENED if re.search(words, key)), "")
        self.findings.append(Finding(key, level, says, case, lesson, happened))

    def keys(self, level: str = "wrong") -> list[str]:
        """The names of what was found.

        Args:
            level: at this level
        Returns: in the order in which it was found
        """
        return [finding.key for finding in self.findings if finding.level == level]

    def finish(self, seconds: float) -> Report:
        """The report.

        Args:
            seconds: that judging took
        Returns: with the verdict that follows from the findings
        """
        wrong, fragile = self.keys(), self.keys("fragile")
        fine = "not judged" if self.why else "fragile" if fragile else "right"
        found = tuple(x for level in LEVELS for x in self.findings if x.level == level)
        verdict, cause = ("wrong", wrong[0]) if wrong else (fine, None)
        return Report(
            self.kind, verdict, self.convention, found, cause, seconds, self.name, self.why
        )
