"""The check of grouped-query attention."""

from typing import Any

import numpy as np

from attention_src.attention.reference import attention
from attention_src.exercises.engine.checking import Case, Check, Result
from attention_src.exercises.gqa.grouped_wrong import MISTAKES

Array = np.ndarray
LIMIT = 8 << 20  # bytes: the keys of the memory case take 1 MiB, copied for each head 32 MiB


def _grouped_attention(q: Array, k: Array, v: Array, mask: Any = None) -> Array:
    """Attention with the query heads of a group on an axis of their own."""
    H, H_kv = q.shape[-3], k.shape[-3]
    grouped = (H_kv, H // H_kv)
    if mask is not None:
        full = np.broadcast_to(mask, (*q.shape[:-1], k.shape[-2]))
        mask = full.reshape(*q.shape[:-3], *grouped, *full.shape[-2:])
    q = q.reshape(*q.shape[:-3], *grouped, *q.shape[-2:])
    o = attention(q, k[..., None, :, :], v[..., None, :, :], mask=mask)
    return o.reshape(*o.shape[:-4], H, *o.shape[-2:])


def _case(
    name: str,
    seed: int,
    lead: tuple[int, ...],
    sizes: tuple[int, ...],
    mask: Any = None,
    *,
    spread: float = 1.0,
    max_bytes: int | None = None,
) -> Case:
    """A named case. sizes: H, H_kv, n_q, n_k, d_k, d_v."""
    H, H_kv, n_q, n_k, d_k, d_v = sizes
    rng = np.random.default_rng(seed)
    shapes = ((H, n_q, d_k), (H_kv, n_k, d_k), (H_kv, n_k, d_v))
    q, k, v = (rng.normal(size=(*lead, *shape)) for shape in shapes)
    return Case(name, (spread * q, k, v, mask), max_bytes)


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


_RNG = np.random.default_rng(7)
_HEADS = _RNG.random((6, 3, 4)) < 0.6
_ALL_AXES = _RNG.random((2, 6, 3, 4)) < 0.6
_BLIND = np.array([[True, False, True], [False, False, False]])

_ONE = np.ones((2, 1, 1))
# Visible scores near -40,000: a mask that writes -1e4 in place of hidden ones uncovers them.
_FAR_BELOW = Case(
    "every score near -40,000, one key hidden",
    (-200.0 * _ONE, np.array([[[201.0], [200.0], [200.01]]]), np.array([[[5.0], [1.0], [2.0]]]),
     np.array([[False, True, True]])),
)  # fmt: skip
# Clipped scores, or those of float32, make near ties even; -1e4 added to a loud one hides nothing.
_FAR_ABOVE = Case(
    "every score near 40,000, one key hidden",
    (200.0 * _ONE, *_FAR_BELOW.args[1:]),
)
_LOUD_HIDDEN = Case(
    "the hidden key's score is 80,000 above the others",
    (200.0 * _ONE, np.array([[[200.0], [-200.0], [-200.01]]]), *_FAR_BELOW.args[2:]),
)

GROUPED_ATTENTION = Check(
    "grouped_attention",
    reference=_grouped_attention,
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
        _case(
            "two texts, padded: mask [2, 1, 1, n_k]",
            10,
            (2,),
            (6, 2, 2, 3, 2, 2),
            np.array([[1, 1, 1], [1, 1, 0]], dtype=bool)[:, None, None],
        ),
        _case("two texts, a mask with all axes", 11, (2,), (6, 2, 3, 4, 2, 2), _ALL_AXES),
        _case("scores in the thousands", 12, (), (6, 2, 2, 3, 2, 2), spread=3000.0),
        _FAR_BELOW,
        _FAR_ABOVE,
        _LOUD_HIDDEN,
        _case(
            "32 query heads, one key/value head: no room for copies",
            13,
            (),
            (32, 1, 1, 4096, 32, 32),
            max_bytes=LIMIT,
        ),
        _case(
            "the same with 4 key/value heads",
            14,
            (),
            (32, 4, 1, 1024, 32, 32),
            np.ones((1, 1024), dtype=bool),
            max_bytes=LIMIT,
        ),
    ],
    draw=_draw,
    drawn=40,
    mistakes=MISTAKES,
    hints=[
        "Give the group an axis of its own: q as [..., H_kv, r, n_q, d_k]. Which axis does k need?",
        "k[..., None, :, :] is [..., H_kv, 1, n_k, d_k]: it broadcasts over r, without a copy.",
        "A mask may have a head axis: broadcast it to [..., H, n_q, n_k], then reshape it as q.",
    ],
)


def check_grouped_attention(f: Any) -> Result:
    """Check f(q [..., H, n_q, d_k], k [..., H_kv, n_k, d_k], v [..., H_kv, n_k, d_v], mask=None).

    Args:
        f: the learner's function; where there is no mask it is called with three arguments
    Returns: status and message, as printed
    Raises:
        ValueError: f is not callable
    """
    return GROUPED_ATTENTION.run(f)
