'''A check runs a learner's function on small cases and prints one message.

The status is "not started", "wrong", "too slow" or "passed". To write a check, declare a reference,
named cases (the first that fails is reported, so simplest first, and the first lopsided: no square
matrix that a transposed answer fits), common mistakes, and hints, gentlest first. `draw` makes more
cases from a seeded generator; the smallest that fails is reported if all named ones are right:

    >>> import numpy as np
    >>> from attention_src.exercises.engine.checking import Case, Check
    >>> from attention_src.exercises.engine.cases import any_scores, any_shape
    >>> def double(x):
    ...     y = 2 * x
    ...     return y
    >>> check_double = Check(
    ...     "double",
    ...     double,
    ...     asks="f(x [...]) -> 2 x",
    ...     cases=[
    ...         Case("two numbers", (np.array([1.0, 3.0]),)),
    ...         Case("a matrix", (np.array([[3.0, 5.0, 2.0], [7.0, 11.0, 4.0]]),)),
    ...     ],
    ...     mistakes="""
    ...         square: You squared x; double it.
    ...             y = x**2
    ...     """,
    ...     hints=["What is 1 doubled?", "Add x to itself."],
    ...     draw=lambda rng: (any_scores(rng, any_shape(rng)),),
    ... )
    >>> result = check_double(lambda x: x**2)
    double: wrong, in case 1 of 62 (two numbers)
      x        = [1. 3.]
      expected = [2. 6.]
      yours    = [1. 9.]
    Likely cause (square): You squared x; double it.
    For a hint: check_double.hint()
    >>> bool(result), result.status
    (False, 'wrong')
    >>> check_double.hint()
    Hint 1 of 2: What is 1 doubled?

The right function is the solution that the chapter prints, and a mistake is a line of it written
otherwise (`variants.py`); what fits no line is a `Mistake` with a function of its own. The right
function's parameters name the inputs; those with a default are left out where a case has the
default, and an answer must call them the same. Each case is passed as a copy, to detect a change in
place. Exceptions, endless loops, NaN, wrong shapes and dtypes are explained too. Answers may be
lists, NumPy arrays or torch tensors; a check itself uses NumPy only. An answer is judged at the
precision of the case's inputs: float16, float32, or float64 for everything else.
'''

import contextlib
import copy
import functools
import inspect
import warnings
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attention_src.calls import positional
from attention_src.exercises.engine.answers import identical, kind, to_array
from attention_src.exercises.engine.cases import Case, Mistake, drawn_cases
from attention_src.exercises.engine.comparing import compare
from attention_src.exercises.engine.diagnosing import explains
from attention_src.exercises.engine.limits import Clock
from attention_src.exercises.engine.memory import warm_up
from attention_src.exercises.engine.messages import Hinted, Result, report, shown, too_slow
from attention_src.exercises.engine.running import (
    Outcome,
    as_called,
    attempt,
    by_name,
    misnamed,
)
from attention_src.exercises.engine.variants import variants

__all__ = ["Case", "Check", "Mistake", "Result", "mistakes"]
# The functions that passed, and which check: `exercises.keep` keeps no others.
passed: weakref.WeakKeyDictionary[Callable, str] = weakref.WeakKeyDictionary()
_STUB = "Fill in the cell above, then run both."
_NO_RETURN = "Your function returns nothing yet. If you have written it, end it with `return`."
_STALE = (
    "A later call changed an answer that was given earlier: all calls return the same array. Make "
    "a new one in each."
)
_AGAIN = (
    "It gave another answer when it met a case again ({}). Does it keep something from call to "
    "call?"
)
TOTAL_SECONDS = 15.0  # of processor time; then no more cases are drawn, but all named ones tried


def mistakes(right: Callable, text: str) -> list[Mistake]:
    """Read mistakes that are lines of the right function written otherwise.

    Args:
        right: the right function, written with def
        text: as `variants` reads it
    Returns: the mistakes, in the order of the text
    """
    return [Mistake(*one) for one in variants(right, text)]


