"""Grouped attention: right answers pass and may be kept, wrong ones do not and are named.

In the table of wrong answers: code, and what the message must speak of ("" = any message).
"""

import numpy as np
import pytest
from grouped_answers import RIGHT, full_mask, grouped_attention, weights
from worked import assert_rejected, assert_worked

from attention_src.attention.reference import attention
from attention_src.exercises.engine.checking import passed
from attention_src.exercises.gqa import check_grouped_attention


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass_and_may_be_kept(name):
    assert check_grouped_attention(RIGHT[name]).status == "passed"
    assert passed[RIGHT[name]] == "grouped_attention"


def test_worked_solution_and_stub():
    assert_worked("gqa", check_grouped_attention, grouped_attention)


def test_what_is_no_function_is_refused():
    with pytest.raises(ValueError, match="should be a function"):
        check_grouped_attention(3)


def dealt(rule, rule_v=None, attend=attention):
    def answer(q, k, v, mask=None):
        H, H_kv = q.shape[-3], k.shape[-3]
        keys = [rule(h, H, H_kv) for h in range(H)]
        values = [(rule_v or rule)(h, H, H_kv) for h in range(H)]
        k, v = k[..., keys, :, :], v[..., values, :, :]
        return attend(q, k, v, mask=full_mask(q, k, mask))

    return answer


def neighbours(h, H, H_kv):
    return h // (H // H_kv)


def tile(h, H, H_kv):
    return h % H_kv


def scaled(scale):
    return lambda q, k, v, mask: attention(q, k, v, mask=mask, scale=scale(q, k, v))


def unshifted(q, k, v, mask):
    s = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    e = np.exp(s if mask is None else np.where(mask, s, -np.inf))
    l = e.sum(axis=-1, keepdims=True)
    return e / np.where(l > 0, l, 1) @ v


def minus_1e9(q, k, v, mask):
    s = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    return weights(s if mask is None else np.where(mask, s, -1e9), None) @ v


def minus_1e4(q, k, v, mask):
    """Hidden keys get -1e4, and their weights are set to 0 afterwards."""
    s = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    if mask is None:
        return weights(s, None) @ v
    return np.where(mask, weights(np.where(mask, s, -1e4), None), 0) @ v


def plus_minus_1e4(q, k, v, mask):
    """-1e4 is added to hidden scores; a row that sees nothing gives 0."""
    s = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    if mask is None:
        return weights(s, None) @ v
    sees = np.broadcast_to(mask, s.shape).any(axis=-1, keepdims=True)
    return np.where(sees, weights(s + np.where(mask, 0, -1e4), None), 0) @ v


def clipped(q, k, v, mask):
    s = np.minimum(q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5, 1e4)
    return weights(s, mask) @ v


