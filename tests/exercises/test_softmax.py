"""The checks of the chapter on softmax pass the worked solutions and reject what people get wrong.

The worked solutions are those that the chapter prints; a test compares the two. Each mutant says
which words its message must hold, so that a learner is told about that mistake and no other.
"""

import numpy as np
import pytest
from worked import assert_rejected, assert_worked

from attention_src.exercises import softmax as checks
from attention_src.softmax import reference


def my_softmax(x):
    x = np.asarray(x, dtype=float)
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def my_softmax_backward(p, dp):
    p, dp = np.asarray(p), np.asarray(dp)
    return p * (dp - (p * dp).sum(axis=-1, keepdims=True))


def my_online_softmax(blocks):
    m, l = -np.inf, 0.0
    for block in blocks:
        m_new = max(m, np.max(block))
        if m_new == -np.inf:  # nothing visible so far
            continue
        l = l * np.exp(m - m_new) + np.exp(block - m_new).sum()
        m = m_new
    return m, l


def my_temperature(scores, bits):
    low, high = np.log(1e-6), np.log(1e8)
    for _ in range(60):
        middle = (low + high) / 2
        p = reference.softmax(scores, temperature=np.exp(middle))
        if reference.entropy_bits(p) < bits:
            low = middle  # too cold
        else:
            high = middle
    return float(np.exp((low + high) / 2))


SOLVED = [
    (checks.check_softmax, my_softmax),
    (checks.check_softmax_backward, my_softmax_backward),
    (checks.check_online_softmax, my_online_softmax),
    (checks.check_temperature_for_entropy, my_temperature),
]


@pytest.mark.parametrize(("check", "solution"), SOLVED)
def test_worked_solutions_and_stubs(check, solution):
    assert_worked("softmax", check, solution)


def test_torch_answers_pass():
    torch = pytest.importorskip("torch")
    assert checks.check_softmax(lambda x: torch.tensor(x).double().softmax(-1)).status == "passed"
    low = checks.check_softmax(lambda x: torch.tensor(x, dtype=torch.float32).softmax(-1))
    assert "Your answer is float32, and its digits do not suffice here" in low.message


WRONG = {}  # for each check, wrong answers and what their messages must speak of


# --- softmax ---------------------------------------------------------------------------------


def no_shift(x):
    return np.exp(x) / np.sum(np.exp(x), axis=-1, keepdims=True)


def no_shift_in_lists(x):
    return (np.exp(x) / np.exp(x).sum(-1, keepdims=True)).tolist()


def maximum_of_everything(x):
    e = np.exp(x - np.max(x))
    return e / e.sum(axis=-1, keepdims=True)


def axis_0(x):
    e = np.exp(x - x.max(axis=0))
    return e / e.sum(axis=0)


