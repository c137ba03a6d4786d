"""How something is drawn, as the arguments of matplotlib's functions say it."""

import re
from typing import Any

SHORT = {"lw": "linewidth", "ls": "linestyle", "ms": "markersize", "mew": "markeredgewidth"}
SHORT |= {"fontsize": "size", "horizontalalignment": "ha", "verticalalignment": "va"}
FORMAT = re.compile(r"(--|-\.|-|:)?([.os^*])?(--|-\.|-|:)?")


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
    names = [name for name in ("ha", "va", "size", "color", "rotation") if name in look]
    kept = {name: look.pop(name) for name in names}
    finish(look)
    return kept


def finish(look: dict[str, Any]) -> None:
    """Refuse what nobody has used."""
    for name in look:
        raise ValueError(f"Figures in the page do not know {name}=: draw this in the notebook.")
