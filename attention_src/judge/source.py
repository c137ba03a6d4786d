"""Code as text: run it, pick the function in it, guess what it is, and judge it."""

import contextlib
import importlib
import inspect
import linecache
import re
import textwrap
import traceback
from types import CodeType
from typing import Any

from attention_src.exercises.engine.running import _Beginning, _quiet
from attention_src.judge.calls.calling import role
from attention_src.judge.judging import KINDS, _check_choice, judge
from attention_src.judge.report import Draft, Report

FILE = "<your code>"
USUAL = {"np": "numpy", "math": "math", "torch": "torch", "nn": "torch.nn"}  # names without import
USUAL |= {"F": "torch.nn.functional"}
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
    others: list[str] = []
    try:
        code, text = _compiled(text)
        space = _usual_names(text) | {"__name__": "your_code", "__file__": FILE}
        linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
        with _quiet(_Beginning()):
            exec(code, space)
        if not name:
            name, others = _pick(space, kind)
    except (Exception, SystemExit) as error:
        return _not_judged(name, kind, _where(error))
    if name not in space:
        there = ", ".join(_defined(space)) or "nothing"
        return _not_judged(name, kind, f"There is no {name} in it; there is {there}.")
    report = judge(space[name], kind or _guess(name, space[name]))
    if others:
        report.convention["not judged"] = ", ".join(others)
    return report


def _compiled(text: str) -> tuple[CodeType, str]:
    """The code, and its text; without the prompts, fence or margin that it was copied with."""
    prompts = re.findall(r"(?m)^\s*(?:>>>|\.\.\.) ?(.*)$", text) if ">>>" in text else []
    fence = re.search(r"(?ms)^\s*```\w*\n(.*?)(^\s*```|\Z)", text)
    as_it_is: Exception | None = None
    for words in (text, "\n".join(prompts), fence[1] if fence else "", textwrap.dedent(text)):
        try:
            if words or words is text:
                return compile(words, FILE, "exec"), words
        except (SyntaxError, ValueError) as error:
            as_it_is = as_it_is or error
    raise as_it_is  # type: ignore[misc]


def _usual_names(text: str) -> dict[str, Any]:
    """Modules that the text uses by their usual names, for who copied no imports."""
    found = {}
    for name, module in USUAL.items():
        if re.search(rf"\b{name}\.", text) and not re.search(rf"\b{name} *[,=)]", text):
            with contextlib.suppress(ImportError):
                found[name] = importlib.import_module(module)
    own = re.findall(r"(?m)^\s*(?:from|import)\b.*", text)
    return {x: module for x, module in found.items() if not re.search(rf"\b{x}\b", " ".join(own))}


def _guess(name: str, f: Any) -> str:
    """What kind of thing a function or class of this name probably is, one of KINDS."""
    roles = _roles(f)
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    kind = next((kind for kind, pattern in GUESSES.items() if re.search(pattern, words)), "")
    if inspect.isclass(f) and kind not in ("cache", "rope"):
        weighs = re.search("Linear|Parameter|Multihead|rand|normal", " ".join(_names_in(f)))
        return "attention" if {"q", "k", "v"} <= roles and not weighs else "multihead"
    if {"q", "k", "v"} <= roles and kind not in ("grouped", "tiled", "multihead"):
        return "attention"
    return kind or ("softmax" if "x" in roles else "attention")


def _roles(f: Any) -> set[str]:
    """What its arguments are; those of its call, if it is a class."""
    if inspect.isclass(f):
        f = getattr(f, "forward", None) or getattr(f, "__call__", f)  # noqa: B004
    try:
        return {role(p) for p in inspect.signature(f).parameters}
    except (TypeError, ValueError):
        return set()


def _defined(space: dict[str, Any]) -> list[str]:
    """The functions and classes that the text defines, public ones if there are any."""
    made = [n for n, x in space.items() if getattr(x, "__module__", "") == "your_code"]
    return [n for n in made if callable(space[n]) and not n.startswith("_")] or made


def _pick(space: dict[str, Any], kind: str | None) -> tuple[str, list[str]]:
    """The name of what is to be judged, and of others that might have been.

    It takes q, k and v, or its name tells of attention, and none of those calls it: that is a part.
    """
    public = _defined(space)
    if not public:
        raise ValueError("There is no function and no class in it.")
    uses = {n: _names_in(space[n]) for n in public}
    public = [n for n in public if _guess(n, space[n]) == kind] or public
    kinds = [x for x in ("multihead", "grouped", "tiled", "attention") if kind in (None, x)]
    named = {x: [n for n in public if re.search(GUESSES[x], n.lower())] for x in kinds or GUESSES}
    takers = [n for n in public if {"q", "k", "v"} <= _roles(space[n])]
    several = [n for n in public if n in takers or any(n in ns for ns in named.values())]
    if takers:  # and no test, no plot of weights
        several = [n for n in several if {"v", "x"} & _roles(space[n]) or inspect.isclass(space[n])]
    for group in (several, public):
        tops = [n for n in group if not any(n in uses[m] for m in group if m != n)] or group
        if tops:
            ways = [[n for n in ns if n in tops] for ns in (*named.values(), takers, tops)]
            best = next(ns for ns in ways if ns)[-1]
            return best, [n for n in tops if n != best and group is several]
    return public[-1], []


def _names_in(f: Any) -> set[str]:
    """The names that its code uses, that of its methods and of functions inside it included."""
    found: set[str] = set()
    left = list(vars(f).values()) if inspect.isclass(f) else [f]
    while left:
        x = left.pop()
        code = getattr(x, "__code__", x)
        if isinstance(code, CodeType):
            found |= {*code.co_names}
            left += code.co_consts
    return found


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
    return Draft(name or "your code", kind or "", why=why).finish(0.0)
