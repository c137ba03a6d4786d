"""The verdicts of attention_src.judge: right ones in many conventions, mistakes by their names."""

import json

import numpy as np
import pytest

from attention_src.judge import assert_right, judge, judge_source


def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def scores(q, k):
    return q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])


def plain(q, k, v):
    return softmax(scores(q, k)) @ v


def masked(q, k, v, mask=None):
    s = scores(q, k)
    return softmax(s if mask is None else np.where(mask, s, -1e30)) @ v


def hiding(q, k, v, mask=None):
    return masked(q, k, v, None if mask is None else ~mask)


def added(q, k, v, mask=0.0):
    return softmax(scores(q, k) + mask) @ v


def heads_third(query, key, value):
    q, k, v = (x.transpose(0, 2, 1, 3) for x in (query, key, value))
    return plain(q, k, v).transpose(0, 2, 1, 3)


def merged(q, k, v):
    o = plain(q, k, v)
    return o.transpose(0, 2, 1, 3).reshape(o.shape[0], o.shape[2], -1)


def causal(q, k, v, ahead=0):
    n_q, n_k = q.shape[-2], k.shape[-2]
    return masked(q, k, v, np.tri(n_q, n_k, n_k - n_q + ahead, dtype=bool))


@pytest.mark.parametrize("f", [plain, masked, hiding, added, heads_third, merged, causal])
def test_right_in_every_convention(f):
    report = judge(f)
    assert report.verdict in ("right", "fragile") and report.exit_code == 0, report


def test_what_a_mask_means_is_said():
    assert "True = may attend" in judge(masked).convention["mask"]
    assert "True hides" in judge(hiding).convention["mask"]
    assert "added" in judge(added).convention["mask"]


WRONG = {
    "not scaled": "return softmax(q @ k.swapaxes(-1, -2)) @ v",
    "divided by d, not √d": "return softmax(q @ k.swapaxes(-1, -2) / q.shape[-1]) @ v",
    "softmax over the queries": "return softmax(k @ q.swapaxes(-1, -2) / 2).swapaxes(-1, -2) @ v",
    "keys and values exchanged": "return softmax(scores(q, v)) @ k",
    "softmax twice": "return softmax(softmax(scores(q, k))) @ v",
    "one key ahead": "return causal(q, k, v, ahead=1)",
    "texts mix": "s = scores(q, k)\n    return softmax(s + s.mean(0)) @ v",
    "scale": "return softmax(0.7 * q @ k.swapaxes(-1, -2)) @ v",
}


@pytest.mark.parametrize("cause", WRONG)
def test_a_mistake_is_named(cause):
    space = globals().copy()
    exec(f"def f(q, k, v):\n    {WRONG[cause]}", space)
    report = judge(space["f"])
    assert report.verdict == "wrong" and report.cause == cause, report
    assert report.exit_code == 1 and report.findings[0].lesson


def softcapped(q, k, v):
    return softmax(50 * np.tanh(scores(q, k) / 50)) @ v


def with_sinks(q, k, v):
    s = scores(q, k)
    m = np.maximum(s.max(axis=-1, keepdims=True), 0)
    e = np.exp(s - m)
    return e / (np.exp(-m) + e.sum(axis=-1, keepdims=True)) @ v


def with_alibi(q, k, v):
    slopes = 2.0 ** -np.arange(1, q.shape[1] + 1)[:, None, None]
    return softmax(scores(q, k) + slopes * np.arange(k.shape[-2])) @ v


def normalised(q, k, v):
    q, k = (x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (q, k))
    return softmax(8 * q @ k.swapaxes(-1, -2)) @ v


def windowed(q, k, v):
    n_q, n_k = q.shape[-2], k.shape[-2]
    back = np.arange(n_q)[:, None] + n_k - n_q - np.arange(n_k)
    return masked(q, k, v, (back >= 0) & (back < 3))


VARIANTS = {
    softcapped: "softcapped with 50",
    with_sinks: "1 is added",
    with_alibi: r"ALiBi with slopes [0.5, 0.25, 0.125]",
    normalised: "q is normalised; k is normalised",
    windowed: "a window",
}


@pytest.mark.parametrize("f", VARIANTS, ids=lambda f: f.__name__)
def test_what_is_not_plain_is_known_and_not_wrong(f):
    report = judge(f)
    assert report.exit_code == 0 and VARIANTS[f] in report.convention["variant"], report


def two_masks(q, k, v, attn_mask=None, key_padding_mask=None):
    s = scores(q, k)
    if attn_mask is not None:
        s = np.where(attn_mask, s, -1e30)
    if key_padding_mask is not None:
        s = np.where(key_padding_mask[:, None, None, :], -1e30, s)
    return softmax(s) @ v


def one_of_two(q, k, v, attn_mask=None, key_padding_mask=None):
    return two_masks(q, k, v, attn_mask, key_padding_mask if attn_mask is None else None)


def test_two_masks_at_once():
    report = judge(two_masks)
    assert report.exit_code == 0 and "True hides" in report.convention["key_padding_mask"], report
    assert judge(one_of_two).cause == "one of two masks"


def overflows(q, k, v):
    e = np.exp(scores(q, k))
    return e / e.sum(axis=-1, keepdims=True) @ v


def writes(q, k, v):
    q /= np.sqrt(q.shape[-1])
    return softmax(q @ k.swapaxes(-1, -2)) @ v


def test_fragile_is_not_wrong():
    for f, key in ((overflows, "no maximum subtracted"), (writes, "in-place change")):
        report = judge(f)
        assert report.verdict == "fragile" and report.findings[0].key == key, report
        assert_right(f)
        with pytest.raises(AssertionError, match=key):
            assert_right(f, sturdy=True)


