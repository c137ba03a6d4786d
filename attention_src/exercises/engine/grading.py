"""Grade a test that the learner wrote: it must accept right code and refuse wrong code.

The test is a function that takes an implementation, calls it, and raises AssertionError if it is
wrong. Declare several right implementations, written differently (each with a sentence on why it is
right, for a learner whose test refuses it), and wrong ones (each with its kind, which is named if
it slips through twice):

    >>> from attention_src.exercises.engine.grading import Implementation, TestCheck
    >>> SORTING = TestCheck(
    ...     "my_test_of_sorting",
    ...     right=[
    ...         Implementation("sorted", sorted, "it is Python's own"),
    ...         Implementation("twice", lambda x: sorted(sorted(x)), "once more does no harm"),
    ...     ],
    ...     wrong=[
    ...         Implementation("identity", lambda x: list(x), "it does nothing at all"),
    ...         Implementation("set", lambda x: sorted(set(x)), "it loses what occurs twice"),
    ...     ],
    ... )
    >>> def my_test_of_sorting(sort):
    ...     assert sort([3, 1, 2]) == [1, 2, 3]
    >>> result = SORTING(my_test_of_sorting)
    my_test_of_sorting: caught 1 of 2 wrong implementations (identity).
      It accepts both right ones.
    >>> result = SORTING(my_test_of_sorting)
    my_test_of_sorting: caught 1 of 2 wrong implementations (identity).
      It accepts both right ones.
    One that slipped through: it loses what occurs twice.
    >>> def my_better_test(sort):
    ...     assert sort([3, 1, 1]) == [1, 1, 3]
    >>> bool(SORTING(my_better_test))
    my_test_of_sorting: passed. It caught 2 of 2 wrong implementations and accepts both right
    ones.
    True
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attention_src.exercises.engine.messages import Hinted, Result, report, too_slow
from attention_src.exercises.engine.running import Outcome, attempt
from attention_src.exercises.engine.variants import variants

REPEATS = 3  # for a right implementation: a test that draws its inputs must not refuse it by chance


@dataclass(frozen=True)
class Implementation:
    """Code that a learner's test is tried on.

    Args:
        name: a few words, shown when the test refuses it (right) or catches it (wrong)
        function: what the test gets
        why: why it is right, or what is wrong; goes on after "it is right: " or "One that slipped
            through: "
    """

    name: str
    function: Callable
    why: str


def implementations(right: Callable, text: str) -> list[Implementation]:
    """Read implementations that are lines of one function written otherwise.

    Args:
        right: the function, written with def
        text: as `variants` reads it
    Returns: the implementations, in the order of the text
    """
    return [Implementation(*one) for one in variants(right, text)]


@dataclass(eq=False, repr=False)
class TestCheck(Hinted):
    """An exercise in which the learner writes the test. See the module's docstring.

    Args:
        name: of the exercise; begins every message
        right: implementations that the test must accept: a text as `variants` reads it, or a list
        wrong: implementations that it must refuse, likewise
        hints: given one by one when they are asked for, by check.hint(); gentlest first. None where
            the page has {hints}
        seconds: of processor time that the test may take on one implementation
        asks: "test(rotate), which raises AssertionError if ...", for help(check)
        of: the function whose lines the texts write otherwise
        failures: failed runs since the last pass; a test that crashes or hangs costs none
        given: how many hints were asked for so far
    """

    __test__ = False  # pytest collects what begins with Test

    name: str
    right: Any
    wrong: Any
    hints: list[str] = field(default_factory=list)
    seconds: float = 5.0
    asks: str = ""
    of: Any = None
    failures: int = 0
    given: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        for side in ("right", "wrong"):
            if isinstance(text := getattr(self, side), str):
                setattr(self, side, implementations(self.of, text))

    def __call__(self, test: Any) -> Result:
        """Run the learner's test on every implementation and print one message.

        Args:
            test: the learner's function of an implementation
        Returns: status and message, as printed
        Raises:
            ValueError: test is not callable
        """
        self._must_be_callable("test", test, "check(my_test)")
        calls = [0]
        begun = self._try(test, self.right[0], calls)
        if begun.nothing and not calls[0]:
            return self._report("not started", "Your test should call the function that it gets.")
        if inspect.isgenerator(begun.answer):
            return self._report("wrong", _YIELDS)
        if begun.timed_out:  # not once more
            return self._too_slow(begun, "a right implementation")
        refused = self._accepts_the_right(test, calls)  # false if there, as every failed result
        return self._catches_the_wrong(test, calls) if refused is None else refused

    def _try(self, test: Callable, implementation: Implementation, calls: list[int]) -> Outcome:
        def under_test(*args: Any, **options: Any) -> Any:
            calls[0] += 1
            return implementation.function(*args, **options)

        return attempt(test, (under_test,), lambda answer: [], seconds=self.seconds)

    def _accepts_the_right(self, test: Callable, calls: list[int]) -> Result | None:
        """What to say about the first right implementation that it refuses; None if none."""
        for implementation in self.right * REPEATS:
            outcome = self._try(test, implementation, calls)
            about = f"a right implementation ({implementation.name})"
            if _is_false(outcome):
                return self._wrong([f"{self.name}: wrong. {_RETURNED_FALSE}"])
            if outcome.error is None:
                continue
            if outcome.timed_out:
                return self._too_slow(outcome, about)
            where = _of_the_test(outcome)
            if not issubclass(outcome.error, AssertionError):
                return self._report("wrong", f"It stumbles over {about}.", where)
            reason = f"Yet it is right: {_ended(implementation.why)}"
            return self._wrong([f"{self.name}: wrong. It refuses {about}.", where, reason])
        return None

    def _catches_the_wrong(self, test: Callable, calls: list[int]) -> Result:
        """The message about the wrong implementations, once all right ones were accepted."""
        if not calls[0]:
            return self._wrong([f"{self.name}: wrong. {_NEVER_CALLS}"])
        outcomes: list[Outcome] = []
        for implementation in self.wrong:
            outcomes.append(self._try(test, implementation, calls))
            if outcomes[-1].timed_out:
                where = _of_the_test(outcomes[-1]).partition("\n")[0]
                return too_slow(self.name, ", on a wrong implementation", f"{where}\n{_HANGS}")
        if any(map(_is_false, outcomes)):
            return self._wrong([f"{self.name}: wrong. {_RETURNED_FALSE}"])
        pairs = list(zip(self.wrong, outcomes, strict=True))
        caught = [w for w, o in pairs if o.error and issubclass(o.error, AssertionError)]
        all_right = "both" if len(self.right) == 2 else f"all {len(self.right)}"
        accepts = f"accepts {all_right} right ones."
        count = f"caught {len(caught)} of {len(self.wrong)} wrong implementations"
        if len(caught) == len(self.wrong):
            self.failures = 0
            return self._report("passed", f"It {count} and {accepts}")
        names = f" ({', '.join(w.name for w in caught)})" if caught else ""
        lines = [f"{self.name}: {count}{names}.", f"  It {accepts}"]
        crashed = [o for _, o in pairs if o.error and not issubclass(o.error, AssertionError)]
        if crashed:
            lines += [
                f"  On {len(crashed)} of them it stopped with another error, which does not count: "
                "a test that crashes says nothing about the code; AssertionError is a verdict.",
                _of_the_test(crashed[0]),
            ]
        return self._wrong(lines, next(w for w, _ in pairs if w not in caught))

    def _too_slow(self, outcome: Outcome, about: str) -> Result:
        """A try that says nothing: neither about the test nor about what it tests."""
        return too_slow(self.name, f", on {about}", _of_the_test(outcome))

    def _wrong(self, lines: list[str], slipped: Implementation | None = None) -> Result:
        """A failing try, which counts."""
        self.failures += 1
        if slipped and self.failures > 1:
            lines = [*lines, f"One that slipped through: {_ended(slipped.why)}"]
        return report("wrong", [*lines, *self._offer()])


_HANGS = (
    "  It did end on every right one. Either it loops for ever on this one: a test should end with "
    "AssertionError on wrong code, so let it stop. Or the machine is too slow for it: make it "
    "faster, or close other programs, and run the check again."
)
_YIELDS = "It contains `yield`, so calling it runs nothing. Take that out."
_NEVER_CALLS = "Your test never calls the function that it gets."
_RETURNED_FALSE = (
    "Your test returned False. Nobody looks at what a test returns: write `assert ...`, which "
    "raises AssertionError."
)


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith(("?", "!", ".")) else sentence + "."


def _of_the_test(outcome: Outcome) -> str:
    return outcome.where.replace("Your function", "Your test")


def _is_false(outcome: Outcome) -> bool:
    return isinstance(outcome.answer, bool | np.bool_) and not outcome.answer
