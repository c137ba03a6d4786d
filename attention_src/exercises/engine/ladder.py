"""A derivation in lettered steps, whose numbers are checked rung by rung.

The learner derives on paper and answers with numbers; `...` or None means "not yet". The right
value of a rung is computed, not typed, and so are the wrong values that people get, each with what
to say about it:

    >>> from attention_src.exercises.engine.ladder import Ladder, Rung
    >>> PI = 3.14159265
    >>> check_circle = Ladder("circle", [
    ...     Rung("a", "the area for r = 2", PI * 2**2, {
    ...         PI * 4**2: "This is (2 r)^2 pi.",
    ...     }),
    ...     Rung("b", "its slope there", 2 * PI * 2, hint="Differentiate."),
    ... ])
    >>> result = check_circle(a=50.27)
    circle: 0 of 2 rungs hold.
      a  no   the area for r = 2. Yours: 50.27. This is (2 r)^2 pi.
      b  ...  its slope there
    >>> result = check_circle(a=12.57)
    circle: 1 of 2 rungs hold.
      a  yes  the area for r = 2
      b  ...  its slope there
    >>> result.status
    'unfinished'
"""

import inspect
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attention_src.exercises.engine.answers import to_array
from attention_src.exercises.engine.messages import Asked, Result, describe, report, say, text_of


@dataclass(frozen=True)
class Rung:
    """One step of a ladder.

    Args:
        letter: its name, as in the text
        asks: a few words on what is asked
        value: the right number or array, or a function without arguments that computes it
        replies: wrong values that people get, and what to tell the learner; a list is a tuple here
        hint: given when it is asked for, by check.hint("a")
        rtol: relative tolerance; the default asks for three significant digits, and the third
            may be one too small, as when digits are cut off
        atol: absolute tolerance, for values near 0
    """

    letter: str
    asks: str
    value: Any
    replies: dict[Any, str] = field(default_factory=dict)
    hint: str = ""
    rtol: float = 5e-3
    atol: float = 1e-9


@dataclass(eq=False, repr=False)
class Ladder(Asked):
    """An exercise of several rungs. See the module's docstring.

    Args:
        name: of the exercise; begins every message
        rungs: in the order of the derivation
        asks: 'the rungs of "How slow is slow?"', for help(check)
    """

    name: str
    rungs: list[Rung]
    asks: str = ""

    @property
    def __signature__(self) -> inspect.Signature:
        """One argument for each rung, by its letter; it may be left out."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature(
            [inspect.Parameter(rung.letter, kind, default=...) for rung in self.rungs]
        )

    def __call__(self, *values: Any, **answers: Any) -> Result:
        """Compare the answers with the rungs and print which hold.

        Args:
            values, answers: one for each letter; `...` or None = not answered yet
        Returns: status ("not started", "unfinished", "wrong" or "passed") and message, as printed
        Raises:
            ValueError: an answer belongs to no rung
        """
        letters = [rung.letter for rung in self.rungs]
        answers = dict(zip(letters, values, strict=False)) | answers
        unknown = [name for name in answers if name not in letters]
        if unknown:
            raise ValueError(f"{unknown[0]} is no rung of this ladder: it has {', '.join(letters)}")
        with np.errstate(all="ignore"):
            states = [self._state(rung, answers.get(rung.letter)) for rung in self.rungs]
        if all(word == "..." for word, _ in states):
            return report("not started", [f"{self.name}: not started. Fill in the first rung."])
        hold = sum(word == "yes" for word, _ in states)
        if hold == len(self.rungs):
            return report("passed", [f"{self.name}: passed. All {hold} rungs hold."])
        lines = [f"{self.name}: {hold} of {len(self.rungs)} rungs hold."]
        for rung, (word, more) in zip(self.rungs, states, strict=True):
            lines.append(f"  {rung.letter}  {word:<3}  {rung.asks}{more}")
        wrong = [r for r, (word, _) in zip(self.rungs, states, strict=True) if word == "no"]
        helped = [r.letter for r in wrong if r.hint]
        lines += [f'For a hint, ask this check: .hint("{letter}")' for letter in helped[:1]]
        return report("wrong" if wrong else "unfinished", lines)

    def hint(self, letter: str) -> None:
        """Print the hint to a rung.

        Args:
            letter: of the rung
        Raises:
            ValueError: no rung has this letter
        """
        hints = {rung.letter: rung.hint for rung in self.rungs}
        if letter not in hints:
            raise ValueError(f"{letter!r} is no rung of this ladder: it has {', '.join(hints)}")
        say(f"{letter}  {hints[letter] or 'There is no hint to this rung.'}")

    def _state(self, rung: Rung, answer: Any) -> tuple[str, str]:
        """Whether a rung holds ("yes", "no", "..."), and what else to say."""
        if answer is None or answer is ...:
            return "...", ""
        right = _computed(rung.value)
        try:
            yours = to_array(answer, "a number").astype(np.float64)
        except ValueError:
            text = isinstance(answer, str)
            return "no", ". Yours is " + (_QUOTED if text else "no number.")
        if yours.shape != right.shape:
            return "no", f". Expected {_kind(right)}; yours is {_kind(yours)}."
        if _near(yours, right, rung):
            return "yes", ""
        said = f". Yours: {_text(yours, exactly=rung.rtol == 0)}."
        for value, message in rung.replies.items():
            known = _computed(value)
            if known.shape == yours.shape and _near(yours, known, rung):
                return "no", f"{said} {message}"
        return "no", said


_QUOTED = "text; write numbers, without quotes."


def _kind(x: np.ndarray) -> str:
    """How many numbers, in the words of somebody who wrote (6, 9) and not an array."""
    if x.ndim > 1:
        return f"an array of {describe(x)}"
    return f"a tuple of {x.size} numbers" if x.ndim else "one number"


def _text(x: np.ndarray, exactly: bool) -> str:
    """An answer as it was written: a tuple, or a number with all digits if all are judged."""
    if x.ndim == 1:
        return f"({', '.join(text_of(number) for number in x)})"
    return f"{x.item():.15g}" if exactly and x.ndim == 0 else text_of(x, 40)


def _computed(value: Any) -> np.ndarray:
    return np.asarray(value() if callable(value) else value, dtype=np.float64)


def _near(a: np.ndarray, b: np.ndarray, rung: Rung) -> bool:
    off = rung.rtol * np.abs(b)
    if rung.rtol == Rung.rtol:
        off = np.minimum(off, _third_digit(b))
    return bool(((a == b) | (np.abs(a - b) <= rung.atol + off * (1 + 1e-9))).all())


def _third_digit(x: np.ndarray) -> np.ndarray:
    """One unit of the third significant digit: 0.01 for 4.02, 0.001 for 0.982."""
    size = np.where(x == 0, 1, np.abs(x))
    return np.asarray(10.0 ** (np.floor(np.log10(size)) - 2))
