"""Keep the functions that you wrote: those whose check passed can run in later chapters.

    from attention_src.exercises.keep import keep, parts
    check_attention(attention)
    keep(check_attention, attention)  # writes ~/my_attention/attention.py
    parts()["attention"](q, k, v)  # in any notebook, on any day

Nothing is written unless you call `keep`. The environment variable MY_ATTENTION names another
folder. In a page it is the reader's browser that keeps them: before each run the page lays them out
as files in such a folder.
"""

import contextlib
import importlib
import inspect
import io
import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from attention_src.calls import positional
from attention_src.exercises.engine.checking import passed

IN_PAGE = sys.platform == "emscripten"
# What a language model can be run on, in the order in which the course builds it, and the module of
# its check.
PARTS = {
    "softmax": "softmax",
    "dot_scores": "scores",
    "attention": "equation",
    "project": "projections",
    "masked_softmax": "masking",
    "split_heads": "multihead",
    "merge_heads": "multihead",
    "multihead_attention": "multihead",
    "attention_backward": "gradients",
    "grouped_attention": "gqa",
    "rotate": "rope",
    "append_and_read": "kvcache",
    "sample": "llm",
}


def place() -> Path:
    """Where kept functions lie.

    Returns: the folder MY_ATTENTION, or my_attention in the home folder; it need not exist
    """
    return Path(os.environ.get("MY_ATTENTION") or Path.home() / "my_attention")


def keep(check: Callable, f: Callable) -> None:
    """Write a function that passed its check into your folder, with the helpers that it calls.

    Args:
        check: the check, as in check_attention
        f: your function, which check(f) has passed
    Raises:
        ValueError: check is not the check of one of PARTS
    """
    part = getattr(check, "__name__", repr(check)).removeprefix("check_")
    if part not in PARTS:
        names = ", ".join(f"check_{name}" for name in PARTS)
        raise ValueError(f"check is {part}, it should be one of {names}")
    if not _passed(part, f):
        print(f"{part}: nothing to keep yet. When check_{part} has passed, run this again.")
    else:
        _write(part, f)


def parts() -> dict[str, Callable]:
    """Load the functions that you kept. This runs the code in your folder.

    In a page each is checked again first: what is not right any more is named and left out.

    Returns: for each name of PARTS that is there, its function
    Raises:
        ValueError: a file does not define its function any more, or is not UTF-8
    """
    there = [name for name in PARTS if (place() / f"{name}.py").is_file()]
    return {name: _load(name) for name in there if not IN_PAGE or _still_right(name)}


def _passed(part: str, f: Any) -> bool:
    try:
        return passed.get(f) == part
    except TypeError:  # not something that can be remembered, hence not a function
        return False


def _write(part: str, f: Callable) -> None:
    try:
        code = _source(part, f)
    except (OSError, TypeError, ValueError) as why:
        print(f"{part}: not kept. {why}")
        return
    folder = place()
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{part}.py"
    file.write_text(code, encoding="utf-8")
    if IN_PAGE:
        from page import keep as hand_over  # to the browser, which says whether it keeps it

        sys.stdout.flush()
        hand_over(part, code)
    else:
        print(f"{part}: kept in {file}")


def _load(name: str) -> Callable:
    file = place() / f"{name}.py"
    space: dict[str, Any] = {"__name__": f"my_attention.{name}"}
    try:
        code = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not UTF-8, keep {name} again: {error}") from None
    exec(compile(code, str(file), "exec"), space)
    if not callable(f := space.get(name)):
        raise ValueError(f"{file} defines no function {name}: keep it again")
    return positional(f, list(inspect.signature(_check(name).reference).parameters))


def _check(name: str) -> Any:
    return getattr(importlib.import_module(f"{__package__}.{PARTS[name]}"), f"check_{name}")


def _still_right(name: str) -> bool:
    """Whether a kept function passes its check; if not, say so."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            status = _check(name)(_load(name)).status
    except Exception as error:
        why = f"does not run any more ({type(error).__name__}: {error})"
    else:
        if status in ("passed", "too slow"):  # what could not be judged is not wrong
            return True
        why = f"does not pass check_{name} any more"
    print(f"{name}: left out. What you kept {why}. Mend it in its chapter and keep it again.")
    return False


def _source(part: str, f: Callable) -> str:
    """A program that defines `part`: imports, constants, helpers, then the function itself."""
    if not isinstance(f, FunctionType):
        raise ValueError("It must be a function written with def.")
    pieces: dict[str, str] = {}
    _collect(f, pieces)
    if f.__name__ != part:
        pieces["="] = f"{part} = {f.__name__}"
    return "\n".join(pieces.values()) + "\n"


def _collect(f: FunctionType, pieces: dict[str, str]) -> None:
    """Put what f needs before f."""
    if f.__closure__:
        raise ValueError(f"{f.__name__} uses variables of the function around it.")
    code = textwrap.dedent(inspect.getsource(f))
    if not code.startswith(("def ", "@")):
        raise ValueError(f"{f.__name__} must be written with def.")
    pieces[f.__name__] = ""  # a function may call itself
    for name in sorted(_names(f.__code__)):
        if name in f.__globals__ and name not in pieces:
            _need(name, f.__globals__[name], f, pieces)
    del pieces[f.__name__]
    pieces[f.__name__] = code


def _need(name: str, value: Any, f: FunctionType, pieces: dict[str, str]) -> None:
    home = getattr(value, "__module__", None)
    if isinstance(value, ModuleType):
        pieces[name] = f"import {value.__name__} as {name}"
    elif isinstance(value, FunctionType) and home == f.__module__:
        _collect(value, pieces)
        if value.__name__ != name:
            pieces[name] = f"{name} = {value.__name__}"
    elif home and hasattr(value, "__name__") and home != f.__module__:
        pieces[name] = f"from {home} import {value.__name__} as {name}"
    elif isinstance(value, int | float | str | bool | None):
        pieces[name] = f"{name} = {value!r}"
    else:
        raise ValueError(f"It uses {name}, which is set outside of it. Put {name} inside.")


def _names(code: CodeType) -> set[str]:
    """The global names that a function uses, those of functions inside it included."""
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    return set(code.co_names).union(*map(_names, inner))
