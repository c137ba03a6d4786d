"""The delta rule: right answers pass, wrong ones do not and are named."""

import numpy as np
import pytest
import torch
from worked import assert_rejected, assert_worked

from attention_src.exercises.linear import check_delta
from attention_src.linear.layer import delta_rule as on_tensors
from attention_src.linear.reference import delta_rule


# The worked solution, in the words of the chapter.
def my_delta(q, k, v, beta, state):
    o = np.empty(v.shape)
    for t in range(len(q)):
        added = beta[t] * (v[t] - k[t] @ state)  # [d_v]
        state = state + np.outer(k[t], added)  # a new array
        o[t] = q[t] @ state
    return o, state


def by_matrices(q, k, v, beta, state):
    outputs = []
    for t in range(len(q)):
        kk = np.outer(k[t], k[t])
        state = (np.eye(len(kk)) - beta[t] * kk) @ state + beta[t] * np.outer(k[t], v[t])
        outputs.append(q[t] @ state)
    return np.array(outputs), state


def by_gradient(q, k, v, beta, state):
    o, state = [], state.copy()
    for t in range(len(q)):
        state -= beta[t] * np.outer(k[t], state.T @ k[t] - v[t])
        o.append(state.T @ q[t])
    return np.stack(o), state


def in_place_on_a_copy(q, k, v, beta, state):
    state, o = state.copy(), np.zeros_like(v)
    for t, (a, b, c, d) in enumerate(zip(q, k, v, beta, strict=True)):
        state += b[:, None] * (d * (c - b @ state))[None, :]
        o[t] = a @ state
    return o, state


def package(q, k, v, beta, state):
    return delta_rule(q, k, v, beta, initial_state=state, return_state=True)


def by_torch(q, k, v, beta, state):
    q, k, v, beta, state = (torch.from_numpy(x)[None, None] for x in (q, k, v, beta, state))
    o, state = on_tensors(q, k, v, beta, initial_state=state, return_state=True)
    return o[0, 0].numpy(), state[0, 0].numpy()


def with_loops(q, k, v, beta, state):
    state, o = state.tolist(), []
    for t in range(len(q)):
        held = [sum(k[t, i] * state[i][j] for i in range(k.shape[1])) for j in range(v.shape[1])]
        for i in range(k.shape[1]):
            for j in range(v.shape[1]):
                state[i][j] += beta[t] * k[t, i] * (v[t, j] - held[j])
        o.append([sum(q[t, i] * state[i][j] for i in range(k.shape[1])) for j in range(v.shape[1])])
    return o, state


def as_one_system(q, k, v, beta, state):
    """What each token adds, from one triangular system."""
    overlap = np.tril(beta[:, None] * (k @ k.T), -1)
    added = np.linalg.solve(np.eye(len(k)) + overlap, beta[:, None] * (v - k @ state))
    return q @ state + np.tril(q @ k.T) @ added, state + k.T @ added


RIGHT = [as_one_system, by_matrices, by_gradient, in_place_on_a_copy, package, by_torch, with_loops]


def test_worked_solution():
    assert_worked("linear", check_delta, my_delta)


@pytest.mark.parametrize("answer", RIGHT)
def test_right_answers_pass(answer):
    assert check_delta(answer).status == "passed"


def rule(change, early=False, start=lambda state: state, end=lambda o, state: (o, state)):
    """Token by token, with one thing changed."""

    def answer(q, k, v, beta, state):
        state, o = start(state), np.empty(v.shape)
        for t in range(len(q)):
            before = state
            state = state + change(k[t], v[t], beta[t], state)
            o[t] = q[t] @ (before if early else state)
        return end(o, state)

    return answer


def right(k, v, b, s):
    return b * np.outer(k, v - k @ s)


def unit(k):
    return k / np.linalg.norm(k)


def all_at_once(q, k, v, beta, state):
    state = state + k.T @ (beta[:, None] * (v - k @ state))
    return q @ state, state


def only_new(q, k, v, beta, state):
    o, new = my_delta(q, k, v, beta, state)
    return o, new - state


def on_the_given_state(q, k, v, beta, state):
    o = np.empty(v.shape)
    for t in range(len(q)):
        state += right(k[t], v[t], beta[t], state)
        o[t] = q[t] @ state
    return o, state


def last_state_for_all(q, k, v, beta, state):
    state = my_delta(q, k, v, beta, state)[1]
    return q @ state, state


def first_beta(q, k, v, beta, state):
    return my_delta(q, k, v, 0 * beta + beta[0], state)


def fades(q, k, v, beta, state):
    o = np.empty(v.shape)
    for t in range(len(q)):
        state = (1 - beta[t]) * state + beta[t] * np.outer(k[t], v[t])
        o[t] = q[t] @ state
    return o, state


def skips_repeats(q, k, v, beta, state):
    beta = beta * [all((k[t] != k[s]).any() for s in range(t)) for t in range(len(k))]
    return my_delta(q, k, v, beta, state)


def zero_beta_skipped(q, k, v, beta, state):
    """A token that writes nothing reads nothing either."""
    o, state = my_delta(q, k, v, beta, state)
    return np.where(beta[:, None] == 0, 0, o), state


def small_beta_dropped(q, k, v, beta, state):
    return my_delta(q, k, v, np.where(beta < 0.01, 0, beta), state)


def beta_kept_inside(q, k, v, beta, state):
    return my_delta(q, k, v, np.clip(beta, 1e-2, 1 - 1e-2), state)


def in_float32(*given):
    return my_delta(*(x.astype(np.float32) for x in given))


WRONG = {
    "fades": (fades, ""),
    "skips repeats": (skips_repeats, ""),
    "float32": (in_float32, ""),
    "zero beta skipped": (zero_beta_skipped, "β of 0"),
    "small beta dropped": (small_beta_dropped, "β of 0"),
    "beta kept inside": (beta_kept_inside, ""),
    "sum": (rule(lambda k, v, b, s: np.outer(k, v)), "added k v"),
    "sum with beta": (rule(lambda k, v, b, s: b * np.outer(k, v)), "added β k v"),
    "no beta": (rule(lambda k, v, b, s: right(k, v, 1, s)), "left out β"),
    "beta of old": (rule(lambda k, v, b, s: np.outer(k, v - b * (k @ s))), "new value"),
    "beta of new": (rule(lambda k, v, b, s: np.outer(k, b * v - k @ s)), "old value"),
    "sign": (rule(lambda k, v, b, s: -right(k, v, b, s)), "up the gradient"),
    "held added": (rule(lambda k, v, b, s: b * np.outer(k, v + k @ s)), "Subtract it"),
    "read first": (rule(right, early=True), "before its own token"),
    "from zero": (rule(right, start=np.zeros_like), "state of zeros"),
    "unit keys": (rule(lambda k, v, b, s: right(unit(k), v, b, s)), "length 1"),
    "all at once": (all_at_once, ""),
    "only what is new": (only_new, ""),
    "changes the state": (on_the_given_state, ""),
    "last state": (last_state_for_all, ""),
    "first beta": (first_beta, ""),
    "transposed": (rule(right, end=lambda o, s: (o, s.T)), ""),
    "output alone": (rule(right, end=lambda o, s: o), ""),
    "swapped": (rule(right, end=lambda o, s: (s, o)), ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected(name):
    answer, words = WRONG[name]
    assert_rejected(check_delta, answer, words)
