"""Right answers in other forms, and wrong ones, that can be made of any exercise's solution.

A chapter's own answers (answers/<chapter>.py) need not repeat them.
"""

import inspect

import numpy as np
import pytest
from generic_tests import right_tests, wrong_tests

from attention_src.exercises.engine import Check, DesignCheck, TestCheck


def torch_tensor(x):
    return pytest.importorskip("torch").tensor(x)


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


FORMS = {
    "lists": lambda x: x.tolist() if x.size else x,  # no list has the shape (0, 2)
    "torch": torch_tensor,
    "longdouble": lambda x: x.astype(np.longdouble) if x.dtype.kind == "f" else x,
    "Fortran order": lambda x: np.asarray(x, order="F"),
    "read-only": read_only,
}
SPOILT = {
    "squeezed": np.squeeze,
    "flattened": np.ravel,
    "rounded": lambda x: x.round(7) if x.dtype.kind == "f" and abs(x).max(initial=0) < 1e100 else x,
    "float32": lambda x: x.astype(np.float32) if x.dtype == np.float64 else x,
    "float16": lambda x: x.astype(np.float16) if x.dtype.kind == "f" else x,
    "the first row for all": lambda x: np.broadcast_to(x[:1], x.shape).copy() if x.ndim else x,
}


def right_answers(check, solution):
    """Name and answer: the solution in other forms. A ladder's answer is a dict of its rungs."""
    if isinstance(check, TestCheck):
        return right_tests(solution)
    if isinstance(check, DesignCheck):
        made = lambda form: _design(solution, lambda parts: _together(map(form, parts)))  # noqa: E731
        return {name: made(form) for name, form in FORMS.items()}
    if isinstance(check, Check):
        forms = FORMS if _plain(check) else {}
        others = _talking(solution) | _by_name_alone(solution)
        return {name: _made(check, form) for name, form in forms.items()} | others
    exact = {rung.letter: _value(rung) for rung in check.rungs}
    rounded = {rung.letter: _three_digits(rung) for rung in check.rungs}
    forms = {name: {a: form(x) for a, x in exact.items()} for name, form in FORMS.items()}
    return forms | {"three digits": rounded}


def wrong_answers(check, solution):
    """Name, answer and a piece of the message: what must not pass."""
    if isinstance(check, TestCheck):
        return wrong_tests(check, solution)
    if isinstance(check, DesignCheck):
        return _wrong_designs(check, solution)
    return _wrong_functions(check) if isinstance(check, Check) else _wrong_values(check)


# --- Functions --------------------------------------------------------------------------------


def _right_of(check):
    return check.solution or check.reference


def _made(check, change):
    """The solution, each part of its answer changed."""
    right = _right_of(check)

    def answer(*args, **named):
        out = right(*args, **named)
        if check.returns:
            return tuple(change(np.asarray(part)) for part in out)
        return change(np.asarray(out))

    return _as(right, answer)


def _as(right, answer):
    answer.__signature__ = inspect.signature(right)
    return answer


def _talking(right):
    def talks(*args, **named):
        print("So far, so good.")
        return right(*args, **named)

    return {"prints": _as(right, talks)}


def _plain(check):
    """Whether an answer is an array like any other: no storage, no limit of memory."""
    return check.watch is None and all(case.max_bytes is None for case in check.cases)


def _wrong_functions(check):
    answers = {}
    if _plain(check):
        right = [check._right(case) for case in check.all_cases()]
        for name, change in SPOILT.items():
            if any(_spoilt(check, parts, change) for parts in right):
                answers[name] = _made(check, change), ""
    arrays = any(isinstance(x, np.ndarray) for case in check.all_cases() for x in case.args)
    if check.watch is None and arrays:
        answers["kept by shape"] = _kept(check), ""
    if check.watch is None and any(isinstance(x, np.ndarray) for x in check.cases[0].args):
        answers["in place"] = _in_place(check), "in place"
    if check.watch is None and check.draw:
        answers["right in the named cases only"] = _by_heart(check), ""
    return answers | _signed_otherwise(_right_of(check))


def _spoilt(check, parts, change):
    """Whether a change of a right answer leaves anything else than rounding."""
    with np.errstate(over="ignore"):  # beyond what float16 holds
        return any(
            change(x).shape != x.shape
            or not np.allclose(change(x), x, check.rtol or 1e-8, 1e-9, equal_nan=True)
            for x in parts
        )


def _kept(check):
    """Answers kept from call to call, by shape."""
    right, kept = _right_of(check), {}

    def by_shape(*args, **named):
        args = (*args, *named.values())
        key = tuple((np.shape(x), str(getattr(x, "dtype", x))) for x in args)
        if key not in kept:
            kept[key] = right(*args)
        return kept[key]

    return _as(right, by_shape)


