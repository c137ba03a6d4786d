import math

import torch


def softmax_scale(config):
    """What T5, Granite, Gemma 2 and Llama-like models multiply q · k by."""
    if config["model_type"] == "t5":
        return 1.0  # its factor sits in the initial query weights
    if "attention_multiplier" in config:  # Granite
        return config["attention_multiplier"]
    assert config["model_type"] in ("llama", "mistral", "qwen3", "gemma2")
    width = config.get("head_dim")
    width = width or config["hidden_size"] // config["num_attention_heads"]
    return 1 / math.sqrt(config.get("query_pre_attn_scalar") or width)


def row_report(scores, mask=None):
    """What to log of a layer's scores [..., n_q, n_k]: two numbers a row.

    lead: first minus second score; bits: entropy of the weights. A row
    that may see one key has a lead of inf: leave it out of a mean.
    """
    s = scores.double()
    if mask is not None:  # True = may attend
        s = s.masked_fill(~mask, -math.inf)
    first, second = s.topk(2, dim=-1).values.unbind(-1)
    p = torch.softmax(s, dim=-1)
    return first - second, -torch.xlogy(p, p).sum(-1) / math.log(2)


def assert_scale(scores, widths=(1, 2, 5, 64, 200)):
    """Fails unless scores(q, k) is q kᵀ / √d_k at every width."""
    for d_k in widths:  # at a single width a wrong constant can pass
        generator = torch.Generator().manual_seed(d_k)
        q = torch.randn(3, d_k, generator=generator)
        k = torch.randn(3 if d_k == 2 else 4, d_k, generator=generator)
        right = torch.stack([(k * a).sum(-1) for a in q]) / math.sqrt(d_k)
        torch.testing.assert_close(scores(q, k), right, atol=1e-4, rtol=0)


def test():
    smollm2 = {"hidden_size": 576, "num_attention_heads": 9}
    gemma2_27b = {"head_dim": 128, "query_pre_attn_scalar": 144}
    granite = {"attention_multiplier": 0.015625}
    assert softmax_scale({"model_type": "llama"} | smollm2) == 1 / 8
    assert softmax_scale({"model_type": "gemma2"} | gemma2_27b) == 1 / 12
    assert softmax_scale({"model_type": "granite"} | granite) == 1 / 64
    assert_scale(lambda q, k: q @ k.T / math.sqrt(q.shape[-1]))
    try:
        assert_scale(lambda q, k: q @ k.T / 8)  # right at width 64 alone
        raise SystemExit("a wrong constant was accepted")
    except AssertionError:
        print("a constant 1/8 is caught")
    rows = torch.tensor([[8.0, 7, 3, 1], [1008, 1007, 1003, 1001]])
    for found, right in zip(row_report(rows), (1, 0.8879)):
        assert all(abs(x - right) < 1e-4 for x in found.tolist()), found


test()
