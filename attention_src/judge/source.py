"""Code as text: run it, pick the function in it, guess what it is, and judge it."""

import inspect
import linecache
import re
import traceback
from typing import Any

from attention_src.exercises.engine.running import _Beginning, _quiet
from attention_src.judge.calls.calling import role
from attention_src.judge.judging import KINDS, _check_choice, judge
from attention_src.judge.report import Draft, Report

FILE = "<your code>"
GUESSES = {  # kinds by words in a name, the first that fits
    "rope": r"rope|rotary|rotat",
    "cache": r"cache",
    "softmax": r"softmax",
    "mask": r"mask$|^mask|_mask",
    "grouped": r"group|gqa|mqa|repeat_?kv|n_rep",
    "multihead": r"multi_?head|mha|layer|causal_?self|self_?att",
    "tiled": r"tile|flash|block",
    "attention": r"att(entio)?n|sdpa|dot_product",
}


def judge_source(text: str, name: str | None = None, kind: str | None = None) -> Report:
    """Judge a function or a class that is given as text.

    Args:
        text: Python code; it is run
        name: of what to judge; None = the only one that is public, else the one whose name tells
        kind: as in `judge`; None = guessed from name and arguments
    Returns: a report; code that does not run is not judged, with the reason
    Raises:
        ValueError: an unknown kind
    """
    if kind is not None:
        _check_choice("kind", kind, KINDS)
    space: dict[str, Any] = {"__name__": "your_code", "__file__": FILE}
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    try:
        with _quiet(_Beginning()):
            exec(compile(text, FILE, "exec"), space)
        name = name or _pick(space)
    except (Exception, SystemExit) as error:
        return _not_judged(name, kind, _where(error))
    if name not in space:
        return _not_judged(name, kind, f"There is no {name} in it.")
    return judge(space[name], kind or _guess(name, space[name]))


def _guess(name: str, f: Any) -> str:
    """What kind of thing a function or class of this name probably is, one of KINDS."""
    try:
        roles = {role(p) for p in inspect.signature(f).parameters}
    except (TypeError, ValueError):
        roles = set()
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    kind = next((kind for kind, pattern in GUESSES.items() if re.search(pattern, words)), "")
    if inspect.isclass(f) and kind not in ("cache", "rope"):
        return "attention" if {"q", "k", "v"} <= roles else "multihead"
    if {"q", "k", "v"} <= roles and kind not in ("grouped", "tiled", "multihead"):
        return "attention"
    return kind or ("softmax" if "x" in roles else "attention")


def _pick(space: dict[str, Any]) -> str:
    """The name of what is to be judged."""
    made = [n for n, x in space.items() if getattr(x, "__module__", "") == "your_code"]
    public = [n for n in made if callable(space[n]) and not n.startswith("_")] or made
    if not public:
        raise ValueError("There is no function and no class in it.")
    for kind in ("multihead", "grouped", "tiled", "attention", *GUESSES):
        for n in reversed(public):
            if re.search(GUESSES[kind], n.lower()):
                return n
    if len(public) > 1:
        raise ValueError(f"Which one? Name one of {', '.join(public)}.")
    return public[0]


def _where(error: BaseException) -> str:
    """What was raised, and in which line."""
    if isinstance(error, SystemExit):
        return "The code ended Python (exit, quit or sys.exit)."
    frames = [x for x in traceback.extract_tb(error.__traceback__) if x.filename == FILE]
    line = getattr(error, "lineno", None) or (frames[-1].lineno if frames else None)
    if line is None:
        return str(error)
    return f"The code does not run. {type(error).__name__} in line {line}: {error}"


def _not_judged(name: str | None, kind: str | None, why: str) -> Report:
    """A report of what could not be judged."""
    return Draft(name or "your code", kind or "attention", why=why).finish(0.0)