def regrouped_mask(q, k, v, mask=None):
    """The mask's heads are dealt out as if they were tiled."""
    if mask is not None and np.ndim(mask) > 2:
        full = full_mask(q, k, mask)
        H, H_kv = q.shape[-3], k.shape[-3]
        order = [h % H_kv * (H // H_kv) + h // H_kv for h in range(H)]
        mask = full[..., order, :, :]
    return grouped_attention(q, k, v, mask)


def in_place(q, k, v, mask=None):
    o = grouped_attention(q, k, v, mask)
    q *= 0
    return o


def five_axes(q, k, v, mask=None):
    o = grouped_attention(q, k, v, mask)
    return o.reshape(*o.shape[:-3], k.shape[-3], -1, *o.shape[-2:])


def added(q, k, v, mask=None):
    return five_axes(q, k, v, mask).sum(axis=-3)


def one_softmax(q, k, v, mask=None):
    """All queries of a group share one softmax."""
    H, H_kv = q.shape[-3], k.shape[-3]
    q5 = q.reshape(*q.shape[:-3], H_kv, H // H_kv, *q.shape[-2:])
    s = q5 @ k[..., None, :, :].swapaxes(-1, -2) / q.shape[-1] ** 0.5
    e = np.exp(s - s.max(axis=(-3, -1), keepdims=True))
    return (e / e.sum(axis=(-3, -1), keepdims=True) @ v[..., None, :, :]).reshape(
        *q.shape[:-1], v.shape[-1]
    )


def wrong_order_of_rows(q, k, v, mask=None):
    H, H_kv, n_q = q.shape[-3], k.shape[-3], q.shape[-2]
    q5 = q.reshape(*q.shape[:-3], H_kv, n_q, H // H_kv, q.shape[-1]).swapaxes(-2, -3)
    return grouped_attention(q5.reshape(q.shape), k, v, mask)


WRONG = {
    "tiled": (dealt(tile), "row of heads is tiled"),
    "keys tiled": (dealt(tile, neighbours), "your keys are tiled"),
    "values tiled": (dealt(neighbours, tile), "your values are tiled"),
    "divided by H_kv": (dealt(lambda h, H, H_kv: min(h // H_kv, H_kv - 1)), "divide h by H_kv"),
    "head 0": (dealt(lambda h, H, H_kv: 0), "key/value head 0"),
    "last head": (dealt(lambda h, H, H_kv: H_kv - 1), ""),
    "reversed": (dealt(lambda h, H, H_kv: H_kv - 1 - neighbours(h, H, H_kv)), ""),
    "one too early": (dealt(lambda h, H, H_kv: min((h + 1) * H_kv // H, H_kv - 1)), ""),
    "pairs": (dealt(lambda h, H, H_kv: min(h // 2, H_kv - 1)), ""),
    "copies": (dealt(neighbours), "made a copy"),
    "mean of heads": (
        lambda q, k, v, mask=None: grouped_attention(
            q, *(x.mean(axis=-3, keepdims=True) for x in (k, v)), mask
        ),
        "averaged",
    ),
    "no mask": (lambda q, k, v, mask=None: grouped_attention(q, k, v), "without its mask"),
    "polarity": (
        lambda q, k, v, mask=None: grouped_attention(q, k, v, None if mask is None else ~mask),
        "True means",
    ),
    "mask's heads dealt out otherwise": (regrouped_mask, ""),
    "not scaled": (dealt(neighbours, attend=scaled(lambda q, k, v: 1)), "not divided"),
    "scaled by d_v": (
        dealt(neighbours, attend=scaled(lambda q, k, v: v.shape[-1] ** -0.5)),
        "root of d_v",
    ),
    "scaled by the group": (
        lambda q, k, v, mask=None: grouped_attention(
            q / np.sqrt(q.shape[-3] // k.shape[-3]), k, v, mask
        ),
        "",
    ),
    "overflow": (dealt(neighbours, attend=unshifted), ""),
    "-1e9": (dealt(neighbours, attend=minus_1e9), ""),
    "-1e4": (dealt(neighbours, attend=minus_1e4), "40,000"),
    "-1e4 added": (dealt(neighbours, attend=plus_minus_1e4), "80,000"),
    "clipped at 1e4": (dealt(neighbours, attend=clipped), "40,000"),
    "float32 from end to end": (
        lambda q, k, v, mask=None: grouped_attention(
            *(x.astype(np.float32) for x in (q, k, v)), mask
        ),
        "40,000",
    ),
    "five axes": (five_axes, "still has an axis"),
    "added": (added, "added up the heads"),
    "one softmax for the group": (one_softmax, ""),
    "rows mixed up": (wrong_order_of_rows, ""),
    "in place": (in_place, "in place"),
    "squeezed": (lambda q, k, v, mask=None: grouped_attention(q, k, v, mask).squeeze(), "shape"),
    "other name": (lambda q, k, v, m=None: grouped_attention(q, k, v, m), "mask"),
    "float32 inside": (
        lambda q, k, v, mask=None: grouped_attention(
            *(x.astype(np.float32) for x in (q, k, v)), mask
        ).astype(float),
        "",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_rejected_and_named(name):
    answer, spoken_of = WRONG[name]
    assert_rejected(check_grouped_attention, answer, spoken_of)