def _by_name_alone(right):
    """The last argument, if it has a default, taken by its name alone."""
    *others, last = inspect.signature(right).parameters.values()
    if last.default is last.empty:
        return {}

    def answer(*args, **named):
        return right(*signature.bind(*args, **named).args, **named)

    signature = inspect.Signature([*others, last.replace(kind=last.KEYWORD_ONLY)])
    answer.__signature__ = signature
    return {f"{last.name} by name alone": answer}


def _signed_otherwise(right):
    """The last argument without its default, and under another name."""
    *others, last = inspect.signature(right).parameters.values()
    if last.default is last.empty:
        return {}

    def signed(signature):
        answer = lambda *args, **named: right(*signature.bind(*args, **named).args)  # noqa: E731
        answer.__signature__ = signature
        return answer

    needed, renamed = last.replace(default=last.empty), last.replace(name="another")
    return {
        "without a default": (signed(inspect.Signature([*others, needed])), last.name),
        "another name": (
            signed(inspect.Signature([*others, renamed])),
            f"should be called {last.name}",
        ),
    }


def _in_place(check):
    right = _right_of(check)

    def in_place(*args, **named):
        answer = right(*args, **named)
        answer = answer if check.returns else np.copy(answer)
        for x in args:
            if isinstance(x, np.ndarray) and x.size and x.dtype.kind in "fiu":
                x += 1
        return answer

    return _as(right, in_place)


def _by_heart(check):
    right, known = _right_of(check), [case.args for case in check.cases]

    def by_heart(*args, **named):
        answer = right(*args, **named)
        if any(all(map(np.array_equal, args, case)) for case in known):
            return answer
        parts = answer if check.returns else (answer,)
        spoilt = tuple(np.logical_not(x) if np.asarray(x).dtype == bool else x + 1 for x in parts)
        return spoilt if check.returns else spoilt[0]

    return _as(right, by_heart)


# --- Designs ----------------------------------------------------------------------------------


def _parts(out):
    """The arrays of a design, as a list."""
    return [np.asarray(x) for x in (out if isinstance(out, tuple | list) else [out])]


def _together(parts):
    """A tuple of arrays; one alone stays alone."""
    parts = tuple(parts)
    return parts if len(parts) > 1 else parts[0]


def _design(design, change):
    """What is made of the list of a design's arrays."""
    return lambda *n: change(_parts(design(*n)))


def _wrong_designs(check, design):
    count = len(_parts(design(*check.sizes[:1])))
    changes = {
        "text": lambda parts: "text",
        "a generator": lambda parts: (part for part in parts),
        "an array more": lambda parts: (*parts, parts[-1]),
        "an array less": lambda parts: tuple(parts[:-1]) if count > 2 else parts[0][..., :-1],
        "empty arrays": lambda parts: _together([part[..., :0] for part in parts]),
        "a number": lambda parts: 1.0,
        "a dict": lambda parts: dict(enumerate(parts)),
        "one axis more": lambda parts: _together([part[None] for part in parts]),
        "text for numbers": lambda parts: _together([part.astype(str) for part in parts]),
    }
    for i in range(count):
        changes[f"NaN in array {i + 1}"] = lambda parts, i=i: _together(_with_nan(parts, i))
    return {name: (_design(design, change), "") for name, change in changes.items()}


def _with_nan(parts, i):
    parts = [np.array(part, dtype=float) if j == i else part for j, part in enumerate(parts)]
    parts[i][(0,) * parts[i].ndim] = np.nan
    return parts


# --- Ladders ----------------------------------------------------------------------------------


def _value(rung):
    return np.asarray(rung.value() if callable(rung.value) else rung.value, dtype=float)


def _three_digits(rung):
    x = _value(rung)
    return np.vectorize(lambda v: float(f"{v:.3g}"))(x) if rung.rtol >= 1e-3 else x


def _wrong_values(check):
    """One rung answered: known mistakes, with their replies, and what is no number or not it."""
    answers = {}
    for rung in check.rungs:
        right = _value(rung)
        wrong = [(x() if callable(x) else x, said) for x, said in rung.replies.items()]
        wrong += [
            ("text", "without quotes"),
            ({}, "no number"),
            (np.nan, ""),
            ([right, right], "Expected"),
        ]
        wrong += [(np.where(right, -right, 1.0), "")]
        off = (2.2 * rung.rtol + 1e-9) * abs(right) + 2.2 * rung.atol  # twice what is allowed
        for one in np.eye(right.size).reshape(-1, *right.shape):  # one number after the other
            wrong += [(right + one * off, ""), (right - one * off, "")]
        for i, (value, said) in enumerate(wrong):
            answers[f"{rung.letter} {i}"] = {rung.letter: value}, said
    return answers
