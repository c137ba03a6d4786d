"""How public attentions behave: functions of our own with their conventions, no copied line.

Each keeps the names and order of the arguments, the layout, what a mask means, the scale, what is
returned and how a class is made, of a file of a public repository, which `wild` names. It also says
what the judge must say: RIGHT (or fragile, never wrong), a cause, or VARIANT: right, and another
attention than the plain one, which must be called by its name.
"""

from typing import Any, NamedTuple

RIGHT, VARIANT = "right", "a variant"
UNNAMED = "(unnamed)"  # of a code index that tells no repository


class Wild(NamedTuple):
    """One of them: repository, file, kind, what must be said, and what to judge."""

    repository: str
    file: str
    kind: str
    expected: str
    given: dict
    object: Any

    @property
    def name(self):
        return f"{self.repository}:{self.object.__name__}"


FOUND: list[Wild] = []


def wild(repository, file, kind="attention", expected=RIGHT, **given):
    """Keep what stands below as one of the wild ones; `given` are arguments for the judge."""

    def keep(thing):
        FOUND.append(Wild(repository, file, kind, expected, given, thing))
        return thing

    return keep
