import torch
from torch import nn

# How a fused query-key-value matrix is stored, rows = outputs:
#   "roles"  all queries, all keys, all values: Phi-3; GPT-2 (transposed)
#   "heads"  head by head, q k v of each: GPT-NeoX and Pythia


def split_qkv(weight, n_heads, n_kv_heads=None, layout="roles"):
    """A fused weight or bias, [rows, ...], as its q, k and v parts.

    Rows of a part stand head by head, as nn.Linear's do in other models.
    """
    n_kv = n_kv_heads or n_heads
    d_head, rest = divmod(weight.shape[0], n_heads + 2 * n_kv)
    if rest:
        raise ValueError(f"{weight.shape[0]} rows do not fit these heads")
    if layout == "roles":
        return weight.split([d_head * n for n in (n_heads, n_kv, n_kv)])
    if layout != "heads" or n_kv != n_heads:
        raise ValueError("layout: roles, or heads if n_kv_heads = n_heads")
    parts = weight.unflatten(0, (n_heads, 3, d_head)).unbind(1)
    return tuple(part.flatten(0, 1) for part in parts)


class Projections(nn.Module):
    """Queries from x, keys and values from x or from a context."""

    def __init__(self, d_model, d_k, d_v, d_context=None, bias=False):
        super().__init__()
        self.q_proj = nn.Linear(d_model, d_k, bias)
        self.k_proj = nn.Linear(d_context or d_model, d_k, bias)
        self.v_proj = nn.Linear(d_context or d_model, d_v, bias)

    def forward(self, x, context=None):
        context = x if context is None else context
        return self.q_proj(x), self.k_proj(context), self.v_proj(context)


def test():
    torch.manual_seed(0)
    project = Projections(6, 2, 3, d_context=9)
    q, k, v = project(torch.randn(5, 6), torch.randn(7, 9))
    assert [tuple(t.shape) for t in (q, k, v)] == [(5, 2), (7, 2), (7, 3)]
    heads, d_head, d_model = 2, 5, 7  # not 1, and not 3 as the roles
    role = torch.randn(3, heads, d_head, d_model)  # q, k, v of each head
    wanted = role.flatten(1, 2)
    by_head = role.transpose(0, 1).flatten(0, 2)
    fused = {"roles": role.flatten(0, 2), "heads": by_head}
    for layout, weight in fused.items():
        parts = split_qkv(weight, heads, layout=layout)
        torch.testing.assert_close(torch.stack(parts), wanted)
    wrong = split_qkv(fused["heads"], heads, layout="roles")[1]
    rows = (wrong == wanted[1]).all(1).sum()
    print(f"wrong layout: {rows} of {heads * d_head} key rows in place")
    q, k, v = split_qkv(torch.randn(9216, 8), 32)  # Phi-3-mini: 3072 wide
    assert len(q) == len(k) == len(v) == 3072


test()
