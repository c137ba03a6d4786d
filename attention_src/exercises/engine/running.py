"""Call a learner's function and observe it: answer, exception, time, changed inputs, memory.

It also decides which arguments are passed, and whether they are named as the exercise names them.
"""

import contextlib
import copy
import inspect
import io
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attention_src.exercises.engine.answers import identical, where_it_failed
from attention_src.exercises.engine.limits import TooSlowError, within
from attention_src.exercises.engine.memory import warm_up, with_peak

_TOO_SLOW = (
    "  Your function had not ended after {time}. Does a loop never stop?\n"
    "  If every loop ends and it waits for nothing, it is neither right nor wrong so far: make it "
    "faster, or close other programs, and run the check again."
)

_NUMBERS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


class _Beginning(io.StringIO):
    """The first 1,000 characters of what is written; a message shows no more."""

    def write(self, text: str) -> int:
        super().write(text[: max(1000 - self.tell(), 0)])
        return len(text)


@dataclass(frozen=True)
class Outcome:
    """What one call did.

    Args:
        answer: what it returned; None if it raised
        parts: copies of its arrays, which later calls cannot change; empty if there are none
        error: the type of what it raised; TooSlowError if it did not end in time; None if it
            returned
        where: lines that say what it raised and where, or why its answer cannot be read
        nothing: it returned None or `...`, or raised NotImplementedError
        changed: indices of the inputs that it changed in place
        peak_bytes: the most memory that it held at once; 0 if not measured
        too_big: whether that exceeds the case's max_bytes
        printed: how what it printed begins, on standard output and standard error
    """

    answer: Any = None
    parts: list[np.ndarray] = field(default_factory=list)
    error: type[BaseException] | None = None
    where: str = ""
    nothing: bool = False
    changed: tuple[int, ...] = ()
    peak_bytes: int = 0
    too_big: bool = False
    printed: str = ""

    @property
    def timed_out(self) -> bool:
        """True if it did not end in time, which says nothing about its answer."""
        return self.error is not None and issubclass(self.error, TooSlowError)

    @property
    def failed(self) -> bool:
        """True if there is no answer to compare."""
        return bool(self.where)

    @property
    def finite(self) -> bool:
        """True if there is an answer and it holds no inf and no NaN."""
        return not self.failed and all(np.isfinite(part).all() for part in self.parts)


def attempt(
    f: Callable,
    inputs: tuple,
    read: Callable[[Any], list[np.ndarray]],
    *,
    max_bytes: int | None = None,
    seconds: float = 5.0,
) -> Outcome:
    """Call f on a copy of the inputs and record what happened.

    Args:
        f: a function of the inputs
        inputs: its positional arguments
        read: makes arrays of its answer; raises ValueError if it cannot
        max_bytes: how much memory it may hold at once; None = any, not measured
        seconds: of processor time that it may take
    Returns: what happened; whatever f raises is recorded, except a real KeyboardInterrupt
    """
    outcome = _once(f, inputs, read, max_bytes, seconds)
    if outcome.too_big:  # a first call may import a library or fill a cache; that is not its own
        outcome = _once(f, inputs, read, max_bytes, seconds)
    return outcome


def _once(
    f: Callable, inputs: tuple, read: Callable, max_bytes: int | None, seconds: float
) -> Outcome:
    args = copy.deepcopy(inputs)
    printed, peak = _Beginning(), 0
    if max_bytes is not None:
        warm_up()
    try:
        # The limit is innermost: what it interrupts has nothing to put back.
        limited = lambda: within(seconds, lambda: f(*args))  # noqa: E731
        with _quiet(printed):
            answer, peak = (limited(), 0) if max_bytes is None else with_peak(limited)
        parts, said = _read(read, answer, seconds)
    except KeyboardInterrupt:
        raise
    except BaseException as raised:  # SystemExit too: exit() must not end the notebook's kernel
        late = isinstance(raised, TooSlowError)
        said = _TOO_SLOW.format(time=raised) if late else where_it_failed(f, raised)
        blank = isinstance(raised, NotImplementedError)
        return Outcome(error=type(raised), where=said, nothing=blank, printed=printed.getvalue())
    return Outcome(
        answer=answer,
        parts=parts,
        where=said,
        nothing=_is_nothing(answer),
        changed=tuple(i for i, arg in enumerate(args) if _is_changed(arg, inputs[i])),
        peak_bytes=peak,
        too_big=max_bytes is not None and peak > max_bytes,
        printed=printed.getvalue(),
    )


@contextlib.contextmanager
def _quiet(printed: io.StringIO) -> Iterator[None]:
    """Let warnings and prints not show."""
    # np.errstate gives back what the learner's np.seterr changes.
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            yield


def _read(read: Callable, answer: Any, seconds: float) -> tuple[list[np.ndarray], str]:
    """Copies of the answer's arrays, safe from later calls; or the reason why there are none."""
    try:
        return within(seconds, lambda: [np.array(part) for part in read(answer)]), ""
    except (KeyboardInterrupt, TooSlowError):
        raise
    except ValueError as error:
        return [], f"  {error}"
    except BaseException as raised:  # the answer is an object with a will of its own
        return [], f"  Your function returned what cannot be read: {type(raised).__name__}."


def _is_nothing(answer: Any) -> bool:
    parts = answer if isinstance(answer, tuple) else (answer,)
    return all(part is None or part is ... for part in parts)


def _is_changed(arg: Any, before: Any) -> bool:
    try:
        return not identical(arg, before)
    except Exception:  # it is no longer anything that can be compared
        return True


def as_called(reference: Callable, args: tuple) -> tuple:
    """Leave out the last arguments that are the defaults, so that an answer's own are tried.

    Args:
        reference: the right function
        args: of a case, one for each of its parameters
    Returns: args, perhaps fewer
    """
    defaults = [p.default for p in inspect.signature(reference).parameters.values()]
    while args and _is(args[-1], defaults[len(args) - 1]):
        args = args[:-1]
    return args


def by_name(f: Callable, reference: Callable) -> Callable:
    """Call f with all that has a default by its name.

    Args:
        f: the learner's function
        reference: the right one
    Returns: a function of all arguments, by position
    """
    parameters = inspect.signature(reference).parameters.values()
    names = [p.name for p in parameters if p.default is not p.empty]

    def called(*args: Any) -> Any:
        n = len(args) - len(names)
        return f(*args[:n], **dict(zip(names, args[n:], strict=True)))

    return called


def misnamed(f: Callable, reference: Callable) -> str:
    """Say which argument with a default has another name than the exercise gives it.

    Args:
        f: the learner's function
        reference: the right one
    Returns: a sentence; "" if all are named as they should, or f does not tell its arguments
    """
    try:
        theirs = inspect.signature(f).parameters
    except (TypeError, ValueError):  # built in
        return ""
    if any(p.kind is p.VAR_KEYWORD for p in theirs.values()):
        return ""
    for number, (name, p) in enumerate(inspect.signature(reference).parameters.items()):
        by_name = name in theirs and theirs[name].kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        if p.default is not p.empty and not by_name:
            return f"Its {_NUMBERS[number]} argument should be called {name}."
    return ""


def _is(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and identical(value, default))