def rotate(x, neighbours=False, base=10000.0):
    n, d = x.shape[-2:]
    angle = np.arange(n)[:, None] * base ** (-2 * np.arange(d // 2) / d)
    cos, sin = np.cos(angle), np.sin(angle)
    first, second = (x[..., ::2], x[..., 1::2]) if neighbours else np.split(x, 2, axis=-1)
    parts = first * cos - second * sin, first * sin + second * cos
    return np.stack(parts, -1).reshape(x.shape) if neighbours else np.concatenate(parts, -1)


def test_rope():
    report = judge(lambda x: rotate(x), "rope", pairs="halves")
    assert report.verdict == "right" and "halves" in report.convention["pairs"]
    assert judge(lambda x: rotate(x, True), "rope", pairs="halves").cause == "other pairs"
    assert judge(lambda x: rotate(x, base=100.0), "rope").cause == "frequencies"
    assert judge(lambda x: x, "rope").cause == "positions not used"


class Cache:
    def __init__(self):
        self.k = self.v = None

    def update(self, k, v):
        join = lambda old, new: new if old is None else np.concatenate([old, new], axis=-2)  # noqa: E731
        self.k, self.v = join(self.k, k), join(self.v, v)
        return self.k, self.v


class Shared(Cache):
    kept: list = []  # noqa: RUF012 - the mistake

    def update(self, k, v):
        self.kept.append((k, v))
        return tuple(np.concatenate(x, axis=-2) for x in zip(*self.kept, strict=True))


def test_caches():
    assert judge(Cache, "cache").verdict == "right"
    assert judge(Shared, "cache").cause == "caches share a store"


def repeat_kv(x, n_rep):
    return np.repeat(x, n_rep, axis=1)


def tile_kv(x, n_rep):
    return np.tile(x, (1, n_rep, 1, 1))


def grouped(q, k, v, kept=repeat_kv):
    group = q.shape[1] // k.shape[1]
    return plain(q, kept(k, group), kept(v, group))


def test_grouped_heads():
    assert judge(lambda q, k, v: grouped(q, k, v), "grouped").verdict == "right"
    tiled = judge(lambda q, k, v: grouped(q, k, v, tile_kv), "grouped")
    assert tiled.cause == "keys shared in turns"
    assert judge(repeat_kv, "grouped").verdict == "right"
    assert judge(tile_kv, "grouped").cause == "keys shared in turns"


def test_masks_and_softmax():
    assert judge(lambda n: np.tri(n, dtype=bool), "mask").verdict == "right"
    assert judge(lambda n: np.tri(n, k=-1, dtype=bool), "mask").cause == "own key hidden"
    assert judge(softmax, "softmax").verdict == "right"
    assert judge(lambda s: np.exp(s) / np.exp(s).sum(), "softmax").cause


def tiled(q, k, v, block_size=3):
    o, l = np.zeros((*q.shape[:-1], v.shape[-1])), np.zeros((*q.shape[:-1], 1))
    m = np.full(l.shape, -np.inf)
    for at in range(0, k.shape[-2], block_size):
        s = scores(q, k[..., at : at + block_size, :])
        new = np.maximum(m, s.max(axis=-1, keepdims=True))
        p, old = np.exp(s - new), np.exp(m - new)
        l, m = l * old + p.sum(axis=-1, keepdims=True), new
        o = o * old + p @ v[..., at : at + block_size, :]
    return o / l


def test_tiles():
    report = judge(tiled, "tiled")
    assert report.verdict == "right" and "MiB" in report.convention["memory"], report
    whole = judge(lambda q, k, v, block_size=3: plain(q, k, v), "tiled")
    assert [x.key for x in whole.findings] == ["the whole table"]


def test_options_are_checked():
    for options in ({"kind": "attn"}, {"mask": "True shows"}, {"layout": 3}, {"scale": "d"}):
        with pytest.raises(ValueError, match=next(iter(options))):
            judge(plain, **options)
    with pytest.raises(ValueError, match="dropuot"):
        judge(plain, dropuot=0.0)
    with pytest.raises(ValueError, match="f is int"):
        judge(3)
    unscaled = judge(lambda q, k, v: softmax(q @ k.swapaxes(-1, -2)) @ v, scale=1.0)
    assert unscaled.verdict == "right"


def test_a_report_is_json():
    report = judge(plain)
    said = json.loads(report.to_json())
    assert said["verdict"] == "right" and said["words"] == str(report) and said["cause"] is None


def test_code_as_text():
    head = "import numpy as np\n"
    good = "def attention(q, k, v):\n    s = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5\n"
    good += "    e = np.exp(s - s.max(-1, keepdims=True))\n"
    good += "    return e / e.sum(-1, keepdims=True) @ v\n"
    assert judge_source(head + "def _help(x):\n    return x\n" + good).verdict == "right"
    assert judge_source(head + good, "attention", "attention").verdict == "right"
    for text, words in {
        "def f(:": "SyntaxError in line 1",
        "x = 1": "no function",
        "1 / 0": "ZeroDivisionError in line 1",
        "import sys\nsys.exit()": "ended Python",
        "def attention(q, k, v):\n    return 'yes'": "str",
        "def attention(q, k, v):\n    raise KeyError('no')": "KeyError",
        "def attention(q, k, v, zork):\n    return zork.blub(q)": "zork",
    }.items():
        report = judge_source(text)
        assert report.exit_code == 2 and words in report.why, report


def test_what_it_prints_does_not_show(capsys):
    def f(q, k, v):
        print("line\n" * 1000)
        return plain(q, k, v)

    assert judge(f).verdict == "right" and capsys.readouterr().out == ""
