'''A check runs a learner's function on small cases and prints one message.

The status is "not started", "wrong" or "passed". To write a check, declare a reference, a few cases
(the first that fails is reported, so simplest first), common mistakes, and hints, gentlest first:

    >>> import numpy as np
    >>> from attention_src.exercises.engine.checking import Case, Check, Mistake
    >>> DOUBLE = Check(
    ...     "double",
    ...     reference=lambda x: 2 * x,
    ...     cases=[
    ...         Case("two numbers", (np.array([1.0, 2.0]),)),
    ...         Case("a matrix", (np.array([[3.0, 5.0], [7.0, 11.0]]),)),
    ...     ],
    ...     mistakes=[Mistake("square", lambda x: x**2, "You squared x; double it.")],
    ...     hints=["What is 1 doubled?", "Add x to itself."],
    ... )
    >>> def check_double(f):
    ...     """Check f(x) -> 2 x."""
    ...     return DOUBLE.run(f)
    >>> result = check_double(lambda x: x**2)
    double: wrong, in case 1 of 2 (two numbers)
      x        = [1. 2.]
      expected = [2. 4.]
      yours    = [1. 4.]
    Likely cause (square): You squared x; double it.
    Hint 1 of 2: What is 1 doubled?
    >>> result.status
    'wrong'

The reference's parameters name the inputs. Each case is passed as a copy, to detect a change in
place. Exceptions, NaN, wrong shapes and wrong dtypes are explained too. Answers may be lists, NumPy
arrays or torch tensors; a check itself uses NumPy only. For its tests, see CONTRIBUTING.md.
'''

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_src.exercises.engine.answers import (
    close,
    compare,
    how_to_start,
    kind,
    labelled,
    to_array,
    where_it_failed,
)
from attention_src.exercises.engine.running import Outcome, attempt


