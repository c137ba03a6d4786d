"""What the tests of this topic share: inputs, and each mechanism as its definition reads.

`definition` follows the equations in another way than the package: weights entry by entry, the
delta rule as a product of matrices. On float64 tensors autograd gives exact gradients too.
"""

import torch
from hypothesis import settings

from attention_src.linear import layer, reference

# name: (function, options)
MECHANISMS = {
    "elu": ("linear_attention", dict()),
    "relu": ("linear_attention", dict(feature_map="relu")),
    "taylor": ("linear_attention", dict(feature_map="taylor")),
    "bidirectional": ("linear_attention", dict(causal=False)),
    "decay": ("linear_attention", dict(decay=[0.5, 0.96875, 1.0])),
    "retention": (
        "linear_attention",
        dict(feature_map=None, normalize=False, decay=[0.96875, 0.984375, 0.0625]),
    ),
    "gated": ("gated_linear_attention", dict()),
    "one gate": ("gated_linear_attention", dict()),
    "delta": ("delta_rule", dict()),
    "gated delta": ("gated_delta_rule", dict()),
}
# A name for each path.
ONE_OF_EACH = ("decay", "bidirectional", "gated", "one gate", "delta", "gated delta")
FORMS = [
    dict(form="parallel"),
    dict(form="recurrent"),
    dict(form="chunkwise"),
    dict(form="chunkwise", chunk=5),
]
HEADS = 3
PER_MECHANISM = settings(max_examples=settings.default.max_examples // 3)


def on_arrays(name):
    function, options = MECHANISMS[name]
    return lambda *x, **more: getattr(reference, function)(*x, **(options | more))


def on_tensors(name):
    function, options = MECHANISMS[name]
    return lambda *x, **more: getattr(layer, function)(*x, **(options | more))


def inputs(name, n, d_k, d_v, dtype=torch.float64, seed=0, batch=2):
    """q, k, v and whatever else the mechanism takes. Gates are spread from mild to total."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(batch, HEADS, n, *shape, generator=generator, dtype=torch.float64)

    q, k, v = normal(d_k), normal(d_k), normal(d_v)
    channels = {"gated": (d_k,), "one gate": (1,)}.get(name, ())
    log_gates = -(normal(*channels) * 3 - 2).exp() * normal(*channels).abs()
    if name == "relu":  # a first key with weight for every query: no sum is close to 0
        k[..., :1, :] = 1 + k[..., :1, :].abs()
    if "delta" not in name:
        more = [log_gates] if channels else []
    else:
        k = k / k.norm(dim=-1, keepdim=True)
        more = [1.5 * normal().sigmoid()] + [log_gates] * (name == "gated delta")
    return [x.to(dtype) for x in (q, k, v, *more)]


def phi(x, feature_map):
    if feature_map == "elu":
        return torch.where(x > 0, x + 1, torch.exp(torch.clamp(x, max=0)))
    if feature_map == "relu":
        return torch.relu(x)
    return x


def definition(name, q, k, v, *more):
    """The mechanism as its equation reads, in the dtype of its arguments."""
    if "delta" in name:
        return delta_by_matrices(q, k, v, *more)
    if name in ("gated", "one gate"):
        return gated_weights(q, k, *more) @ v
    options = dict(feature_map="elu", causal=True, decay=None, normalize=True)
    options |= MECHANISMS[name][1]
    if options["feature_map"] == "taylor":
        s = q @ k.mT
        w = 1 + s + s**2 / 2
    else:
        w = phi(q, options["feature_map"]) @ phi(k, options["feature_map"]).mT
    if options["decay"] is not None:
        gamma = torch.tensor(options["decay"], dtype=q.dtype)[:, None, None]
        i = torch.arange(q.shape[-2])[:, None]
        w = w * gamma ** (i - i.T).clamp(min=0)
    if options["causal"]:
        w = w.tril()
    if options["normalize"]:
        l = w.sum(dim=-1, keepdim=True)
        return torch.where(l == 0, 0, (w @ v) / torch.where(l == 0, 1, l))
    return w @ v


def gated_weights(q, k, log_gates):
    """w_ij = Σ_c q_ic k_jc Π_{t=j+1..i} g_tc, row after row."""
    rows, product, n = [], k[..., :0, :], q.shape[-2]
    for i in range(n):
        product = product * log_gates[..., i : i + 1, :].exp()
        product = torch.cat([product, torch.ones_like(k[..., :1, :])], dim=-2)  # [B, H, i + 1, d]
        row = (q[..., i : i + 1, :] * k[..., : i + 1, :] * product).sum(dim=-1)
        rows.append(torch.cat([row, row.new_zeros(*row.shape[:-1], n - i - 1)], dim=-1))
    return torch.stack(rows, dim=-2) if rows else q @ k.mT


def delta_by_matrices(q, k, v, beta, log_gates=None):
    """S_t = S_{t−1} g_t (I − β_t k_t k_t^T) + β_t v_t k_t^T, o_t = S_t q_t."""
    S, o = v.new_zeros(*v.shape[:2], v.shape[-1], k.shape[-1]), []
    eye = torch.eye(k.shape[-1], dtype=k.dtype)
    for t in range(q.shape[-2]):
        key, b = k[..., t, :, None], beta[..., t, None, None]
        g = 1 if log_gates is None else log_gates[..., t, None, None].exp()
        S = S @ (g * (eye - b * key @ key.mT)) + b * v[..., t, :, None] @ key.mT
        o.append((S @ q[..., t, :, None])[..., 0])
    return torch.stack(o, dim=-2) if o else v * q.sum(dim=-1, keepdim=True)


def results(function, arguments, do):
    """o and the gradient of each argument, by autograd."""
    leaves = [x.detach().clone().requires_grad_() for x in arguments]
    o = function(*leaves)
    return [o.detach(), *torch.autograd.grad(o, leaves, do)]


def exact(name, arguments, do):
    """o and all gradients in float64, on the same numbers as the layer."""
    return results(lambda *x: definition(name, *x), [x.double() for x in arguments], do.double())


def upstream(arguments, seed=0):
    """do, the gradient of a loss by o."""
    v = arguments[2]
    n = arguments[0].shape[-2]
    generator = torch.Generator().manual_seed(seed + 1)
    do = torch.randn(*v.shape[:2], n, v.shape[-1], generator=generator, dtype=torch.float64)
    return do.to(v.dtype)


NAMES = ("o", "dq", "dk", "dv", "dbeta or dlog_gates", "dlog_gates")
