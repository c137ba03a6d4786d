import torch
import torch.nn.functional as F
from torch import nn


class Cache:  # one a layer; SmolLM2-135M: 30 layers, 3 heads, d = 64
    def __init__(self, batch, n_heads, max_len, d):
        self.kv, self.n = torch.zeros(2, batch, n_heads, max_len, d), 0

    def append(self, k, v):  # (B, H, n_new, d) each
        start, self.n = self.n, self.n + k.shape[2]
        self.kv[..., start : self.n, :] = torch.stack([k, v])
        return self.kv[..., : self.n, :]  # a view of both


class Model(nn.Module):
    def __init__(self, vocab=50, d=8, H=4, n_layers=2, max_len=64):
        super().__init__()
        self.sizes, D, layers = (H, max_len, d), H * d, range(n_layers)
        self.token = nn.Embedding(vocab, D)
        self.position = nn.Embedding(max_len, D)
        self.qkv = nn.ModuleList(nn.Linear(D, 3 * D) for _ in layers)
        self.out = nn.ModuleList(nn.Linear(D, D) for _ in layers)

    def new_caches(self, batch):
        return [Cache(batch, *self.sizes) for _ in self.qkv]

    def forward(self, ids, caches=None):  # (B, n_new): only new tokens
        start, n_new = caches[0].n if caches else 0, ids.shape[1]
        end = start + n_new
        assert end <= self.sizes[1], f"{end} tokens: more than max_len"
        x = self.token(ids) + self.position.weight[start:end]
        mask = torch.ones(n_new, end).tril(start).bool()
        for i, (qkv, out) in enumerate(zip(self.qkv, self.out)):
            cut = qkv(x).unflatten(-1, (3, self.sizes[0], -1))
            q, k, v = cut.permute(2, 0, 3, 1, 4)  # (B, H, n_new, d) each
            if caches:
                k, v = caches[i].append(k, v)  # the old ones and the new
            o = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            x = x + out(o.transpose(1, 2).flatten(2))
        return x @ self.token.weight.T  # logits


def generate(model, ids, n_new, caches=None):
    new = ids  # not in the caches yet: at first the prompt (prefill)
    for _ in range(n_new):
        token = model(new, caches)[:, -1].argmax(dim=-1, keepdim=True)
        ids = torch.cat([ids, token], dim=1)
        new = token if caches else ids  # then one a step (decode)
    return ids


torch.manual_seed(0)
model = Model().requires_grad_(False)
ids, caches = torch.randint(50, (3, 12)), model.new_caches(3)
parts = [model(part, caches) for part in ids.split([5, 1, 3, 1, 2], 1)]
torch.testing.assert_close(torch.cat(parts, dim=1), model(ids))
written = generate(model, ids, 20, model.new_caches(3))
assert torch.equal(written, generate(model, ids, 20)), "not the same"
print("passed; the same 20 tokens with and without a cache")
