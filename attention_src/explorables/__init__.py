"""Explorables: figures that the reader can change, without a kernel.

    explorable("one_query")

NAMES lists them. Each is found by its files, and its module says in its first line what it is for.

Each is one self-contained HTML output: style, script, and a picture with a sentence for places that
run no scripts, such as GitHub's viewer. The scripts are the .js files in this folder, written to be
read: plain ES modules and native controls, together a tenth of the size of a chart library. They
need no network but for one thing: on the course's site, the two sentences fetch their model when a
reader presses the button or begins to type.

They are pictures of *marks*: one function of state and width says what is drawn, and scene.js shows
it. Their stills are files in stills/, which `python -m attention_src.explorables` draws with the
same function, and tests in Node compare what it draws with NumPy.

Each module has make(), which gives what the page is made from; PRESS, a control by its role and
name, and a key for it; and SAYS, part of what is read out after that. Those that open a lesson also
have IN_SIGHT, CSS selectors of what is dragged and of where to, which a test looks for on the first
screen. One that is shown in several states, on one page too, has STATES, whose names its maker
takes as `state`; the first is the usual one.
"""

import base64
import inspect
import json
from html import escape
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from attention_src.explorables.bundling import bundle, scripts
from attention_src.explorables.drawing import Explorable, Line, still

HERE = Path(__file__).parent
# Each has a module of its own, which is imported when it is shown, a script and a style.
NAMES = tuple(sorted(f.stem for f in HERE.glob("*.css") if f.with_suffix(".py").exists()))


def explorable(name: str, **given: Any) -> None:
    """Show an explorable as the output of a notebook's cell.

    Args:
        name: one of NAMES, such as "softmax"
        given: what its maker takes, such as state="two"
    Raises:
        ValueError: there is no explorable of that name, or `given` does not fit it
    """
    from IPython.display import display

    page = explorable_html(name, **given)
    display({"text/html": page, "text/plain": content(name, given).sentence}, raw=True)


def explorable_html(name: str, **given: Any) -> str:
    """The HTML of an explorable: the same bytes on each run.

    It loads nothing by itself. Where the site has told it of a model, a reader's press or key loads
    that.

    Args:
        name, given: as for `explorable`
    Returns: a <div>
    Raises:
        ValueError: there is no explorable of that name, or `given` does not fit it
    """
    chosen = content(name, given)
    data = escape(json.dumps(chosen.given, ensure_ascii=False))
    drawn, (width, height) = still(name, chosen.state)
    picture = base64.b64encode(drawn.encode()).decode()
    label = escape(_views(chosen.question)[0]) or f"Interactive figure: {name}"
    first = (
        f'<img src="data:image/svg+xml;base64,{picture}" width="{width}" height="{height}" '
        f'alt="{escape(chosen.alt)}">\n<p>{escape(chosen.sentence)}</p>\n'
    )
    return (
        f'<div class="attention-explorable" data-explorable="{name}" data-given="{data}">\n'
        f"<style>\n{_style(name)}</style>\n"
        f'<div class="ae-body" role="group" aria-label="{label}">\n'
        f"{_framed(first, chosen)}</div>\n"
        f'<script type="module">\n{bundle(name)}</script>\n</div>\n'
    )


def _framed(first: str, chosen: Explorable) -> str:
    """A first state between its question and what to try."""
    tries = "".join(_paragraph("ae-try", line) for line in chosen.tries)
    asked = _paragraph("ae-question", chosen.question) if chosen.question else ""
    return f'{asked}<div class="ae-live">\n{first}</div>\n{tries}'


def _paragraph(kind: str, line: Line) -> str:
    """A line above or below the picture, with its words for each view."""
    spans = "".join(f"<span>{escape(words)}</span>" for words in _views(line))
    return f'<p class="{kind}">{spans}</p>\n'


def _views(line: Line) -> tuple[str, ...]:
    """A line's words for each view."""
    return (line,) if isinstance(line, str) else line


def content(name: str, given: dict) -> Explorable:
    """The first state of an explorable: data, picture and words.

    Args:
        name, given: as for `explorable`
    Returns: what the page is made from
    Raises:
        ValueError: there is no explorable of that name, or `given` does not fit it
    """
    make = module(name).make
    parameters = inspect.signature(make).parameters
    needed = {key for key, one in parameters.items() if one.default is one.empty}
    if not needed <= set(given) <= set(parameters):
        needs = " and ".join(sorted(parameters)) or "nothing else"
        got = " and ".join(sorted(given)) or "nothing else"
        raise ValueError(f"explorable({name!r}) takes {needs}; it was given {got}")
    made: Explorable = make(**given)
    return made


def module(name: str) -> ModuleType:
    """The module of an explorable.

    Args:
        name: one of NAMES
    Returns: it, imported
    Raises:
        ValueError: there is no explorable of that name
    """
    if name not in NAMES:
        raise ValueError(f"name is {name!r}; it should be one of {', '.join(NAMES)}")
    return import_module(f"{__name__}.{name}")


def states(name: str) -> list[dict]:
    """What the maker of an explorable takes for each of its states.

    Args:
        name: one of NAMES
    Returns: {} for the usual one, and {"state": name} for each other
    """
    return [{}, *({"state": state} for state in list(getattr(module(name), "STATES", ()))[1:])]


def _style(name: str) -> str:
    """What all explorables share, and what stands beside the scripts that this one uses."""
    files = [HERE / "explorable.css", *(HERE / f"{script}.css" for script in scripts(name))]
    return "".join(f.read_text(encoding="utf-8") for f in files if f.exists())
