"""What one token needs between its products, as loops over numbers that numba compiles.

One token's norm, rotation, attention and gate are so little work that calling an operation takes
longer than its numbers. Here each of three calls does all that stands between two products.

bfloat16 numbers come as int16, their bits: these are the upper half of a float32's. All is computed
in float32. Shapes: H query heads share H_kv key/value heads of width d; n tokens came before.
"""

import math
from typing import Any

import numpy as np
from numba import config, njit

if config.DISABLE_JIT:  # type: ignore[attr-defined]  # as Python they take seconds for a token
    raise ImportError("NUMBA_DISABLE_JIT is set")

# Let sums be reordered, as SIMD needs; unlike fastmath=True this keeps inf and NaN.
OPTIONS: dict[str, Any] = dict(
    cache=True, error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz"}
)
LOG2_E, LN_2 = np.float32(1 / math.log(2)), np.float32(math.log(2))
ZERO, HALF, ONE = np.float32(0), np.float32(0.5), np.float32(1)  # 0.5 would be float64
TAYLOR = tuple(np.float32(1 / math.factorial(i)) for i in range(7))  # of exp
SMALLEST, LARGEST = np.float32(-127), np.float32(128)  # as exponents of a float32: 0 and infinity


@njit(inline="always", **OPTIONS)
def _float32(bits):
    return np.int32(np.int32(bits) << 16).view(np.float32)


@njit(inline="always", **OPTIONS)
def _bfloat16(x):
    """The bits of the nearest bfloat16; of two, the even one."""
    if x != x:  # the sum below would make 0 of some NaNs
        return np.int16(0x7FC0)
    bits = np.float32(x).view(np.int32)
    return np.int16(np.int32(bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)


@njit(inline="always", **OPTIONS)
def _exp(x):
    """e^x = 2^k e^y with |y| <= ln(2) / 2; k is put into the exponent's bits.

    The relative error is at most 6e-6; 0 below 2^-126.5, and infinity from 2^127.5 on.
    """
    t = min(max(x * LOG2_E, SMALLEST), LARGEST)
    k = np.floor(t + HALF)
    y = (t - k) * LN_2
    c0, c1, c2, c3, c4, c5, c6 = TAYLOR
    e_y = c0 + y * (c1 + y * (c2 + y * (c3 + y * (c4 + y * (c5 + y * c6)))))
    return e_y * np.int32((np.int32(k) + 127) << 23).view(np.float32)


@njit(**OPTIONS)
def _rotate(heads, cos, sin, q):
    """q = the heads, rotated in pairs (i, i + d / 2), over sqrt(d)."""
    half = cos.size
    scale = ONE / np.sqrt(np.float32(2 * half))
    for h in range(q.shape[0]):
        for i in range(half):
            a, b = _float32(heads[h, i]), _float32(heads[h, half + i])
            q[h, i] = (a * cos[i] - b * sin[i]) * scale
            q[h, half + i] = (b * cos[i] + a * sin[i]) * scale


@njit(**OPTIONS)
def _append(heads, cos, sin, keys, values, n):
    """Row n of keys = the first heads, rotated; row n of values = the other heads."""
    H_kv, half = keys.shape[0], cos.size
    for g in range(H_kv):
        for i in range(half):
            a, b = _float32(heads[g, i]), _float32(heads[g, half + i])
            keys[g, n, i] = _bfloat16(a * cos[i] - b * sin[i])
            keys[g, n, half + i] = _bfloat16(b * cos[i] + a * sin[i])
        for i in range(2 * half):
            values[g, n, i] = heads[H_kv + g, i]


@njit(**OPTIONS)
def _scores(q, keys, p):
    """p[h, j] = q[h] . keys[g, j], with g the head that query head h uses."""
    for h in range(q.shape[0]):
        g = h // (q.shape[0] // keys.shape[0])
        for j in range(p.shape[1]):
            s = ZERO
            for i in range(q.shape[1]):
                s += q[h, i] * _float32(keys[g, j, i])
            p[h, j] = s


@njit(**OPTIONS)
def _softmax(p):
    """Each row of p becomes its softmax."""
    for h in range(p.shape[0]):
        m = p[h, 0]
        for j in range(p.shape[1]):
            m = max(m, p[h, j])
        l = ZERO
        for j in range(p.shape[1]):
            p[h, j] = _exp(p[h, j] - m)
            l += p[h, j]
        for j in range(p.shape[1]):
            p[h, j] /= l


@njit(**OPTIONS)
def _weighted_sums(p, values, o):
    """o[h] = sum over j of p[h, j] values[g, j]; two keys at once, to touch o half as often."""
    n = p.shape[1]
    for h in range(p.shape[0]):
        g = h // (p.shape[0] // values.shape[0])
        o[h] = ZERO
        for j in range(0, n - 1, 2):
            a, b = p[h, j], p[h, j + 1]
            for i in range(o.shape[1]):
                o[h, i] += a * _float32(values[g, j, i]) + b * _float32(values[g, j + 1, i])
        if n % 2:
            for i in range(o.shape[1]):
                o[h, i] += p[h, n - 1] * _float32(values[g, n - 1, i])


@njit("void(f4[::1], i2[::1], f4[::1], f4, i2[::1])", **OPTIONS)
def add_norm(x, y, weight, epsilon, out):
    """x += y, and out = rms_norm(x), in one call.

    Args:
        x: float32 [d_model]  the hidden state, changed
        y: bits [d_model]
        weight, epsilon: as for `parts.rms_norm`
        out: bits [d_model]
    """
    squares = ZERO
    for i in range(x.size):
        x[i] += _float32(y[i])
        squares += x[i] * x[i]
    factor = ONE / np.sqrt(squares / np.float32(x.size) + epsilon)
    for i in range(x.size):
        out[i] = _bfloat16(x[i] * factor * weight[i])


@njit("void(i2[::1], i2[::1])", **OPTIONS)
def gate(gate_up, out):
    """out = silu(gate) * up, as in `operations.feed_forward`.

    Args:
        gate_up: bits [2 d_ffn]
        out: bits [d_ffn]
    """
    for i in range(out.size):
        a = _float32(gate_up[i])
        out[i] = _bfloat16(a / (ONE + _exp(-a)) * _float32(gate_up[out.size + i]))


@njit("void(i2[::1], f4[::1], f4[::1], i2[:, :, ::1], i2[:, :, ::1], i8, i2[::1])", **OPTIONS)
def attend(qkv, cos, sin, keys, values, n, out):
    """Rotate q and k, add k and v to the cache, and attend to all of it.

    Args:
        qkv: bits [(H + 2 H_kv) d]
        cos, sin: float32 [d / 2]  of the token's position
        keys, values: bits [H_kv, room, d]  the cache; row n is written
        n: tokens that it holds already
        out: bits [H d]
    """
    H_kv, _, d = keys.shape
    H = out.size // d
    heads = qkv.reshape(H + 2 * H_kv, d)
    q, p = np.empty((H, d), np.float32), np.empty((H, n + 1), np.float32)
    _rotate(heads[:H], cos, sin, q)
    _append(heads[H:], cos, sin, keys, values, n)
    _scores(q, keys, p)
    _softmax(p)
    _weighted_sums(p, values, q)  # the sums take q's place
    for h in range(H):
        for i in range(d):
            out[h * d + i] = _bfloat16(q[h, i])
