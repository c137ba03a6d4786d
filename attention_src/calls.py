"""Call a function of the reader's, whichever way it takes its arguments."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any


def positional(f: Callable, names: Sequence[str]) -> Callable:
    """Let a function be called by position, even if it takes some arguments by name only.

    Args:
        f: a function, perhaps def f(q, k, v, *, mask=None)
        names: of the arguments, in the order in which they come
    Returns: f itself, or a function that passes by name what f takes only so
    """
    try:
        parameters = inspect.signature(f).parameters
    except (TypeError, ValueError):  # built in
        return f
    only = {name for name in names if name in parameters and _by_name(parameters[name])}
    if not only:
        return f

    @functools.wraps(f)
    def called(*args: Any, **options: Any) -> Any:
        given = list(zip(names, args, strict=False))
        named = options | {name: x for name, x in given if name in only}
        return f(*(x for name, x in given if name not in only), *args[len(names) :], **named)

    return called


def _by_name(parameter: inspect.Parameter) -> bool:
    return parameter.kind is parameter.KEYWORD_ONLY