@dataclass(eq=False, repr=False)
class Check(Hinted):
    """One exercise. See the module's docstring for how to write it.

    Args:
        name: of the exercise; begins every message
        reference: the right function; its parameter names label the inputs
        cases: the named inputs, simplest first
        mistakes: common wrong answers, to be recognised: a text for `variants`, or a list
        hints: given one by one when they are asked for, by check.hint(); gentlest first. None where
            the page has {hints}
        returns: names of the answer's parts if it is a tuple
        rtol: relative tolerance; 0 = to the last bit, where numbers only move; None = as the dtype
            of the inputs allows
        note: note(*inputs, *answer's parts as arrays) -> a sentence on a wrong value, or ""
        draw: draw(generator) -> a case's arguments, or a Case; None = named cases only
        drawn: how many to draw
        seconds: of processor time that one call may take
        asks: "f(x [n, d]) -> [n, d]", for help(check)
        solution: what the chapter prints, if the reference is written otherwise
        watch: watch(f) -> what is tried in place of f, such as one that also returns the storage
            that f writes to; the reference and the mistakes are watched too. If it returns a
            ValueError, that says what is wrong
        also: also(f) -> what else is wrong with an answer that is right in all cases, as a Result,
            or None
        given: how many hints were asked for so far
    """

    name: str
    reference: Callable
    cases: list[Case]
    mistakes: Any
    hints: list[str] = field(default_factory=list)
    returns: tuple[str, ...] = ()
    rtol: float | None = None
    note: Callable | None = None
    draw: Callable[[np.random.Generator], Any] | None = None
    drawn: int = 60
    seconds: float = 5.0
    asks: str = ""
    solution: Callable | None = None
    watch: Callable[[Callable], Callable] | None = None
    also: Callable[[Callable], Result | None] | None = None
    given: int = 0
    _known: dict[int, tuple[Case, list[np.ndarray]]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.mistakes, str):
            self.mistakes = mistakes(self.reference, self.mistakes)

    def __call__(self, f: Any) -> Result:
        """Run the learner's function on every case and print one message.

        Args:
            f: the learner's function
        Returns: status and message, as printed
        Raises:
            ValueError: f is not callable
        """
        self._must_be_callable("f", f, "check(my_function)")
        # The check's own arithmetic must not stumble over the learner's np.seterr(all="raise").
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._run(f)

    def all_cases(self) -> list[Case]:
        """Give the named cases, then the drawn ones, the smallest first; the same at each call.

        Returns: the cases, in the order in which they are tried
        """
        return self.cases + self._drawn_cases

    @functools.cached_property
    def _drawn_cases(self) -> list[Case]:
        """Drawn once, so that their right answers are known from then on."""
        return drawn_cases(self.draw, self.drawn, tuple(self._inputs)) if self.draw else []

    def _run(self, f: Callable) -> Result:
        cases = self.all_cases()
        if any(case.max_bytes is not None for case in cases):
            warm_up()
        clock = Clock(TOTAL_SECONDS)
        outcomes: list[Outcome] = []
        failure = None
        for index, case in enumerate(cases):
            if index >= len(self.cases) and clock.over():
                break
            if index == len(self.cases) and all(outcome.nothing for outcome in outcomes):
                break
            outcomes.append(self._attempt(f, case, as_called(self.reference, case.args)))
            failure = failure or self._failure(index, case, outcomes[-1])
            if outcomes[-1].timed_out:
                break
        named = outcomes[: len(self.cases)]
        if all(outcome.nothing for outcome in named):
            return self._report("not started", _STUB if outcomes[0].error else _NO_RETURN)
        if failure:
            status = "too slow" if outcomes[failure[0]].timed_out else "wrong"
            return report(status, self._explain(failure, cases, outcomes))
        if (stale := self._stale(f, named)) is not None:
            return stale
        if said := misnamed(f, self.reference) or self._written_out(f):
            return self._report("wrong", said)
        if self.also and (wrong := self.also(positional(f, self._inputs))) is not None:
            return wrong
        with contextlib.suppress(TypeError):  # what cannot be remembered cannot be kept either
            passed[f] = self.name
        return self._report("passed", f"It is right in all {len(outcomes)} cases.")

    def _attempt(self, f: Callable, case: Case, args: tuple | None = None) -> Outcome:
        f = positional(f, self._inputs)
        tried, args = self.watch(f) if self.watch else f, case.args if args is None else args
        return attempt(tried, args, self._arrays, max_bytes=case.max_bytes, seconds=self.seconds)

    def _right(self, case: Case) -> list[np.ndarray]:
        """The right answer, computed once: a case keeps its values."""
        if id(case) not in self._known:
            reference = self.watch(self.reference) if self.watch else self.reference
            right = self._arrays(reference(*copy.deepcopy(case.args)))
            self._known[id(case)] = case, right  # the case too, so that no other gets its id
        return self._known[id(case)][1]

    def _failure(self, index: int, case: Case, outcome: Outcome) -> tuple | None:
        """The index, what is wrong as lines to print, and the row shown; None if it is right."""
        if outcome.failed:
            return index, outcome.where, ()
        right, rtol = self._right(case), self._rtol(case)
        problem, row = compare(right, outcome.parts, self.returns, rtol, case.args)
        if problem:
            note = self._note(case, outcome)
            return index, f"{problem}\n  {note}" if note else problem, row
        if outcome.changed:
            names = " and ".join(self._inputs[i] for i in outcome.changed)
            problem = (
                f"  The answer is right, but your function changed its input {names} in place.\n"
                "  The caller still needs it: make a new array (x = x - 1, not x -= 1)."
            )
        elif outcome.too_big:
            problem = (
                f"  The answer is right, but it took {outcome.peak_bytes / 1e6:.1f} MB of memory; "
                f"{(case.max_bytes or 0) / 1e6:.1f} MB is ample."
            )
        return (index, problem, ()) if problem else None

    def _rtol(self, case: Case) -> float | None:
        return self.rtol if case.rtol is None else case.rtol

    def _stale(self, f: Callable, named: list[Outcome]) -> Result | None:
        """What to say if calls disturb one another; None if they don't."""
        for case, old in zip(self.cases, named, strict=True):
            now = attempt(lambda old=old: old.answer, (), self._arrays, seconds=self.seconds)
            if now.timed_out:
                return too_slow(self.name, f", when read once more ({case.name})", now.where)
            if now.failed or not all(map(identical, now.parts, old.parts)):
                return self._report("wrong", _STALE)
        for case in self.cases:
            again = self._attempt(f, case, as_called(self.reference, case.args))
            if again.timed_out:
                return too_slow(self.name, f", when it met a case again ({case.name})", again.where)
            if self._failure(0, case, again):
                return self._report("wrong", _AGAIN.format(case.name))
        return None

    def _written_out(self, f: Callable) -> str:
        """What to say if f fails where arguments that may be left out are there by name."""
        named = by_name(positional(f, self._inputs), self.reference)
        for case in self.cases:
            rest = len(as_called(self.reference, case.args))
            if rest == len(case.args):
                continue
            if self._failure(0, case, self._attempt(named, case)):
                pairs = zip(self._inputs[rest:], case.args[rest:], strict=True)
                names = " and ".join(f"{name}={value}" for name, value in pairs)
                return f"It fails when {names} is written out ({case.name})."
        return ""

    def _note(self, case: Case, outcome: Outcome) -> str:
        try:
            return self.note(*copy.deepcopy(case.args), *outcome.parts) if self.note else ""
        except Exception:  # a note speaks of plausible answers only
            return ""

    @property
    def _inputs(self) -> list[str]:
        return list(inspect.signature(self.reference).parameters)

    def _arrays(self, value: Any) -> list[np.ndarray]:
        """The parts of an answer as numeric arrays."""
        if self.watch and isinstance(value, ValueError):
            raise value
        if not self.returns:
            return [to_array(value)]
        expected = f"({', '.join(self.returns)})"
        if getattr(value, "ndim", 0) and self._stacks:  # q, k, v = answer unpacks it, too
            value = list(value)
        if not isinstance(value, tuple | list) or len(value) != len(self.returns):
            raise ValueError(f"Your function should return {expected}; it returned {kind(value)}.")
        return [to_array(part, name) for part, name in zip(value, self.returns, strict=True)]

    @functools.cached_property
    def _stacks(self) -> bool:
        """Whether the parts of an answer may be one array: all have equally many axes."""
        return len({part.ndim for part in self._right(self.cases[0])}) == 1

    def _explain(self, failure: tuple, cases: list[Case], outcomes: list[Outcome]) -> list[str]:
        """The whole message for the first case that failed."""
        index, problem, row = failure
        case, late = cases[index], outcomes[index].timed_out
        said = "too slow to judge here" if late else "wrong"
        lines = [f"{self.name}: {said}, in case {index + 1} of {len(cases)} ({case.name})"]
        inputs = zip(self._inputs, case.args, strict=True)
        lines += [shown(name, value, row, 6 // len(case.args)) for name, value in inputs]
        lines.append(problem)
        printed = outcomes[index].printed.split("\n")[:2]
        lines += [f"  It printed: {text[:160]}" for text in printed if text]
        if mistake := self._mistake(index, cases, outcomes):
            lines.append(f"Likely cause ({mistake.name}): {mistake.message}")
        return [*lines, *self._offer()]

    def _mistake(self, index: int, cases: list[Case], outcomes: list[Outcome]) -> Mistake | None:
        """The first mistake that explains every case that was tried."""
        if outcomes[-1].timed_out:
            return None
        tried = cases[: len(outcomes)]
        right = [self._right(case) for case in tried]
        inputs, rtols = [case.args for case in tried], [self._rtol(case) for case in tried]
        for mistake in self.mistakes:
            wrong = lambda i, mistake=mistake: self._attempt(mistake.wrong, tried[i])  # noqa: E731
            if explains(index, inputs, outcomes, right, wrong, rtols):
                return mistake
        return None
