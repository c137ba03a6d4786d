"""How something is drawn, as the arguments of matplotlib's functions say it; the rest is refused.

What would be left out, or drawn otherwise, without a word is worse than an error.
"""

import re
from typing import Any

SHORT = {"lw": "linewidth", "ls": "linestyle", "ms": "markersize", "mew": "markeredgewidth"}
SHORT |= {"c": "color", "fontsize": "size", "horizontalalignment": "ha", "verticalalignment": "va"}
FORMAT = re.compile(r"(--|-\.|-|:)?([.os^*])?(--|-\.|-|:)?")
WORDS = {
    "ha": ("left", "center", "right"),
    "va": ("top", "bottom", "center", "baseline", "center_baseline"),
    "rotation": (0, 90),
}
NOTEBOOK = "draw this in the notebook."


class Refuses:
    """Says of a method that is not here that it is not."""

    called = ""  # as the course calls it

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"Figures in the page have no {self.called}.{name}: {NOTEBOOK}")


def long_names(look: dict[str, Any]) -> dict[str, Any]:
    """With linewidth in place of lw, and so on."""
    return {SHORT.get(name, name): value for name, value in look.items()}


def line_format(style: str) -> tuple[str, str | None]:
    """Line and marker of a format: "o--" is "--" and "o"; a marker alone has the line "none"."""
    found = FORMAT.fullmatch(style)
    if found is None:
        raise ValueError(f"{style!r} should be a line (- -- -. :), a marker (. o s ^ *), or both")
    before, marker, after = found.groups()
    return before or after or ("none" if marker else "-"), marker


def words(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a text."""
    look = long_names(given)
    kept = {name: look.pop(name) for name in (*WORDS, "size", "color") if name in look}
    finish(look)
    for name, known in WORDS.items():
        one_of(name, kept.get(name, known[0]), *known)
    if isinstance(kept.get("size"), str):
        raise ValueError(f"size={kept['size']!r} should be a number of points")
    return kept


def label(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a title or of the label of an axis: its size and colour."""
    look = words(given)
    finish({name: value for name, value in look.items() if name in WORDS})
    return look


def one_of(name: str, value: Any, *known: Any) -> None:
    """Refuse a value that means nothing here."""
    if value not in known:
        can = " or ".join(map(repr, known))
        raise ValueError(f"{name}={value!r} should be {can}, or {NOTEBOOK}")


def finish(look: dict[str, Any]) -> None:
    """Refuse what nobody has used."""
    for name in look:
        raise ValueError(f"Figures in the page do not know {name}=: {NOTEBOOK}")
