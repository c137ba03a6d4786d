"""A machine that runs an algorithm number by number, and counts what it does and moves."""

import numpy as np

from attention_src.testing import make_qkv

ALL = slice(None)


class Machine:
    """Counts operations, and bytes between memory and chip.

    With `remembers`, what was once read or written stays on the chip: the least traffic possible.
    """

    def __init__(self, remembers=False):
        self.flops, self.n_bytes, self.remembers = 0, 0, remembers

    def memory(self, array, dtype_bytes=2):
        return Memory(self, np.array(array, dtype=np.float64), dtype_bytes)

    def op(self, result):
        """One operation, whose result is given."""
        self.flops += 1
        return result

    def dot(self, a, b):
        total = 0.0
        for x, y in zip(a, b, strict=True):
            total = self.op(total + self.op(x * y))
        return total

    def add_multiple(self, y, c, x):
        """y += c x, in place."""
        for index in range(len(y)):
            y[index] = self.op(y[index] + self.op(c * x[index]))

    def product(self, a, b):
        """a [m, d] with b [n, d]: [m, n]."""
        return np.array([[self.dot(x, y) for y in b] for x in a]).reshape(len(a), len(b))


class Memory:
    """An array in main memory."""

    def __init__(self, machine, array, dtype_bytes):
        self.machine, self.array, self.dtype_bytes = machine, array, dtype_bytes
        self.on_chip = np.zeros(array.shape, bool)

    def _move(self, where):
        n = np.sum(~self.on_chip[where]) if self.machine.remembers else self.on_chip[where].size
        self.machine.n_bytes += int(n) * self.dtype_bytes
        self.on_chip[where] = True

    def load(self, *where):
        self._move(where)
        return self.array[where].copy()

    def store(self, values, *where):
        self._move(where)
        self.array[where] = values


def assert_counted(cost, machine):
    assert (cost.flops, cost.n_bytes) == (machine.flops, machine.n_bytes)


def problem(n_q, n_k, d_k=3, d_v=2, n_heads=4, n_kv_heads=2):
    """q, k, v, do of one sequence, without the batch axis."""
    sizes = dict(batch=1, n_heads=n_heads, n_kv_heads=n_kv_heads)
    q, k, v = make_qkv(n_q, n_k, d_k, d_v, **sizes)
    do = np.random.default_rng(1).standard_normal((1, n_heads, n_q, d_v))
    return q[0], k[0], v[0], do[0]


def repeated(k, n_heads):
    return np.repeat(k, n_heads // len(k), axis=0)


def scores(machine, q, k, visible):
    """Visible scores only, the others −inf."""
    s = np.full(visible.shape, -np.inf)
    for i, j in np.argwhere(visible):
        s[i, j] = machine.dot(q[i], k[j])
    return s


def combine(machine, weights, x, visible, d):
    """sum_j weights_ij x_j over visible pairs: [n_i, d]."""
    y = np.zeros((visible.shape[0], d))
    for i, j in np.argwhere(visible):
        machine.add_multiple(y[i], weights[i, j], x[j])
    return y