@dataclass(frozen=True)
class Case:
    """One input of an exercise.

    Args:
        name: what is particular about it
        args: the positional arguments
        max_bytes: how much memory the function may hold at once; None = any
    """

    name: str
    args: tuple
    max_bytes: int | None = None


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that people give.

    Args:
        name: a few words, shown before the message
        wrong: a function that makes it
        message: what to tell the learner
    """

    name: str
    wrong: Callable
    message: str


@dataclass(frozen=True)
class Result:
    """What a check found.

    Args:
        status: "not started", "wrong" or "passed"
        message: what was printed
    """

    status: str
    message: str

    def __repr__(self) -> str:
        return f"<{self.status}>"

    def _ipython_display_(self) -> None:
        """Show nothing: the message was printed already."""


@dataclass
class Check:
    """One exercise. See the module's docstring for how to write it.

    Args:
        name: of the exercise; begins every message
        reference: the right function; its parameter names label the inputs
        cases: the inputs, simplest first
        mistakes: common wrong answers, to be recognised
        hints: one more is shown after each failure
        returns: names of the answer's parts if it is a tuple
        rtol: relative tolerance; None = 1e-7 for float64 answers, 1e-5 for float32
        note: note(*inputs, answer) -> a sentence that explains a wrong value, or ""
        failures: failed runs since the last pass
    """

    name: str
    reference: Callable
    cases: list[Case]
    mistakes: list[Mistake]
    hints: list[str]
    returns: tuple[str, ...] = ()
    rtol: float | None = None
    note: Callable | None = None
    failures: int = 0

    def run(self, f: Any) -> Result:
        """Run the learner's function on every case and print one message.

        Args:
            f: the learner's function
        Returns: status and message, as printed
        Raises:
            ValueError: f is not callable
        """
        if not callable(f):
            raise ValueError(
                f"f is {type(f).__name__}, it should be a function: pass its name without "
                "calling it, as in check(my_function)"
            )
        outcomes = [attempt(f, case.args, case.max_bytes) for case in self.cases]
        if all(outcome.blank for outcome in outcomes):
            return _report(
                "not started", f"{self.name}: not started. {how_to_start(outcomes[0].error)}"
            )
        for index, outcome in enumerate(outcomes):
            problem = self._problem(f, self.cases[index], outcome)
            if problem:
                self.failures += 1
                return _report("wrong", self._explain(index, problem, outcomes))
        self.failures = 0
        return _report(
            "passed", f"{self.name}: passed. It is right in all {len(self.cases)} cases."
        )

    def _problem(self, f: Callable, case: Case, outcome: Outcome) -> str:
        """What is wrong with the outcome of a case, as lines to print; "" if it is right."""
        if outcome.error is not None:
            return where_it_failed(f, outcome.error)
        expected = self._arrays(self.reference(*copy.deepcopy(case.args)))
        try:
            answer = self._arrays(outcome.answer)
        except ValueError as error:
            return f"  {error}"
        problem = compare(expected, answer, self.returns, self.rtol)
        if problem:
            note = self.note(*copy.deepcopy(case.args), outcome.answer) if self.note else ""
            return f"{problem}\n  {note}" if note else problem
        if outcome.changed:
            names = " and ".join(self._inputs[i] for i in outcome.changed)
            return (
                f"  The answer is right, but your function changed its input {names} in place.\n"
                "  The caller still needs it: make a new array (x = x - 1, not x -= 1)."
            )
        if case.max_bytes is not None and outcome.too_big:
            return (
                f"  The answer is right, but it took {outcome.peak_bytes / 1e6:.1f} MB of memory; "
                f"{case.max_bytes / 1e6:.1f} MB is ample."
            )
        return ""

    @property
    def _inputs(self) -> list[str]:
        return list(inspect.signature(self.reference).parameters)

    def _arrays(self, value: Any) -> list[np.ndarray]:
        """The parts of an answer as numeric arrays."""
        if not self.returns:
            return [to_array(value)]
        expected = f"({', '.join(self.returns)})"
        if not isinstance(value, tuple | list) or len(value) != len(self.returns):
            raise ValueError(f"Your function should return {expected}; it returned {kind(value)}.")
        return [to_array(part, name) for part, name in zip(value, self.returns, strict=True)]

    def _explain(self, index: int, problem: str, outcomes: list[Outcome]) -> str:
        """The whole message for the case at `index`, the first that failed."""
        case = self.cases[index]
        lines = [f"{self.name}: wrong, in case {index + 1} of {len(self.cases)} ({case.name})"]
        for name, value in zip(self._inputs, case.args, strict=True):
            lines.append(labelled(f"{name:<8} =", value))
        lines.append(problem)
        mistake = self._mistake(index, outcomes)
        if mistake:
            lines.append(f"Likely cause ({mistake.name}): {mistake.message}")
        for number, hint in enumerate(self.hints[: self.failures], start=1):
            lines.append(f"Hint {number} of {len(self.hints)}: {hint}")
        return "\n".join(lines)

    def _mistake(self, index: int, outcomes: list[Outcome]) -> Mistake | None:
        """The mistake that agrees with the learner on the most cases, `index` among them."""
        best, best_count = None, 0
        for mistake in self.mistakes:
            wrong = [attempt(mistake.wrong, case.args, case.max_bytes) for case in self.cases]
            agree = [self._same(a, b) for a, b in zip(outcomes, wrong, strict=True)]
            # Exceptions and NaN have many causes: agreement on one case proves little.
            if outcomes[index].error:
                convincing = all(agree)
            else:
                convincing = 2 * sum(agree) > len(agree) or self._finite(outcomes[index])
            if agree[index] and convincing and sum(agree) > best_count:
                best, best_count = mistake, sum(agree)
        return best

    def _finite(self, outcome: Outcome) -> bool:
        try:
            return all(np.isfinite(part).all() for part in self._arrays(outcome.answer))
        except ValueError:
            return False

    def _same(self, a: Outcome, b: Outcome) -> bool:
        """Whether two functions did the same on a case."""
        if a.error is not None or b.error is not None:
            return type(a.error) is type(b.error)
        if a.changed != b.changed or a.too_big != b.too_big:
            return False
        try:
            pairs = list(zip(self._arrays(a.answer), self._arrays(b.answer), strict=True))
        except ValueError:
            return False
        return all(x.shape == y.shape and close(x, y, self.rtol).all() for x, y in pairs)


def _report(status: str, message: str) -> Result:
    """Print a message and return it with its status."""
    print(message)
    return Result(status, message)
