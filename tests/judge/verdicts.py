"""Judge many things once, and count what was said."""

import re
import time
import warnings
from typing import Any, NamedTuple

from causes import PATTERNS

from attention_src.judge import judge


class Verdict(NamedTuple):
    """What was said of one thing."""

    name: str
    expected: str
    verdict: str
    keys: tuple[str, ...]  # of findings that blame
    notes: tuple[str, ...]
    happened: str
    seconds: float
    why: str

    @property
    def named(self):
        """Whether one of the causes is the expected one."""
        pattern = PATTERNS.get(self.expected, self.expected)
        return any(re.search(pattern, key) for key in (*self.keys, self.why))

    @property
    def refused(self):
        """Wrong; or for the expected cause fragile, or not judged, as with weights made anew."""
        return self.verdict == "wrong" or (self.verdict != "right" and self.named)


def verdict_of(name: str, expected: str, thing: Any, kind: str, **given: Any) -> Verdict:
    """The judge's verdict on one thing."""
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = judge(thing, kind, **given)
    blamed = [finding for finding in report.findings if finding.level != "note"]
    happened = " ".join(finding.happened for finding in blamed)
    seconds = time.perf_counter() - begin
    keys = tuple(finding.key for finding in blamed)
    notes = tuple(finding.key for finding in report.findings if finding.level == "note")
    return Verdict(name, expected, report.verdict, keys, notes, happened, seconds, report.why)


def share(verdicts, holds):
    """The share for which something holds; those for which it does not, in lines."""
    verdicts = list(verdicts)
    others = [v for v in verdicts if not holds(v)]
    lines = "\n".join(
        f"{v.name}: {v.expected}; {v.verdict} {v.keys} {v.notes} {v.why[:80]}" for v in others
    )
    return 1 - len(others) / len(verdicts), lines
