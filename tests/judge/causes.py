"""The mutants' causes in plain words, and what the judge's key must match to have named them.

The words of mutants/*.txt were written first, without knowing the keys; causes.txt maps them:
`pattern = words; words`.
"""

from pathlib import Path

_TEXT = (Path(__file__).parent / "causes.txt").read_text(encoding="utf-8")
_LINES = [line.split(" = ") for line in _TEXT.splitlines() if " = " in line]
PATTERNS = {cause: pattern for pattern, causes in _LINES for cause in causes.split("; ")}
PATTERNS |= {c: f"{p}|{c}|do not sum" for c, p in PATTERNS.items() if p == "cause unknown"}
