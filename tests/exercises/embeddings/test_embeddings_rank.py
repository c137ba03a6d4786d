"""The check of an analogy's rank, and the open exercise on relations."""

import numpy as np
import pytest
import torch
from worked import BOOK, assert_rejected, assert_worked

from attention_src.exercises.embeddings import check_rank
from attention_src.models.minilm import MiniLM


# The worked solution, in the words of the chapter.
def my_rank(e, a, b, c, d, inputs):
    unit = e / np.sqrt((e**2).sum(axis=1, keepdims=True))
    s = unit @ (unit[b] - unit[a] + unit[c])
    higher = s > s[d]
    if not inputs:
        higher[[a, b, c]] = False
    return 1 + int(higher.sum())


def test_worked_solution():
    assert_worked("embeddings", check_rank, my_rank)


def unit_of(e):
    return e / np.linalg.norm(e, axis=1)[:, None]


def scores(e, a, b, c):
    u = unit_of(e)
    return u @ (u[b] - u[a] + u[c])


def by_sorting(e, a, b, c, d, inputs):
    order = [i for i in np.argsort(-scores(e, a, b, c)) if inputs or i not in (a, b, c)]
    return order.index(d) + 1


def by_loop(e, a, b, c, d, inputs):
    s, rank = scores(e, a, b, c), 1
    for i in range(len(e)):
        if (inputs or i not in {a, b, c}) and s[i] > s[d]:
            rank += 1
    return rank


def by_infinity(e, a, b, c, d, inputs):
    s = scores(e, a, b, c)
    if not inputs:
        s[[a, b, c]] = -np.inf
    return np.argsort(np.argsort(-s))[d] + 1


def by_cosine(e, a, b, c, d, inputs):
    u = unit_of(e)
    goal = u[b] - u[a] + u[c]
    s = (u @ goal) / np.sqrt(goal @ goal)
    keep = np.ones(len(e), dtype=bool)
    keep[[a, b, c]] = inputs
    return int((s[keep] >= s[d]).sum())


def by_similarities(e, a, b, c, d, inputs):
    u = unit_of(e)
    s = u @ u[b] - u @ u[a] + u @ u[c]
    rows = [i for i in range(len(e)) if inputs or i not in (a, b, c)]
    return sum(s[i] >= s[d] for i in rows)


def in_torch(e, a, b, c, d, inputs):
    u = torch.nn.functional.normalize(torch.tensor(e), dim=1, eps=0)
    s = u @ (u[b] - u[a] + u[c])
    if not inputs:
        s[[a, b, c]] = -torch.inf
    return int((s > s[d]).sum()) + 1


RIGHT = [my_rank, by_sorting, by_loop, by_infinity, by_cosine, by_similarities, in_torch]


@pytest.mark.parametrize("f", RIGHT)
def test_right_answers_pass(f):
    assert check_rank(f).status == "passed"


def place(s, d, out):
    s = s.copy()
    s[list(out)] = -np.inf
    return int((s > s[d]).sum()) + 1


def out_of(a, b, c, inputs):
    return () if inputs else (a, b, c)


def without_units(e, a, b, c, d, inputs):
    return place(e @ (e[b] - e[a] + e[c]), d, out_of(a, b, c, inputs))


def raw_goal(e, a, b, c, d, inputs):
    return place(unit_of(e) @ (e[b] - e[a] + e[c]), d, out_of(a, b, c, inputs))


def raw_rows(e, a, b, c, d, inputs):
    u = unit_of(e)
    return place(e @ (u[b] - u[a] + u[c]), d, out_of(a, b, c, inputs))


def by_distance_to_rows(e, a, b, c, d, inputs):
    goal = e[b] - e[a] + e[c]
    return place(-np.linalg.norm(e - goal, axis=1), d, out_of(a, b, c, inputs))


def deleted(e, a, b, c, d, inputs):
    s = scores(e, a, b, c)
    if not inputs:
        s = np.delete(s, [a, b, c])
    return int((s > s[min(d, len(s) - 1)]).sum()) + 1


