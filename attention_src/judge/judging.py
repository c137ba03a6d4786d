"""The two functions that people call."""

import contextlib
import inspect
import time
from typing import Any

import numpy as np

from attention_src.exercises.engine.limits import TooSlowError, within
from attention_src.exercises.engine.running import _Beginning, _quiet
from attention_src.judge.calls.ways import FORMATS
from attention_src.judge.kinds.attention import attention
from attention_src.judge.kinds.cache import cache as judge_cache
from attention_src.judge.kinds.makers import mask as judge_mask
from attention_src.judge.kinds.rope import rope
from attention_src.judge.report import Draft, Report

KINDS = ("attention", "multihead", "rope", "grouped", "cache", "tiled", "mask", "softmax")
FRAMEWORKS = ("numpy", "torch", "jax")
SECONDS = 60.0  # of processor time for all of it
JUDGES = {"rope": rope, "mask": judge_mask, "cache": judge_cache}
PAIRS = ("halves", "neighbours")


def judge(
    f: Any,
    kind: str = "attention",
    *,
    layout: str | None = None,
    mask: str | None = None,
    scale: float | None = None,
    pairs: str | None = None,
    framework: str | None = None,
    sizes: dict[str, int] | None = None,
    cache: Any = None,
    **given: Any,
) -> Report:
    """Say whether what a person wrote is right, and if not, the likely cause.

    What is not said is found out by trying.

    Args:
        f: a function, a module, or a class, which is made with sizes chosen here
        kind: one of KINDS
        layout: of the arrays, such as "BHnd", "Bnd" or "n(Hd)"
        mask: what a mask means, one of trying.FORMATS, such as "True hides"
        scale: what the scores should be multiplied by; None = 1/√d
        pairs: for "rope", which pairs should be turned: "halves" or "neighbours"
        framework: "numpy", "torch" or "jax"
        sizes: of axes, by letter, such as {"H": 4, "d": 16}, for a module that was made already
        cache: for "cache", makes an empty cache for the layer f, which is then judged with it
        given: arguments of f, or of its __init__, that nobody can guess
    Returns: a report; print it
    Raises:
        ValueError: an unknown kind or option
    """
    asked: dict[str, Any] = {"layout": layout, "mask": mask, "scale": scale, "pairs": pairs}
    asked |= {"framework": framework, "sizes": sizes or {}, "cache": cache, "given": given}
    _check(f, kind, asked)
    draft = Draft(getattr(f, "__name__", type(f).__name__), kind)
    begun = time.perf_counter()
    try:
        with _quiet(_Beginning()):
            within(SECONDS, lambda: JUDGES.get(kind, attention)(f, draft, asked))
    except TooSlowError as late:
        draft.why = f"A call had not ended after {late}. Does a loop never stop?"
    except SystemExit:
        draft.why = "It ended Python (exit, quit or sys.exit). Let it `return` instead."
    except Exception as error:
        said = f"{type(error).__name__}: {error}"[:300]
        draft.why = draft.why or (str(error) if str(error).startswith("It never ran") else said)
    return draft.finish(time.perf_counter() - begun)


def assert_right(f: Any, kind: str = "attention", sturdy: bool = False, **options: Any) -> None:
    """For a test: fail with the report unless f is right.

    Args:
        f, kind, options: as `judge` takes them
        sturdy: whether it may not be fragile either
    Raises:
        AssertionError: it is wrong, or could not be judged, or is fragile and should not be
        ValueError: an unknown kind or option
    """
    __tracebackhide__ = True
    report = judge(f, kind, **options)
    if report.exit_code or (sturdy and report.verdict == "fragile"):
        raise AssertionError(f"{report}")


def _check_choice(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Refuse an argument's value if it is not one of the allowed."""
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}; it should be one of {', '.join(allowed)}")


def _check(f: Any, kind: str, asked: dict[str, Any]) -> None:
    """Refuse what is not known here."""
    known = {"kind": KINDS, "framework": FRAMEWORKS, "pairs": PAIRS, "mask": tuple(FORMATS)}
    for name, allowed in known.items():
        if name == "kind" or asked[name] is not None:
            _check_choice(name, kind if name == "kind" else asked[name], allowed)
    if not callable(f) and not hasattr(f, "forward"):
        raise ValueError(f"f is {type(f).__name__}; it should be a function, a module or a class")
    known_names = _arguments(f)
    for name in asked["given"]:
        if known_names and name not in known_names and kind != "cache":
            raise ValueError(f"{name} is an argument neither of judge nor of f")
    layout, scale = asked["layout"], asked["scale"]
    if layout is not None and not (isinstance(layout, str) and set(layout) <= set("BHndqk()")):
        raise ValueError(f'layout is {layout!r}; it should be like "BHnd", "Bnd" or "n(Hd)"')
    if scale is not None and not (isinstance(scale, int | float) and np.isfinite(scale)):
        raise ValueError(f"scale is {scale!r}; it should be a number")


def _arguments(f: Any) -> set[str]:
    """The names that f and its `forward` take; none if it takes any, or if nobody knows."""
    found: set[str] = set()
    for g in (f, getattr(f, "forward", f)):
        with contextlib.suppress(TypeError, ValueError):
            several = inspect.signature(g).parameters.values()
            if any(p.kind is p.VAR_KEYWORD for p in several):
                return set()
            found |= {p.name for p in several}
    return found
