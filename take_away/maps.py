import torch
from torch import nn


class Maps:
    """with Maps(model) as maps: model(x); maps[name] is (B, H, n_q, n_k)"""

    def __init__(self, model):
        self.model, self.weights, self.handles = model, {}, []

    def __enter__(self):
        for name, layer in self.model.named_modules():
            if isinstance(layer, nn.MultiheadAttention):
                ask = layer.register_forward_pre_hook(
                    self.ask, with_kwargs=True
                )
                keep = layer.register_forward_hook(self.keeper(name))
                self.handles += [ask, keep]
        return self.weights

    def __exit__(self, *_):
        for handle in self.handles:
            handle.remove()

    @staticmethod
    def ask(layer, args, kwargs):  # or it returns none, or the heads' mean
        wanted = {"need_weights": True, "average_attn_weights": False}
        return args, {**kwargs, **wanted}

    def keeper(self, name):
        def keep(layer, args, output):
            self.weights[name] = output[1].detach()

        return keep


def check(maps, causal):  # model.eval() first: dropout acts on weights
    assert maps, "no nn.MultiheadAttention was run"
    for name, p in maps.items():
        off = (p.sum(dim=-1) - 1).abs().max()
        assert off < 1e-5, f"{name}: a row sums to 1 ± {off:.1e}"
        assert not causal or p.triu(1).max() == 0, f"{name} looks ahead"


torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(64, nhead=4, batch_first=True)
model = nn.TransformerEncoder(layer, num_layers=2).eval()
x, mask = torch.randn(3, 10, 64), torch.ones(10, 10).bool().triu(1)
with torch.no_grad():
    plain = model(x, mask=mask)  # here True = may NOT attend
    with Maps(model) as maps:
        asked = model(x, mask=mask)
assert len(maps) == 2 and maps["layers.0.self_attn"].shape == (3, 4, 10, 10)
assert torch.allclose(plain, asked, atol=1e-5), "asking changed the output"
check(maps, causal=True)
for name, p in maps.items():  # beside a baseline: rows that are uniform
    print(name, f"on token 0: {p[..., 0].mean():.2f}, uniform: 0.29")
# Hugging Face: from_pretrained(name, attn_implementation="eager"), then
# model(**inputs, output_attentions=True).attentions, (B, H, n, n) a layer