def floored(e, a, b, c, d, inputs):
    u = e / np.maximum(np.linalg.norm(e, axis=1), 0.01)[:, None]
    return place(u @ (u[b] - u[a] + u[c]), d, out_of(a, b, c, inputs))


def in_float16(e, a, b, c, d, inputs):
    with np.errstate(all="ignore"):
        return my_rank(e.astype(np.float16), a, b, c, d, inputs)


def in_place(e, a, b, c, d, inputs):
    e /= np.linalg.norm(e, axis=1)[:, None]
    return my_rank(e, a, b, c, d, inputs)


WRONG = {
    "from 0": (lambda *args: my_rank(*args) - 1, "You count from 0"),
    "always out": (lambda *args: my_rank(*args[:5], False), "whatever `inputs` says"),
    "always in": (lambda *args: my_rank(*args[:5], True), "must not count"),
    "opposite": (lambda *args: my_rank(*args[:5], not args[5]), "does the opposite"),
    "only c out": (
        lambda e, a, b, c, d, inputs: place(scores(e, a, b, c), d, () if inputs else (c,)),
        "not c alone",
    ),
    "a - b": (lambda e, a, b, c, d, inputs: my_rank(e, b, a, c, d, inputs), "from a to b is b - a"),
    "raw": (without_units, "Bring them to length 1"),
    "raw goal": (raw_goal, "computed b - a + c from rows of unequal length"),
    "raw rows": (raw_rows, ""),
    "distance": (by_distance_to_rows, ""),
    "no arithmetic": (
        lambda e, a, b, c, d, inputs: place(unit_of(e) @ unit_of(e)[c], d, out_of(a, b, c, inputs)),
        "That is the control",
    ),
    "b + c": (
        lambda e, a, b, c, d, inputs: place(
            unit_of(e) @ (unit_of(e)[b] + unit_of(e)[c]), d, out_of(a, b, c, inputs)
        ),
        "",
    ),
    "from the bottom": (
        lambda e, a, b, c, d, inputs: place(-scores(e, a, b, c), d, out_of(a, b, c, inputs)),
        "from the smallest",
    ),
    "the best row": (
        lambda e, a, b, c, d, inputs: int(np.argmax(scores(e, a, b, c))),
        "",
    ),
    "three less": (lambda *args: max(my_rank(*args[:5], True) - 3 * (not args[5]), 1), ""),
    "rows deleted": (deleted, ""),
    "short rows cut": (floored, ""),
    "half precision": (in_float16, ""),
    "at most 100": (lambda *args: min(my_rank(*args), 100), ""),
    "in place": (in_place, "changed its input"),
    "hit or miss": (lambda *args: my_rank(*args) == 1, ""),
    "a share": (lambda *args: my_rank(*args) / len(args[0]), ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_fail(name):
    assert_rejected(check_rank, *WRONG[name])


def test_the_relations_of_the_open_exercise():
    page = (BOOK / "embeddings.md").read_text(encoding="utf-8")
    model = MiniLM.load()
    ids = model.tokenizer.get_vocab()
    words = [w for w in sorted(ids, key=ids.get) if ids[w] >= 1996]
    words = [w for w in words if w.isascii() and w.isalpha() and len(w) > 1]
    vectors = model.token_embeddings[[ids[w] for w in words]]
    names = {"np": np, "place": {w: i for i, w in enumerate(words)}, "unit": unit_of(vectors)}
    for start in ("def analogies", "def hits", "def three_columns"):
        code = start + page.split(start)[1].split("\n\n\n")[0].split("```")[0]
        exec("\n".join(_function(code)), names)
    text = page.split("{solution-start} ex:embeddings-relation")[1]
    exec(text.split("```python\n")[1].split("```")[0], names)
    assert len(names["report"]) == 3


def _function(code):
    """The lines of a function without what follows it in its cell."""
    first, *rest = code.split("\n")
    yield first
    for line in rest:
        if line and not line.startswith((" ", ")")):
            return
        yield line
