"""Under torch.autocast the modules take what the layer before gave them."""

import pytest
import torch

from attention_src.kvcache.cache import KVCache
from attention_src.multihead.layer import MultiHeadAttention, MultiHeadLatentAttention
from attention_src.ssm.layer_mamba import MambaBlock

MODULES = {
    "mha": lambda: MultiHeadAttention(16, 4, n_kv_heads=2, rope=True, bias=True),
    "tiled": lambda: MultiHeadAttention(16, 4, impl="tiled"),
    "mla": lambda: MultiHeadLatentAttention(16, 4, d_latent=8, d_rope=4, norm=True),
    "mla without norm": lambda: MultiHeadLatentAttention(16, 4, d_latent=8, d_rope=4, bias=True),
    "mla without rope": lambda: MultiHeadLatentAttention(16, 4, d_latent=8, norm=True),
    "mamba": lambda: MambaBlock(16),
}
DTYPES = [torch.float32, torch.bfloat16, torch.float16]


def options_of(name):
    return {} if name == "mamba" else dict(causal=True)


def made(name):
    torch.manual_seed(0)
    return MODULES[name](), torch.randn(2, 5, 16)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", MODULES)
def test_any_dtype_goes_in_and_gradients_come_out(name, dtype):
    module, x = made(name)
    x = x.to(dtype)
    expected = module(x.float(), **options_of(name))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = module(x, **options_of(name))
    assert y.dtype == torch.bfloat16  # as torch's own linear layers give it
    torch.testing.assert_close(y.float(), expected, rtol=0.1, atol=0.05)
    y.float().square().sum().backward()
    assert all(p.grad is not None and p.grad.dtype == p.dtype for p in module.parameters())


@pytest.mark.parametrize("name", ["mla", "mla without norm", "mla without rope"])
@pytest.mark.parametrize("dtype", DTYPES[:2], ids=str)
def test_the_absorbed_form(name, dtype):
    module, x = made(name)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y, p = module(x.to(dtype), causal=True, absorb=True, return_weights=True)
    torch.testing.assert_close(y.float(), module(x, causal=True), rtol=0.1, atol=0.05)
    assert p.shape == (2, 4, 5, 5)


@pytest.mark.parametrize("absorb", [False, True])
@pytest.mark.parametrize("name", [name for name in MODULES if name != "mamba"])
def test_token_by_token_through_a_cache(name, absorb):
    module, x = made(name)
    options = dict(absorb=absorb) if name.startswith("mla") else {}
    cache = KVCache()
    with torch.no_grad():
        expected = module(x, causal=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = [module(t, causal=True, cache=cache, **options) for t in x.bfloat16().split(1, 1)]
    torch.testing.assert_close(torch.cat(y, dim=1).float(), expected, rtol=0.1, atol=0.05)


def test_two_layers_after_each_other():
    first, second = MODULES["mha"](), MODULES["mla"]()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = second(first(torch.randn(2, 5, 16)))
    y.float().sum().backward()
    assert first.q_proj.weight.grad is not None


def test_a_context_too():
    module, x = made("tiled")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert module(x, x.bfloat16()).dtype == torch.bfloat16


@pytest.mark.parametrize("name", ["mha", "mla"])
def test_what_autocast_does_not_convert_is_refused(name, untyped):
    module, x = made(name)
    for given, made_for in ((x.double(), module), (x, made(name)[0].double())):
        with (
            torch.autocast("cpu", dtype=torch.bfloat16),
            pytest.raises(ValueError, match=r"x is torch.float"),
        ):
            made_for(given)
    with pytest.raises(ValueError, match=r"x is torch.bfloat16; it should be a tensor of this"):
        module(x.bfloat16())