def axis_1(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def everything_sums_to_one(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def one_sum_for_all_rows(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / np.sum(e)


def unnormalised(x):
    return np.exp(x - x.max(axis=-1, keepdims=True))


def divides_scores(x):
    return x / x.sum(axis=-1, keepdims=True)


def lost_axis(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1)


def in_place(x):
    if x.dtype.kind == "i":
        return my_softmax(x)
    x -= x.max(axis=-1, keepdims=True)
    np.exp(x, out=x)
    x /= x.sum(axis=-1, keepdims=True)
    return x


def shifts_in_place(x):
    x -= x.max(axis=-1, keepdims=True)
    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)


def integer_buffer(x):
    out = np.zeros_like(x)
    out[...] = my_softmax(x)
    return out


def logarithms(x):
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def hardmax(x):
    return (x == x.max(axis=-1, keepdims=True)).astype(float)


def half_precision(x):
    return my_softmax(x).astype(np.float16)


WRONG[checks.check_softmax] = {
    no_shift: "no max-shift",
    no_shift_in_lists: "no max-shift",
    maximum_of_everything: "Each row needs its own maximum",
    axis_0: "columns sum to 1 instead of your rows",
    axis_1: "axis=1 is the last axis of a matrix only",
    everything_sums_to_one: "All rows together sum to 1",
    one_sum_for_all_rows: "Each row needs its own sum",
    unnormalised: "no normalisation",
    divides_scores: "Take np.exp of them",
    lost_axis: "Use keepdims=True",
    in_place: "changed its input x in place",
    shifts_in_place: "changed its input x in place",
    integer_buffer: "dtype int64, which cannot hold the digits",
    logarithms: "logarithms of the weights",
    hardmax: "expected = [0.6652 0.2447 0.09",
    half_precision: "dtype float16",
}


# --- the gradient ----------------------------------------------------------------------------


def elementwise(p, dp):
    return p * dp


def diagonal(p, dp):
    return p * (1 - p) * dp


def sign(p, dp):
    return p * (np.sum(p * dp, axis=-1, keepdims=True) - dp)


def plus(p, dp):
    return p * (dp + np.sum(p * dp, axis=-1, keepdims=True))


def unweighted_sum(p, dp):
    return p * (dp - dp.sum(axis=-1, keepdims=True))


def unweighted_mean(p, dp):
    return p * (dp - dp.mean(axis=-1, keepdims=True))


def forgets_p(p, dp):
    return dp - (p * dp).sum(axis=-1, keepdims=True)


def softmax_of_weights(p, dp):
    return my_softmax_backward(my_softmax(p), dp)


def backward_axis_0(p, dp):
    return p * (dp - (p * dp).sum(axis=0, keepdims=True))


def backward_sum_of_all(p, dp):
    return p * (dp - np.sum(p * dp))


def backward_lost_axis(p, dp):
    return p * (dp - (p * dp).sum(-1))


def jacobian(p, dp):
    J = p[..., :, None] * np.eye(p.shape[-1]) - p[..., :, None] * p[..., None, :]
    return np.einsum("...ij,...j->...i", J, dp)


def one_row_jacobian(p, dp):
    return (np.diag(p) - np.outer(p, p)) @ dp


def backward_in_place(p, dp):
    dp -= (p * dp).sum(axis=-1, keepdims=True)
    return p * dp


WRONG[checks.check_softmax_backward] = {
    elementwise: "elementwise product only",
    diagonal: "the diagonal of the Jacobian",
    sign: "The sign is turned round",
    plus: "You added the mean of dp",
    unweighted_sum: "plain sum of dp",
    unweighted_mean: "plain mean of dp",
    forgets_p: "multiply it by p",
    softmax_of_weights: "p holds the weights already",
    backward_axis_0: "wrong axis",
    backward_sum_of_all: "one sum for the whole array",
    backward_lost_axis: "Use keepdims=True",
    jacobian: "you formed the n × n Jacobian",
    one_row_jacobian: "operands could not be broadcast",
    backward_in_place: "changed its input dp in place",
}


# --- the streaming form ----------------------------------------------------------------------


def forgets_to_rescale(blocks):
    m, l = -np.inf, 0.0
    for block in blocks:
        m = max(m, block.max())
        if m > -np.inf:
            l += np.exp(block - m).sum()
    return m, l


def forgets_to_rescale_and_to_guard(blocks):
    m, l = -np.inf, 0.0
    for block in blocks:
        m = max(m, block.max())
        l = l + np.exp(block - m).sum()
    return m, l


def rescales_upside_down(blocks):
    m, l = blocks[0].max(), np.exp(blocks[0] - blocks[0].max()).sum()
    for block in blocks[1:]:
        m_new = max(m, block.max())
        l = l * np.exp(m_new - m) + np.exp(block - m_new).sum()
        m = m_new
    return m, l


def rescales_upside_down_from_nothing(blocks):
    m, l = -np.inf, 0.0
    for block in blocks:
        m_new = max(m, block.max())
        l = l * np.exp(m_new - m) + np.exp(block - m_new).sum()
        m = m_new
    return m, l


def maximum_of_the_last_block(blocks):
    m, l = -np.inf, 0.0
    for block in blocks:
        m_new = block.max()
        if m_new == -np.inf:
            continue
        l = l * np.exp(m - m_new) + np.exp(block - m_new).sum()
        m = m_new
    return m, l


def blocks_against_their_own_maximum(blocks):
    m, l = -np.inf, 0.0
    for block in blocks:
        top = block.max()
        if top == -np.inf:
            continue
        l = l * np.exp(m - max(m, top)) + np.exp(block - top).sum()
        m = max(m, top)
    return m, l


def starts_at_zero(blocks):
    m, l = 0.0, 0.0
    for block in blocks:
        m_new = max(m, block.max())
        l = l * np.exp(m - m_new) + np.exp(block - m_new).sum()
        m = m_new
    return m, l


def sums_raw_exponentials(blocks):
    m, l = -np.inf, 0.0
    for block in blocks:
        m = max(m, block.max())
        l += np.exp(block).sum()
    return m, l


def no_guard(blocks):
    m, l = -np.inf, 0.0
    for block in blocks:
        m_new = max(m, block.max())
        l = l * np.exp(m - m_new) + np.exp(block - m_new).sum()
        m = m_new
    return m, l


def overwrites(blocks):
    m, l = -np.inf, 0.0
    for block in blocks:
        m = max(m, block.max())
        if m > -np.inf:
            l = np.exp(block - m).sum()
    return m, l


def returns_lse(blocks):
    m, l = my_online_softmax(blocks)
    return m, m + np.log(l)


def swapped(blocks):
    m, l = my_online_softmax(blocks)
    return l, m


def returns_weights(blocks):
    return my_softmax(np.concatenate(blocks))


def empties_the_list(blocks):
    m, l = -np.inf, 0.0
    while blocks:
        block = blocks.pop(0)
        m_new = max(m, block.max())
        if m_new > -np.inf:
            l = l * np.exp(m - m_new) + np.exp(block - m_new).sum()
            m = m_new
    return m, l


WRONG[checks.check_online_softmax] = {
    forgets_to_rescale: "forgot to rescale the running sum",
    forgets_to_rescale_and_to_guard: "forgot to rescale the running sum",
    rescales_upside_down: "the old sum must shrink",
    rescales_upside_down_from_nothing: "the old sum must shrink",
    maximum_of_the_last_block: "The running maximum never falls",
    blocks_against_their_own_maximum: "each block's own maximum",
    starts_at_zero: "Start from −inf",
    sums_raw_exponentials: "without subtracting the maximum",
    no_guard: "−inf − (−inf) is not a number. While only −inf has been seen",
    overwrites: "Your sum holds the last block only",
    returns_lse: "log-sum-exp",
    swapped: "the maximum first",
    returns_weights: "should return (m, l); it returned",
    empties_the_list: "changed its input blocks in place",
}


# --- the thermostat --------------------------------------------------------------------------


def bisect(too_cold, low=-20.0, high=20.0, steps=100):
    """Bisect log(temperature); too_cold(t) says that the answer lies above t."""
    for _ in range(steps):
        middle = (low + high) / 2
        if too_cold(np.exp(middle)):
            low = middle
        else:
            high = middle
    return np.exp((low + high) / 2)


def bits_at(scores, t):
    return reference.entropy_bits(reference.softmax(scores / t))


def in_nats(scores, bits):
    return bisect(lambda t: bits_at(scores, t) * np.log(2) < bits)


def multiplies(scores, bits):
    return bisect(lambda t: bits_at(scores, 1 / t) > bits)


def multiplies_and_keeps_the_wrong_half(scores, bits):
    return bisect(lambda t: bits_at(scores, 1 / t) < bits)


def keeps_the_wrong_half(scores, bits):
    return bisect(lambda t: bits_at(scores, t) > bits)


def entropy_without_its_minus(scores, bits):
    return bisect(lambda t: -bits_at(scores, t) < bits)


def bracket_too_small(scores, bits):
    return bisect(lambda t: bits_at(scores, t) < bits, low=np.log(0.1), high=np.log(20))


def returns_the_logarithm(scores, bits):
    return np.log(my_temperature(scores, bits))


def stops_early(scores, bits):
    return bisect(lambda t: bits_at(scores, t) < bits, steps=11)


def counts_keys(scores, bits):
    return bisect(lambda t: 2 ** bits_at(scores, t) < bits)


def returns_the_entropy(scores, bits):
    return bits_at(scores, my_temperature(scores, bits))


def overflows(scores, bits):
    def too_cold(t):
        p = np.exp(scores / t) / np.exp(scores / t).sum()
        return -(p * np.log2(p)).sum() < bits

    return bisect(too_cold)


def scales_in_place(scores, bits):
    t = my_temperature(scores, bits)
    scores /= t
    return t


WRONG[checks.check_temperature_for_entropy] = {
    in_nats: "You measure the entropy in nats",
    multiplies: "1 over the temperature: you multiply",
    multiplies_and_keeps_the_wrong_half: "Do you divide the scores by the temperature?",
    keeps_the_wrong_half: "you kept the wrong half",
    entropy_without_its_minus: "end of your bracket",
    bracket_too_small: "it does not hold the answer",
    returns_the_logarithm: "Return np.exp of it",
    stops_early: "Close: bisect further",
    counts_keys: "You compared 2**entropy with bits",
    returns_the_entropy: "Return the temperature that gives it",
    overflows: "end of your bracket",
    scales_in_place: "changed its input scores in place",
}


CASES = [(check, *case) for check, wrong in WRONG.items() for case in wrong.items()]


@pytest.mark.parametrize(("check", "mutant", "words"), CASES)
def test_wrong_answers(check, mutant, words):
    assert_rejected(check, mutant, words)
