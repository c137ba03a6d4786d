"""What a check says: short, at most 90 columns, printable on any screen."""

import sys
import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np

WIDTH = 90
_PLAIN = str.maketrans(
    {"−": "-", "–": "-", "—": "-", "∞": "inf", "×": "x", "·": "*", "…": "...", "’": "'"}
    | {"≤": "<=", "≥": ">=", "τ": "tau", "Σ": "sum", "∑": "sum", "∂": "d", "√": "sqrt", "→": "->"}
)


class Asked:
    """What a chapter imports as check_<name>: help(check) says what it asks.

    Its subclasses are dataclasses with the name that begins every message, and `asks`, shapes of
    arguments and answer: "f(x [n, d]) -> [n, d]".
    """

    name: str
    asks: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", f"Check {self.asks}." if self.asks else self.__doc__)

    @property
    def __name__(self) -> str:
        return f"check_{self.name.removeprefix('my_')}"

    def __repr__(self) -> str:
        return f"<{self.__name__}>"  # a cell that ends in its name tells no answers

    def _must_be_callable(self, name: str, f: Any, example: str) -> None:
        """Refuse what cannot be called, such as a function's result in place of the function."""
        if not callable(f):
            raise ValueError(
                f"{name} is {type(f).__name__}, it should be a function: pass its name without "
                f"calling it, as in {example}"
            )

    def _report(self, status: str, said: str, *more: str) -> "Result":
        """Print one sentence on the answer, and more lines."""
        return report(status, [f"{self.name}: {status}. {said}", *more])


class Hinted(Asked):
    """An exercise with hints, which are given when they are asked for.

    Its subclasses have `hints`, gentlest first, and `given`, how many were given so far.
    """

    hints: list[str]
    given: int

    def hint(self) -> None:
        """Print a hint; at each call the next one, and the last one again and again."""
        said = "There are no hints."
        if self.hints:
            self.given = min(self.given + 1, len(self.hints))
            said = f"Hint {self.given} of {len(self.hints)}: {self.hints[self.given - 1]}"
        say(said)

    def _offer(self) -> list[str]:
        """How to ask for a hint, for the end of a message."""
        return [f"For a hint: {self.__name__}.hint()"] if self.hints else []


@dataclass(frozen=True)
class Result:
    """What a check found. It is true if the answer passed, so that `assert check(f)` works.

    Args:
        status: "not started", "unfinished" (a ladder with rungs left), "wrong", "passed", or
            "too slow": it took too long to be judged, and is neither wrong nor passed
        message: what was printed
    """

    status: str
    message: str

    def __bool__(self) -> bool:
        return self.status == "passed"

    def __repr__(self) -> str:
        return f"<{self.status}>"

    def _ipython_display_(self) -> None:
        """Show nothing: the message was printed already."""


def say(line: str) -> None:
    """Print a line, wrapped if it is long.

    Args:
        line: of text
    """
    print(_printable(_wrapped(line)))


def report(status: str, lines: list[str]) -> Result:
    """Print a message and return it with its status.

    Args:
        status: of the result
        lines: of the message; long ones are wrapped, keeping their indent
    Returns: status and message, as printed
    """
    message = _printable("\n".join(map(_wrapped, "\n".join(lines).split("\n"))))
    print(message)
    return Result(status, message)


def too_slow(name: str, where: str, problem: str) -> Result:
    """Print that an answer could not be judged, because it took too long.

    Args:
        name: of the exercise
        where: it did, as ", on wrong code"; may be empty
        problem: an outcome's `where`
    Returns: status "too slow" and message, as printed
    """
    return report("too slow", [f"{name}: too slow to judge here{where}.", problem])


def _wrapped(line: str) -> str:
    if len(line) <= WIDTH:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(line.strip(), WIDTH, initial_indent=indent, subsequent_indent=indent)


def _printable(text: str) -> str:
    """The same text where standard output knows its signs; plain letters elsewhere."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return text.translate(_PLAIN).encode("ascii", "replace").decode("ascii")
    return text


def labelled(label: str, value: Any, most: int = 4) -> str:
    """Format `label value`, with the lines of a matrix aligned.

    Args:
        label: printed before the value
        value: a number, an array, a text or a list of arrays
        most: how many lines to print; the rest becomes the value's shape
    Returns: one or more lines, indented
    """
    first = f"  {label} "
    lines = text_of(value, WIDTH - len(first)).split("\n")
    if len(lines) > most:
        lines = [*lines[: max(most - 1, 1)], f"... ({describe(value)})"]
    return first + ("\n" + " " * len(first)).join(lines)


def text_of(value: Any, width: int = WIDTH) -> str:
    """A number, an array or a list of arrays with four decimals, shortened if it is long.

    Args:
        value: to print
        width: of a line
    Returns: one or more lines
    """
    if isinstance(value, list | tuple):
        items = [text_of(item, width) for item in value]
        if sum(map(len, items)) > 2 * width:
            items = [*items[:2], f"... {len(items)} in all"]
        return textwrap.fill("[" + ", ".join(items) + "]", width)
    if isinstance(value, str):
        return textwrap.shorten(repr(value), width)
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        return textwrap.shorten(str(value), width)
    if array.ndim == 0:
        return f"{array.item():.6g}" if array.dtype.kind == "f" else str(array.item())
    if array.size == 0:
        return f"empty, of shape {array.shape}"
    finite = np.abs(array[np.isfinite(array)].astype(np.float64))
    tiny = finite.max(initial=0.0) < 1e-3  # as zeros they would say nothing
    with np.printoptions(  # whatever the learner set
        precision=3 if tiny else 4,
        suppress=not tiny,
        threshold=40,
        edgeitems=3,
        linewidth=width,
        sign="-",
        floatmode="maxprec",
        formatter=None,
        nanstr="nan",
        infstr="inf",
        legacy=False,
    ):
        return np.array2string(array)


def describe(value: Any) -> str:
    """Name the shape, and the dtype if it is particular.

    Args:
        value: a number, an array or a list of arrays
    Returns: for example "shape (2, 3), float16" or "a list of 5"
    """
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    array = np.asarray(value)
    particular = array.dtype.kind == "f" and array.dtype != np.float64
    return f"shape {array.shape}" + (f", {array.dtype}" if particular else "")


def is_large(array: np.ndarray) -> bool:
    """Whether an array is too large to print in full, so that one row stands for it.

    Args:
        array: with any number of axes
    Returns: True if it has more than four lines
    """
    return array.ndim > 2 or (array.ndim == 2 and (len(array) > 4 or array.shape[1] > 12))


def shown(name: str, value: Any, row: tuple[int, ...] = (), most: int = 4) -> str:
    """Format an input, or the row of it that belongs to the row of the answer that is shown.

    Args:
        name: of the input
        value: of the input
        row: indices of the row; () = show the input as a whole
        most: how many lines to print
    Returns: one or more lines, indented
    """
    if row and isinstance(value, np.ndarray) and is_large(value) and value.ndim == len(row) + 1:
        try:
            return labelled(f"{name} {list(row)} =", value[row], 1) + f"   ({describe(value)})"
        except IndexError:  # the input broadcasts
            pass
    return labelled(f"{name:<8} =", value, max(most, 2))
