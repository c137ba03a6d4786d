"""The checks of the three projections and of the fused matrix.

In the tables of wrong answers: name, code, what the message must speak of ("" = any message).
"""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises.projections import check_project, check_unpack


# The worked solutions, in the words of the chapter.
def project(x, w_q, w_k, w_v):
    return x @ w_q, x @ w_k, x @ w_v


def my_unpack(w, n_heads):
    parts = w.reshape(len(w), n_heads, 3, -1)  # [d_model, H, 3, d_head]
    q, k, v = (parts[:, :, role] for role in range(3))
    return tuple(part.reshape(len(w), -1) for part in (q, k, v))


@pytest.mark.parametrize(
    ("check", "solution"), [(check_project, project), (check_unpack, my_unpack)]
)
def test_the_page_s_solution_passes(check, solution):
    assert_worked("projections", check, solution)


# --- project -----------------------------------------------------------------------------------


def by_einsum(x, *ws):
    return [np.einsum("...nd,de->...ne", x, w) for w in ws]


def by_rows(x, *ws):
    flat = x.reshape(-1, x.shape[-1])
    return tuple(np.array([row @ w for row in flat]).reshape(*x.shape[:-1], -1) for w in ws)


def fused(x, w_q, w_k, w_v):
    d_k = w_q.shape[1]
    return np.split(x @ np.concatenate([w_q, w_k, w_v], axis=1), [d_k, 2 * d_k], axis=-1)


def with_torch(x, *ws):
    torch = pytest.importorskip("torch")
    return tuple(torch.from_numpy(x) @ torch.from_numpy(w) for w in ws)


def by_linear(x, *ws):
    torch = pytest.importorskip("torch")
    linear = torch.nn.functional.linear
    return tuple(linear(torch.from_numpy(x), torch.from_numpy(w.T.copy())) for w in ws)


RIGHT_PROJECT = {
    "einsum": by_einsum,
    "rows": by_rows,
    "fused": fused,
    "torch": with_torch,
    "torch's linear": by_linear,
    "tensordot": lambda x, *ws: tuple(np.tensordot(x, w, axes=1) for w in ws),
    "lists": lambda x, *ws: [np.dot(x, w).tolist() for w in ws],
    "sums": lambda x, *ws: [(x[..., None] * w).sum(axis=-2) for w in ws],
    "transposed twice": lambda x, *ws: [(w.T @ x.swapaxes(-1, -2)).swapaxes(-1, -2) for w in ws],
}


@pytest.mark.parametrize("name", RIGHT_PROJECT)
def test_other_right_projections_pass(name):
    assert check_project(RIGHT_PROJECT[name]).status == "passed"


KEPT = {}


def kept_by_shape(x, *ws):
    return KEPT.setdefault((x.shape, *(w.shape for w in ws)), project(x, *ws))


def in_place(x, w_q, w_k, w_v):
    x *= 1.0
    q, k, v = project(x, w_q, w_k, w_v)
    w_v *= 2
    return q, k, v


def one_head_at_most(x, *ws):
    return tuple(x.reshape(-1, x.shape[-1])[: x.shape[-2]] @ w for w in ws)


def rounded(x, *ws):
    return tuple(np.round(x @ w, 2) for w in ws)


def up_to_two_axes_in_front(x, *ws):
    sums = {2: "nd,dk->nk", 3: "bnd,dk->bnk", 4: "abnd,dk->abnk"}
    return tuple(np.einsum(sums[x.ndim], x, w) for w in ws)


WRONG_PROJECT = {
    "two axes in front at most": (up_to_two_axes_in_front, "5"),
    "q and k exchanged": (lambda x, q, k, v: project(x, k, q, v), "roles exchanged"),
    "k twice": (lambda x, q, k, v: project(x, q, q, v), "Scores would be symmetric"),
    "v is q": (lambda x, q, k, v: project(x, q, k, q), ""),
    "v is k": (lambda x, q, k, v: project(x, q, k, k), ""),
    "a chain": (lambda x, q, k, v: (x @ q, x @ q @ k, x @ q @ k @ v), ""),
    "transposed": (lambda x, *ws: tuple(x @ w.T for w in ws), ""),
    "scaled": (lambda x, q, k, v: (x @ q / q.shape[1] ** 0.5, x @ k, x @ v), "done twice"),
    "v first": (lambda x, q, k, v: project(x, v, q, k), ""),
    "only two": (lambda x, q, k, v: (x @ q, x @ k), "should return (q, k, v)"),
    "stacked": (lambda x, *ws: np.stack([x @ w for w in ws]), ""),
    "side by side": (lambda x, *ws: np.concatenate([x @ w for w in ws], axis=-1), ""),
    "a residual": (lambda x, *ws: tuple(x + x @ w for w in ws), ""),
    "kept by shape": (kept_by_shape, ""),
    "in place": (in_place, "in place"),
    "squeezed": (lambda x, *ws: tuple(np.squeeze(x @ w) for w in ws), "shape"),
    "first sentence only": (one_head_at_most, "shape"),
    "rounded": (rounded, ""),
    "v as narrow as k": (lambda x, q, k, v: (x @ q, x @ k, (x @ v)[..., : q.shape[1]]), ""),
    "float32": (lambda x, *ws: tuple((x @ w).astype(np.float16) for w in ws), "dtype"),
    "centred": (lambda x, *ws: project(x - x.mean(axis=-1, keepdims=True), *ws), ""),
    "a bias": (lambda x, q, k, v: (x @ q, x @ k, x @ v + 1e-3), ""),
    "tokens last": (lambda x, *ws: tuple((x @ w).swapaxes(-1, -2) for w in ws), ""),
}


