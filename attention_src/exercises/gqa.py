"""The checks of the chapter on grouped-query attention."""

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_src.attention.reference import attention
from attention_src.costs import kv_cache_bytes
from attention_src.exercises.engine import Case, Check, Ladder, Rung, TestCheck
from attention_src.softmax.reference import softmax

LIMIT = 8 << 20  # bytes: grouped, the keys take 1 MiB, copied for each head 32; absorbed, 16

# --- Grouped ----------------------------------------------------------------------------------


def grouped_attention(q, k, v, mask=None):
    H, H_kv = q.shape[-3], k.shape[-3]
    group = (*q.shape[:-3], H_kv, H // H_kv)  # [..., H_kv, r]
    if mask is not None:  # to [..., H, n_q, n_k], then as q
        mask = np.broadcast_to(mask, (*q.shape[:-1], k.shape[-2]))
        mask = mask.reshape(*group, *mask.shape[-2:])
    q = q.reshape(*group, *q.shape[-2:])  # [..., H_kv, r, n_q, d_k]
    k, v = k[..., None, :, :], v[..., None, :, :]  # [..., H_kv, 1, n_k, d]
    o = attention(q, k, v, mask=mask)  # [..., H_kv, r, n_q, d_v]
    return o.reshape(*o.shape[:-4], H, *o.shape[-2:])


def _case(name: str, seed: int, lead: tuple, sizes: tuple, mask: Any = None, **more: Any) -> Case:
    """A named case. sizes: H, H_kv, n_q, n_k, d_k, d_v; more: spread of q, max_bytes, rtol."""
    H, H_kv, n_q, n_k, d_k, d_v = sizes
    rng = np.random.default_rng(seed)
    shapes = ((H, n_q, d_k), (H_kv, n_k, d_k), (H_kv, n_k, d_v))
    q, k, v = (rng.normal(size=(*lead, *shape)) for shape in shapes)
    return Case(name, (more.pop("spread", 1.0) * q, k, v, mask), **more)


def _weights(q: Any, k: Any, hide: Callable = lambda s: s) -> Any:
    """Softmax of scaled scores that were hidden somehow, which several mistakes do badly."""
    return softmax(hide(q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5))


def _draw(rng: np.random.Generator) -> tuple:
    lead = tuple(int(size) for size in rng.integers(1, 4, rng.integers(0, 3)))
    H_kv, r = (int(size) for size in rng.integers(1, 5, 2))
    n_q, n_k, d_k, d_v = (int(size) for size in rng.integers(1, 6, 4))
    full = (*lead, H_kv * r, n_q, n_k)
    axes = int(rng.integers(1, len(full) + 1))
    shape = [size if rng.random() < 0.7 else 1 for size in full[-axes:]]
    mask = rng.random(shape) < 0.7 if rng.random() < 0.6 else None
    if mask is not None and mask.ndim == 2 and n_q in (H_kv, *lead):
        mask = mask[None]  # on four axes of scores, `attention` refuses [n_q, n_k] as ambiguous
    q = rng.normal(size=(*full[:-1], d_k)) * rng.choice([0.3, 1.0, 30.0, 1000.0])
    k, v = (rng.normal(size=(*lead, H_kv, n_k, d)) for d in (d_k, d_v))
    return q, k, v, mask


def _one_hidden(name: str, q: float, *keys: float) -> Case:
    """Two heads, three keys of width 1; the first is hidden."""
    k, v = (np.reshape(x, (1, 3, 1)) for x in (keys, (5.0, 1.0, 2.0)))
    return Case(name, (np.full((2, 1, 1), float(q)), k, v, np.array([[False, True, True]])))


_RNG = np.random.default_rng(7)
_HEADS, _ALL_AXES = (_RNG.random(shape) < 0.6 for shape in ((6, 3, 4), (2, 6, 3, 4)))
_BLIND = np.array([[True, False, True], [False, False, False]])
_PADDED = np.array([[True, True, True], [True, True, False]])[:, None, None]
_SEEN = np.ones((1, 1024), dtype=bool)
_MANY, _MORE = (32, 1, 1, 4096, 32, 32), (32, 4, 1, 1024, 32, 32)

check_grouped_attention = Check(
    "grouped_attention",
    grouped_attention,
    asks="f(q [..., H, n_q, d_k], k [..., H_kv, n_k, d_k], v [..., H_kv, n_k, d_v], mask=None)",
    cases=[
        _case("four query heads, two key/value heads", 0, (), (4, 2, 1, 3, 2, 2)),
        _case("six query heads, two key/value heads", 1, (), (6, 2, 2, 3, 4, 2)),
        _case("six query heads, three key/value heads, d_v above d_k", 2, (), (6, 3, 3, 4, 2, 5)),
        _case("one key/value head for all", 3, (), (4, 1, 2, 3, 2, 2)),
        _case("a key/value head for each", 4, (), (3, 3, 2, 3, 2, 2)),
        _case("a causal mask [n_q, n_k]", 5, (), (6, 2, 4, 4, 2, 2), np.tri(4, dtype=bool)),
        _case("a query that may see nothing", 6, (), (6, 3, 2, 3, 2, 2), _BLIND),
        _case("each query head its own mask [H, n_q, n_k]", 8, (), (6, 2, 3, 4, 2, 2), _HEADS),
        _case("two texts", 9, (2,), (6, 3, 2, 3, 2, 2)),
        _case("two texts, padded: mask [2, 1, 1, n_k]", 10, (2,), (6, 2, 2, 3, 2, 2), _PADDED),
        _case("two texts, a mask with all axes", 11, (2,), (6, 2, 3, 4, 2, 2), _ALL_AXES),
        _case("scores in the thousands", 12, (), (6, 2, 2, 3, 2, 2), spread=3000.0),
        # A mask that writes -1e4 in place of hidden scores uncovers them.
        _one_hidden("every score near -40,000, one key hidden", -200.0, 201.0, 200.0, 200.01),
        # Clipped scores, or those of float32, make near ties even.
        _one_hidden("every score near 40,000, one key hidden", 200.0, 201.0, 200.0, 200.01),
        # -1e4 added to a loud score hides nothing.
        _one_hidden("the hidden key's score is 80,000 above the others", 200, 200, -200, -200.01),
        _case(
            "32 query heads, one key/value head: no room for copies", 13, (), _MANY, max_bytes=LIMIT
        ),
        # Half of one copy, which takes 8 MiB.
        _case("the same with 4 key/value heads", 14, (), _MORE, _SEEN, max_bytes=LIMIT // 2),
        _case("three axes in front", 15, (2, 1, 3), (4, 2, 2, 3, 2, 2)),
        _case("d_k = 1, to twelve digits", 16, (), (4, 2, 2, 3, 1, 2), rtol=1e-12),
    ],
    draw=_draw,
    drawn=40,
    mistakes="""
tiled: Your query head h uses key/value head h % H_kv: the row of heads is tiled. Neighbours \
share: head h // r, with r = H // H_kv.
    group = (*q.shape[:-3], H, 1)
    k, v = (x[..., np.arange(H) % H_kv, None, :, :] for x in (k, v))
divided by H_kv: You divide h by H_kv. Divide by r = H // H_kv, the number of query heads that \
share.
    group = (*q.shape[:-3], H, 1)
    k, v = (x[..., np.minimum(np.arange(H) // H_kv, H_kv - 1), None, :, :] for x in (k, v))
first head for all: All your query heads use key/value head 0. That is right only if there is \
no other.
    k, v = k[..., :1, None, :, :], v[..., :1, None, :, :]
mean: You averaged the key/value heads. Each group has its own.
    k, v = (x.mean(axis=-3, keepdims=True)[..., None, :, :] for x in (k, v))
keys tiled: Your values are shared by neighbours, your keys are tiled.
    group = (*q.shape[:-3], H, 1)
    + h, r = np.arange(H), H // H_kv
    k, v = k[..., h % H_kv, None, :, :], v[..., h // r, None, :, :]
values tiled: Your keys are shared by neighbours, your values are tiled.
    group = (*q.shape[:-3], H, 1)
    + h, r = np.arange(H), H // H_kv
    k, v = k[..., h // r, None, :, :], v[..., h % H_kv, None, :, :]
copied: You made a copy of k or v for each query head, and the memory does not suffice. An axis \
of size 1 broadcasts without a copy.
    group = (*q.shape[:-3], H, 1)
    k, v = (np.repeat(x, H // H_kv, axis=-3)[..., None, :, :] for x in (k, v))
mask not used: This is attention without its mask.
    o = attention(q, k, v)
reversed polarity: True means: may attend. Yours hides exactly those keys.
    o = attention(q, k, v, mask=None if mask is None else ~mask)
score set to 0: A hidden key has score 0 in yours, as s * mask makes it. exp(0) = 1 is not \
nothing: its score must become -inf.
    o = _weights(q, k, lambda s: s if mask is None else np.where(mask, s, 0)) @ v
mask added: You added the mask to the scores: True counts as 1, so visible scores grow by 1 and \
hidden ones stay. Hidden scores must become -inf.
    o = _weights(q, k, lambda s: s if mask is None else s + mask) @ v
-1e9 added: You added a large finite number to hidden scores. In a row where every key is hidden \
it is the same for all, softmax ignores it, and the hidden keys are back. Use -inf.
    o = _weights(q, k, lambda s: s if mask is None else s - 1e9 * ~mask) @ v
maximum from 0: Your maximum begins at 0. In a row far below 0 every exponential is then 0. Take \
the maximum of the row's own visible scores.
    - o = attention
    + s = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
    + s = s if mask is None else np.where(mask, s, -np.inf)
    + e = np.exp(s - np.maximum(s.max(axis=-1, keepdims=True), 0))
    + l = e.sum(axis=-1, keepdims=True)
    + o = e / np.where(l > 0, l, 1) @ v
hidden by -1e4: Where a query may see no key, all scores became one finite number, and you give \
all keys equal weights; and visible scores lie lower. Use -inf, and let such a query's output be 0.
    o = _weights(q, k, lambda s: s if mask is None else np.where(mask, s, -1e4)) @ v
zeroed after softmax: Hidden keys still count in the sum of the softmax, so the visible weights no \
longer sum to 1. Set scores to -inf before it.
    o = _weights(q, k) * (1 if mask is None else mask) @ v
not scaled: The scores are not divided by the root of d_k.
    o = attention(q, k, v, mask=mask, scale=1.0)
scaled by d_v: You took the root of d_v; scores are sums over d_k.
    o = attention(q, k, v, mask=mask, scale=v.shape[-1] ** -0.5)
heads added: You added up the heads of a group. Each has its own output.
    return o.sum(axis=-3)
group axis left: Your output still has an axis for the group. Join it with H_kv: [..., H, n_q, d_v].
    return o
NaN for no key: Where a query may see no key, your output is NaN. It should be 0.
    o = attention(q, k, v, mask=mask)
    + o = o if mask is None else np.where(mask.any(-1)[..., None], o, np.nan)
equal weights for no key: Where a query may see no key, you give all keys equal weights: hidden \
scores are a finite number. Let them be -inf, and the output of such a query 0.
    o = attention(q, k, v, mask=mask)
    + o = o if mask is None else np.where(mask.any(-1)[..., None], o, v.mean(-2, keepdims=True))
mask's heads tiled: Your query heads look through one another's masks. Reshape the mask as q.
    group = (*q.shape[:-3], H_kv, H // H_kv)
    + tiled = (*q.shape[:-3], H // H_kv, H_kv)
    q = q.reshape(*group, *q.shape[-2:])
    + mask = mask if mask is None else mask.reshape(*tiled, *mask.shape[-2:]).swapaxes(-3, -4)
""",
    hints=[
        "Give the group an axis of its own: q as [..., H_kv, r, n_q, d_k]. Which axis does k need?",
        "k[..., None, :, :] is [..., H_kv, 1, n_k, d_k]: it broadcasts over r, without a copy.",
        "A mask may have a head axis: broadcast it to [..., H, n_q, n_k], then reshape it as q.",
    ],
)

# --- A test of who shares ---------------------------------------------------------------------


def shared(q, k, v):
    H, H_kv = len(q), len(k)
    h, r = np.arange(H), H // H_kv
    keys = h // r
    values = h // r
    scale = q.shape[-1] ** -0.5
    o = attention(q, k[keys], v[values], scale=scale)
    return o


check_sharing_test = TestCheck(
    "my_sharing_test",
    asks="test(grouped), which raises AssertionError if heads are shared wrongly",
    of=shared,
    right="""
a view: the group has an axis of its own
    return attention(q.reshape(H_kv, r, *q.shape[1:]), k[:, None], v[:, None]).reshape(o.shape)
rows: the queries of a group stand below one another
    return attention(q.reshape(H_kv, -1, q.shape[-1]), k, v).reshape(o.shape)
a loop: it goes head by head
    return np.stack([attention(q[i], k[i // r], v[i // r]) for i in h])
repeat: copies give the same numbers
    return o
float32: it computes in float32: allow for differences of 1e-5
    return attention(*(x.astype(np.float32) for x in (q, k[keys], v[values])))
""",
    wrong="""
tiled: it takes head h % H_kv
    keys = h % H_kv
    values = h % H_kv
keys tiled: its values are shared by neighbours, its keys are tiled
    keys = h % H_kv
values tiled: its keys are shared by neighbours, its values are tiled
    values = h % H_kv
divides by H_kv: it takes head h // H_kv, which is right as long as H is the square of H_kv, as in \
9 and 3, or 64 and 8
    keys = np.minimum(h // H_kv, H_kv - 1)
    values = keys
head 0: all use key/value head 0
    keys = 0 * h
    values = keys
the mean: it averages the key/value heads
    return attention(q, *(x.mean(axis=0, keepdims=True) for x in (k, v)))
the other way round: its groups are right and meet the heads in reverse order
    keys = H_kv - 1 - h // r
    values = keys
one too early: the last query head of each group already uses the next head
    keys = np.minimum((h + 1) // r, H_kv - 1)
    values = keys
the last head: its last query head alone is wrong: it uses key/value head 0
    keys = np.where(h == H - 1, 0, h // r)
    values = keys
only pairs: it takes head h // 2, which is right if two share. Do you try groups of three?
    keys = np.minimum(h // 2, H_kv - 1) if H_kv < H else h
    values = keys
group's mean: all query heads of a group get the mean of their outputs
    return np.repeat(o.reshape(H_kv, r, *o.shape[1:]).mean(axis=1), r, axis=0)
rows mixed up: it regroups queries by token and not by head. Have you more than one query?
    scale = None
    + rows = q.reshape(H_kv, r, *q.shape[1:]).swapaxes(1, 2).reshape(H_kv, -1, q.shape[-1])
    return attention(rows, k, v).reshape(o.shape)
scaled by the group: its scale counts the group: 1 / sqrt(r d_k)
    scale = (r * q.shape[-1]) ** -0.5
not scaled: it does not scale its scores
    scale = 1.0
""",
    hints=[
        "Compare each output head with attention(q[h], k[g], v[g]) for the g that it should use.",
        "Sizes: 6 query heads on 2 key/value heads, several queries, and d_k unlike d_v.",
        "np.allclose(grouped(q, k, v)[h], attention(q[h], k[h // 3], v[h // 3]), atol=1e-5)",
    ],
)

# --- What fits: Mistral 7B's sizes ------------------------------------------------------------

LAYERS, H, H_KV, D, D_ROPE = 32, 32, 8, 128, 64


def _token_bytes(n_kv_heads: int = H_KV) -> int:
    return kv_cache_bytes(LAYERS, n_kv_heads, D, D, 1)


check_cache_ladder = Ladder("cache", [
    Rung("a", "numbers of one token in one layer", 2 * H_KV * D, {
        H_KV * D: "That is the keys. The values take as much.",
        2 * H * D: "That is one pair for each query head. How many keep?",
    }, hint="8 heads, each with a key and a value of 128 numbers.", rtol=0),
    Rung("b", "bytes of one token in all layers", _token_bytes(), {
        _token_bytes() // 2: "A number in float16 takes two bytes.",
        _token_bytes() // LAYERS: "That is one layer. There are 32.",
        _token_bytes(H): "That is with a key/value head for each query head.",
    }, hint="32 layers, two bytes for each number.", rtol=0),
    Rung("c", "tokens in 8 GiB", 8 * 2**30 // _token_bytes(), {
        8 * 2**30 // _token_bytes(H): "With 32 key/value heads it is so.",
        8 * 10**9 / _token_bytes(): "You took 8 GB, 8 · 10^9 bytes; 8 GiB are 8 · 2^30.",
    }, hint="8 GiB are 8 · 2^30 bytes.", rtol=0),
    Rung("d", "how many times smaller than with a key/value head for each query head", H / H_KV, {
        H_KV: "8 is the number of key/value heads, the G of the paper. How many query heads share "
            "one?",
        H_KV / H: "How many times smaller: turn it over.",
    }, hint="What you have against H = 32 of them.", rtol=0),
    Rung("e", "the widest latent vector that keeps no more", 2 * H_KV * D - D_ROPE, {
        2 * H_KV * D: "The rotated part is kept as well: 64 numbers.",
        H_KV * D - D_ROPE: "One latent vector gives keys and values both.",
        2 * (H_KV * D - D_ROPE): "The rotated part is for keys only, once.",
    }, hint="d_latent + 64 numbers against your (a).", rtol=0),
    Rung("f", "FLOP for each byte of the cache", H / H_KV, {
        1: "So it is without sharing. Here several queries use each key.",
        H / H_KV / 2: "A multiplication and an addition for each number: that is two.",
        2 * H / H_KV: "Each number has two bytes.",
    }, hint="Each number read, of a key or a value, meets r queries: 2 r FLOP for 2 bytes.",
         rtol=0),
], asks="the rungs of \"What fits\"")  # fmt: skip

# --- Absorbed ---------------------------------------------------------------------------------


def absorbed_attention(q, c, w_uk, w_uv):
    q_c = q @ w_uk.swapaxes(-1, -2)  # [..., H, n_q, d_latent]
    c = c[..., None, :, :]  # [..., 1, n_k, d_latent]
    o = attention(q_c, c, c, scale=q.shape[-1] ** -0.5)
    return o @ w_uv  # [..., H, n_q, d_v]


def _latent(seed: Any, lead: tuple, sizes: tuple, spread: float = 1.0) -> tuple:
    """Inputs. sizes: H, n_q, n_k, d_k, d_v, d_latent."""
    H, n_q, n_k, d_k, d_v, d_latent = sizes
    rng = np.random.default_rng(seed)  # a generator goes on
    shapes = ((*lead, H, n_q, d_k), (*lead, n_k, d_latent), (H, d_latent, d_k), (H, d_latent, d_v))
    q, *rest = (rng.normal(size=shape) for shape in shapes)
    return spread * q, *rest


def _draw_latent(rng: np.random.Generator) -> tuple:
    lead = tuple(int(size) for size in rng.integers(1, 4, rng.integers(0, 3)))
    sizes = tuple(int(size) for size in rng.integers(1, 6, 6))
    return _latent(rng, lead, sizes, float(rng.choice([0.3, 1.0, 30.0, 1000.0])))


# Keys that nearly tie at a score of 9,000, where float32 is 0.001 coarse.
_LOUD = (
    np.full((2, 1, 1), 3000.0),
    np.array([[3.0, 0.0], [3.0001, 5.0], [2.9999, -4.0]]),
    np.array([[[1.0], [0.0]], [[-1.0], [0.0]]]),
    np.array([[[0.0], [1.0]], [[0.0], [1.0]]]),
)

_SIXTEEN = _latent(8, (), (16, 1, 4096, 32, 32, 16))
_WIDE_KEYS = _latent(9, (), (2, 1, 4096, 512, 2, 4))
_WIDE_VALUES = _latent(10, (), (2, 1, 4096, 2, 512, 4))

check_absorbed_attention = Check(
    "absorbed_attention",
    absorbed_attention,
    asks="f(q [..., H, n_q, d_k], c [..., n_k, d_latent], w_uk, w_uv) -> [..., H, n_q, d_v]",
    cases=[
        Case("two heads, a latent of three", _latent(0, (), (2, 1, 3, 2, 2, 3))),
        Case("three heads, two queries", _latent(1, (), (3, 2, 4, 2, 5, 3))),
        Case("a latent narrower than a key", _latent(2, (), (2, 2, 3, 5, 4, 2))),
        Case("as wide as a key", _latent(3, (), (3, 2, 4, 3, 3, 3))),
        Case("one head", _latent(4, (), (1, 2, 3, 2, 3, 4))),
        Case("two texts", _latent(5, (2,), (3, 2, 4, 2, 5, 3))),
        Case("as many texts as heads", _latent(6, (3,), (3, 2, 4, 2, 5, 3))),
        Case("one key", _latent(7, (), (2, 3, 1, 2, 3, 4))),
        Case("near ties at scores of 9,000 and -9,000", _LOUD),
        Case("16 heads, 4,096 keys: no room for them", _SIXTEEN, LIMIT),
        Case("wide keys, a narrow latent: no room for one head's", _WIDE_KEYS, LIMIT),
        Case("wide values: no room for one head's", _WIDE_VALUES, LIMIT),
        Case("the first case's shapes, other numbers", _latent(11, (), (2, 1, 3, 2, 2, 3))),
        Case("d_k = 1, to twelve digits", _latent(13, (), (2, 2, 3, 1, 2, 2)), rtol=1e-12),
        Case("three axes in front", _latent(12, (2, 1, 3), (2, 2, 3, 2, 4, 3))),
    ],
    draw=_draw_latent,
    drawn=40,
    mistakes="""
expanded: You formed keys or values of heads, or copied c for each head. Let each head's query \
meet c itself.
    o = attention(q, c @ w_uk, c @ w_uv)
    return o
scaled by the latent's width: You divided by the root of d_latent, the width that the product \
happens to have. The scores are those of keys of width d_k.
    o = attention(q_c, c, c)
not scaled: The scores are not divided by the root of d_k.
    o = attention(q_c, c, c, scale=1.0)
not transposed: q W_UK turns the query the other way round: q (c W_UK)^T = q W_UK^T c^T.
    q_c = q @ w_uk
keys as values: The output goes through W_UV, yours through W_UK.
    return o @ w_uk
no up-projection: Your output is a mean of latent vectors. It still has to go through W_UV.
    return o
first head's matrices: Each head has its own W_UK and W_UV.
    q_c = q @ w_uk[:1].swapaxes(-1, -2)
    return o @ w_uv[:1]
""",
    hints=[
        "q k^T = q (c W_UK)^T. Move the bracket, so that c stands alone.",
        "q @ w_uk.swapaxes(-1, -2) is [..., H, n_q, d_latent]; c needs an axis for the heads.",
        "The sum of weights times values: p (c W_UV) = (p c) W_UV. The scale is that of d_k.",
    ],
)
