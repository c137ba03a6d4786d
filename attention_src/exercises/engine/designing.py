"""Check a design: any answer may pass that does what was asked, and it is judged by what it does.

Declare how the answer is read, what may be wrong with it, and what to say when nothing is:

    >>> from attention_src.exercises.engine.answers import to_array
    >>> from attention_src.exercises.engine.designing import DesignCheck
    >>> def not_far(x):
    ...     return "" if abs(x - 3) < 1 else f"  {x} is not within 1 of 3."
    >>> NEAR_THREE = DesignCheck(
    ...     "near_three",
    ...     read=lambda answer: [to_array(answer, "a number")],
    ...     problem=not_far,
    ...     praise=lambda x: f". You chose {x}.",
    ... )
    >>> result = NEAR_THREE(lambda: 5)
    near_three: wrong.
      5 is not within 1 of 3.
    >>> result = NEAR_THREE(lambda: 2.5)
    near_three: passed. You chose 2.5.
    >>> bool(result), result.status
    (True, 'passed')
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_src.exercises.engine.messages import Asked, Result, report, too_slow
from attention_src.exercises.engine.running import attempt


@dataclass(frozen=True, eq=False, repr=False)
class DesignCheck(Asked):
    """An exercise with many right answers. See the module's docstring.

    Args:
        name: of the exercise; begins every message
        read: makes arrays of an answer; raises ValueError, in the learner's words, if it cannot
        problem: problem(*arrays) -> the first thing that is wrong, as lines to print; "" if nothing
        praise: praise(*arrays) -> how the message goes on after "passed"
        sizes: call f(n) with each, and problem(n, *arrays); none = call f()
        asks: "f() -> a [2, d_a]", for help(check)
    """

    name: str
    read: Callable[[Any], list[np.ndarray]]
    problem: Callable[..., str]
    praise: Callable[..., str]
    sizes: Sequence[int] = ()
    asks: str = ""

    def __call__(self, f: Any) -> Result:
        """Run the learner's function, judge what it made and print one message.

        Args:
            f: the learner's function
        Returns: status and message, as printed
        Raises:
            ValueError: f is not callable
        """
        self._must_be_callable("f", f, f"check_{self.name}(my_function)")
        calls: list[tuple] = [(n,) for n in self.sizes] or [()]
        with np.errstate(all="ignore"):
            for inputs in calls:
                outcome = attempt(f, inputs, self.read)
                if outcome.nothing:
                    return self._report("not started", "Fill in the cell above.")
                where = f", for n = {inputs[0]}" if inputs else ""
                if outcome.timed_out:
                    return too_slow(self.name, where, outcome.where)
                problem = outcome.where or self.problem(*inputs, *outcome.parts)
                if problem:
                    return report("wrong", [f"{self.name}: wrong{where}.", problem])
            return report("passed", [f"{self.name}: passed{self.praise(*outcome.parts)}"])