@pytest.mark.parametrize("name", WRONG_PROJECT)
def test_wrong_projections_fail(name):
    assert_rejected(check_project, *WRONG_PROJECT[name])


# --- unpack ------------------------------------------------------------------------------------


def by_index(w, n_heads):
    d = w.shape[1] // (3 * n_heads)
    parts = [
        [w[:, (3 * h + role) * d : (3 * h + role + 1) * d] for h in range(n_heads)]
        for role in range(3)
    ]
    return tuple(np.concatenate(part, axis=1) for part in parts)


def by_labels(w, n_heads):
    d = w.shape[1] // (3 * n_heads)
    role = np.tile(np.repeat(np.arange(3), d), n_heads)
    return [w[:, role == r] for r in range(3)]


def by_columns(w, n_heads):
    d = w.shape[1] // (3 * n_heads)
    found = [[], [], []]
    for c in range(w.shape[1]):
        found[c // d % 3].append(w[:, c])
    return tuple(np.stack(columns, axis=1) for columns in found)


def moved_axis(w, n_heads):
    q, k, v = np.moveaxis(w.reshape(len(w), n_heads, 3, -1), 2, 0).reshape(3, len(w), -1)
    return q, k, v


def unpack_einsum(w, n_heads):
    return np.einsum("mhrd->rmhd", w.reshape(len(w), n_heads, 3, -1)).reshape(3, len(w), -1)


def by_split(w, n_heads):
    heads = [np.split(head, 3, axis=1) for head in np.split(w, n_heads, axis=1)]
    return tuple(np.hstack(part) for part in zip(*heads, strict=True))


def unpack_torch(w, n_heads):
    torch = pytest.importorskip("torch")
    parts = torch.from_numpy(w).reshape(len(w), n_heads, 3, -1).unbind(2)
    return tuple(part.reshape(len(w), -1) for part in parts)


RIGHT_UNPACK = {
    "by index": by_index,
    "labels": by_labels,
    "column by column": by_columns,
    "moveaxis": moved_axis,
    "split": by_split,
    "torch": unpack_torch,
    "lists": lambda w, n: [part.tolist() for part in by_index(w, n)],
    "einsum": lambda w, n: list(unpack_einsum(w, n)),
}


@pytest.mark.parametrize("name", RIGHT_UNPACK)
def test_other_right_unpackings_pass(name):
    assert check_unpack(RIGHT_UNPACK[name]).status == "passed"


def reshaped(order):
    def unpack(w, n_heads):
        sizes = {"h": n_heads, "r": 3, "d": w.shape[1] // (3 * n_heads)}
        parts = w.reshape(len(w), *(sizes[letter] for letter in order))
        return tuple(parts.take(r, 1 + order.index("r")).reshape(len(w), -1) for r in range(3))

    return unpack


def roles(*order):
    return lambda w, n: tuple(my_unpack(w, n)[r] for r in order)


def heads_reversed(w, n_heads):
    parts = w.reshape(len(w), n_heads, 3, -1)[:, ::-1]
    return tuple(parts[:, :, role].reshape(len(w), -1) for role in range(3))


WRONG_UNPACK = {
    "three blocks": (lambda w, n: tuple(np.split(w, 3, axis=1)), "the bug of the box"),
    "every third column": (lambda w, n: (w[:, ::3], w[:, 1::3], w[:, 2::3]), "every third"),
    "order r d h": (reshaped("rdh"), ""),
    "order r h d": (reshaped("rhd"), ""),
    "order d r h": (reshaped("drh"), ""),
    "order d h r": (reshaped("dhr"), ""),
    "order h d r": (reshaped("hdr"), ""),
    "k v exchanged": (roles(0, 2, 1), "keys are values"),
    "q k exchanged": (roles(1, 0, 2), "queries are keys"),
    "turned round": (roles(2, 1, 0), ""),
    "q thrice": (roles(0, 0, 0), ""),
    "transposed": (lambda w, n: tuple(p.T for p in my_unpack(w, n)), "transposed"),
    "first head": (lambda w, n: tuple(np.split(w[:, : w.shape[1] // n], 3, axis=1)), "head 0"),
    "heads reversed": (heads_reversed, ""),
    "two heads always": (lambda w, n: my_unpack(w, 2), ""),
    "heads as an axis": (lambda w, n: tuple(np.moveaxis(w.reshape(len(w), n, 3, -1), 2, 0)), ""),
    "a row lost": (lambda w, n: tuple(np.squeeze(p) for p in my_unpack(w, n)), "shape"),
    "one matrix": (lambda w, n: np.hstack(my_unpack(w, n)), ""),
    "width 2 always": (lambda w, n: my_unpack(w, max(1, w.shape[1] // 6)), ""),
}


@pytest.mark.parametrize("name", WRONG_UNPACK)
def test_wrong_unpackings_fail(name):
    assert_rejected(check_unpack, *WRONG_UNPACK[name])
