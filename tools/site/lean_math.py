"""Write what KaTeX has set with fewer elements, and every letter in the same place.

KaTeX writes a box for all that TeX has a box for. A page with 200 formulas then has thousands of
elements that draw nothing, and a browser lays out each of them. What is written instead:

    a script alone      KaTeX: a table of 7 or 11 elements, msupsub > vlist-t > vlist-r > vlist > …
                        Here: one span that is moved up or down (class "script")
    a space             KaTeX: an empty span with a margin. Here: a margin of the span before it
    a kind of atom      KaTeX: a span of class mord, mbin, …, though its style sheet has no rule
                        for these. Here: what the span holds
    a font or a colour  KaTeX: a span around the span of a letter. Here: one span with both classes
    a strut             KaTeX: an empty span as high as the formula. Here: the style sheet draws it
                        (.base::before), as high and as low as variables of the base say
    a short formula     KaTeX: one base inside the span katex-html. Here: one span with both classes
    what is read aloud  KaTeX: MathML in a span that hides it. Here: MathML with the class of that,
                        and none for letters and signs in a row, such as n = 3: these are read aloud
                        as they are shown, and their katex-html has no aria-hidden

All else stays as KaTeX wrote it: fractions, roots, limits, tables, a script that holds one of
these, and a subscript that stands below a superscript. The rules for what is new are in course.css,
in its part on equations.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeGuard
from xml.etree import ElementTree

# KaTeX's style sheet has no rule for these alone.
_KINDS = {"mord", "mbin", "mrel", "mopen", "mclose", "mpunct", "minner", "mop", "text"}
_KINDS |= {"enclosing", "mtight"}
# These choose a font or a colour, and neither a place nor a size.
_LOOKS = {"mathnormal", "mathrm", "mathit", "mathbf", "mathbb"} | {f"math-{c}" for c in "qkvop"}
# KaTeX's sizes 1 to 11, and the classes that take letters from one to another.
_SIZES = (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.44, 1.728, 2.074, 2.488)
_TAG = re.compile(r"<(\w+)")
# What MathML writes for letters and signs that stand in a row.
_IN_A_ROW = {"span", "math", "mrow", "mi", "mn", "mo", "mtext"}
_SIZED = re.compile(r"\bsizing reset-size(\d+) size(\d+)\b")


@dataclass
class Span:
    """An element, with its attributes `class` and `style` taken apart."""

    tag: str
    classes: list[str]
    style: dict[str, str]
    others: dict[str, str]
    inside: list[Span | str]  # a str is HTML


def lean(out: str, *, display: bool) -> str:
    """What KaTeX wrote, with fewer elements.

    Args:
        out: MathML and HTML, as KaTeX's renderToString returns them
        display: whether the formula stands on a line of its own
    """
    start = out.index('<span class="katex-html"')
    end = len(out) - len("</span>") * (1 + display)
    # Inside HTML an svg needs no namespace, and without it the parser gives plain names.
    shown = out[start:end].replace(' xmlns="http://www.w3.org/2000/svg"', "")
    whole = rewrite(read(ElementTree.fromstring(shown)))
    if not display and len(whole.inside) == 1:
        base = whole.inside[0]
        if isinstance(base, Span) and base.classes == ["base"]:
            whole = Span("span", ["katex-html", "base"], base.style, whole.others, base.inside)
    if not display and set(_TAG.findall(out[:start])) <= _IN_A_ROW:
        del whole.others["aria-hidden"]
        return out[: out.index(">") + 1] + write(whole) + out[end:]
    mathml = out[:start].replace('<span class="katex-mathml"><math', '<math class="katex-mathml"')
    return mathml.replace("</math></span>", "</math>") + write(whole) + out[end:]


def read(element: ElementTree.Element) -> Span:
    """A parsed element as a Span."""
    others = dict(element.attrib)
    classes = others.pop("class", "").split()
    style = dict(rule.split(":", 1) for rule in others.pop("style", "").split(";") if rule)
    inside: list[Span | str] = [html.escape(element.text)] if element.text else []
    for child in element:
        inside.append(read(child))
        if child.tail:
            inside.append(html.escape(child.tail))
    return Span(element.tag, classes, style, others, inside)


def write(part: Span | str) -> str:
    """The HTML of an element or a text."""
    if isinstance(part, str):
        return part
    style = ";".join(f"{name}:{value}" for name, value in part.style.items())
    attributes = {"class": " ".join(part.classes), "style": style, **part.others}
    words = (f' {name}="{html.escape(value)}"' for name, value in attributes.items() if value)
    return f"<{part.tag}{''.join(words)}>{''.join(map(write, part.inside))}</{part.tag}>"


def rewrite(span: Span) -> Span:
    """The same with fewer elements, from the innermost outwards."""
    span.inside = [part if isinstance(part, str) else rewrite(part) for part in span.inside]
    if span.classes[:1] == ["msupsub"]:
        return script_alone(span) or span
    if not span.classes or not is_inline(span, {"base"}):
        return span  # rules of the style sheet ask for what stands just inside it
    if "base" in span.classes:
        leave_strut_to_css(span)
    groups = [part.inside if groups_only(part) else [part] for part in span.inside]
    spaced = with_margins(part for group in groups for part in group)
    span.inside = [part for part in map(without_kinds, spaced) if part != ""]
    return span if "base" in span.classes else as_one(span)


def is_inline(part: Span | str, also: Iterable[str] = ("script",)) -> TypeGuard[Span]:
    """Whether its classes choose no more than a look, a size, and what `also` names."""
    if isinstance(part, str) or part.tag != "span" or part.others:
        return False
    others = set(_SIZED.sub("", " ".join(part.classes)).split())
    return others <= _KINDS | _LOOKS | set(also)


def groups_only(part: Span | str) -> TypeGuard[Span]:
    """Whether it is an element that draws nothing and holds other elements."""
    if not is_inline(part, ()) or part.style or not part.classes or set(part.classes) - _KINDS:
        return False
    return any(isinstance(inner, Span) for inner in part.inside)


def is_flat(part: Span | str) -> bool:
    """Whether it is text in a line and holds nothing else, but perhaps other scripts."""
    if isinstance(part, str):
        return True
    return is_inline(part, {"script", "mspace"}) and all(map(is_flat, part.inside))


def is_space(part: Span | str) -> TypeGuard[Span]:
    """Whether it is an empty element with a margin."""
    if isinstance(part, str) or part.inside or part.classes[:1] != ["mspace"]:
        return False
    return list(part.style) == ["margin-right"]


def scale(span: Span) -> float:
    """How many times as large as around it the letters in it are."""
    sized = _SIZED.search(" ".join(span.classes))
    return _SIZES[int(sized[2]) - 1] / _SIZES[int(sized[1]) - 1] if sized else 1.0


def em(length: str) -> float:
    """The number in a length such as 0.5em."""
    return float(length.removesuffix("em"))


def in_em(number: float) -> str:
    """A length such as 0.5em, finer than any pixel."""
    return f"{number:.4g}em"


def first(span: Span) -> Span:
    """The first of the elements in it."""
    return next(part for part in span.inside if isinstance(part, Span))


def script_alone(span: Span) -> Span | None:
    """If a table holds one script, and that is flat: its letters, to be moved up or down.

    A table or a root in a script would take room in the line at the place from which it is moved.
    """
    # msupsub > vlist-t > vlist-r > vlist holds an item for each script.
    column = first(first(first(span)))
    if len(column.inside) != 1:
        return None
    item = first(column)
    strut, letters = (part for part in item.inside if isinstance(part, Span))
    if not is_flat(letters):
        return None
    # The letters stand on the bottom of the strut. What was in em of the letters around the script
    # is now in em of its own letters.
    down = em(strut.style["height"]) + em(item.style["top"])
    style = {"top": in_em(down / scale(letters))}
    if left := em(item.style.get("margin-left", "0em")):
        style["margin-left"] = in_em(left / scale(letters))
    script = Span("span", ["script", *letters.classes], letters.style | style, {}, letters.inside)
    add_margin(script, em(item.style.get("margin-right", "0em")) / scale(letters))
    return script


def leave_strut_to_css(base: Span) -> None:
    """Take the strut out of a base, and note in the base how high it was and how low."""
    strut = first(base)
    base.inside.remove(strut)
    names = {"height": "--tall", "vertical-align": "--low"}
    base.style |= {names[name]: value for name, value in strut.style.items()}


def with_margins(parts: Iterable[Span | str]) -> Iterator[Span | str]:
    """The parts, each space as a margin of the text before it, where that can have one."""
    before: Span | str = ""
    for part in parts:
        if is_space(part) and is_inline(before):
            add_margin(before, em(part.style["margin-right"]) / scale(before))
        else:
            yield before
            before = part
    yield before


def add_margin(span: Span, more: float) -> None:
    """Make its right margin wider, in em of its own letters."""
    if more:
        span.style["margin-right"] = in_em(em(span.style.get("margin-right", "0em")) + more)


def without_kinds(part: Span | str) -> Span | str:
    """Without the classes that no rule asks for, and without the element if nothing is left."""
    if isinstance(part, str) or not is_inline(part):
        return part
    part.classes = [name for name in part.classes if name not in _KINDS]
    return part if part.classes or part.style else "".join(map(write, part.inside))


def as_one(span: Span) -> Span:
    """A span that holds one span of letters and no more: both as one."""
    inner = span.inside[0] if len(span.inside) == 1 else ""
    if isinstance(inner, str) or not is_inline(inner, ()) or scale(inner) != 1:
        return span
    if set(inner.style) - {"margin-right"}:
        return span
    add_margin(span, em(inner.style.get("margin-right", "0em")))
    span.classes, span.inside = [*span.classes, *inner.classes], inner.inside
    return span
