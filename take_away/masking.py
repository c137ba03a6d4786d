import torch
from torch.nn.functional import scaled_dot_product_attention as sdpa


def attention_mask(n_q, n_k=None, *, causal=True, window=None, sinks=0,
                   real=None, documents=None, device=None):
    """For SDPA: bool [B or 1, 1, n_q, n_k], True = may. Queries come last.

    real [B, n_k]: a tokenizer's attention_mask; documents [B, n_k]: ids."""
    key = torch.arange(n_k or n_q, device=device)
    query = key[-n_q:, None]
    may = ((key <= query) | (not causal))[None, None]
    if window:  # limits the past only, own key included
        may = may & ((key > query - window) | (key < sinks))
    if documents is not None:
        own = documents[:, None, -n_q:, None]
        may = may.to(own.device) & (own == documents[:, None, None])
    if real is not None:  # hides columns only
        may = may.to(real.device) & real.bool()[:, None, None]
    return may


def assert_causal(model, ids, n_tokens, tolerance=1e-4):  # bfloat16: more
    """Fails if logits model(ids) [B, n, ...] depend on later tokens."""
    whole = model(ids)  # call model.eval() first: dropout moves them too
    for i in range(1, ids.shape[1]):
        other = ids.clone()
        other[:, i:] = torch.randint_like(other[:, i:], n_tokens)
        for how, x in {"changed": other, "cut": ids[:, :i]}.items():
            moved = (model(x)[:, :i] - whole[:, :i]).abs().max()
            assert moved <= tolerance, f"{how} after {i - 1}: {moved:.2g}"


def test():
    torch.manual_seed(0)
    x, ids = torch.randn(50, 8), torch.randint(50, (2, 9))

    def honest(ids):
        q = x[ids][:, None]
        return sdpa(q, q, q, attn_mask=attention_mask(ids.shape[1]))[:, 0]

    def zeroed_after(ids):  # the weights of later tokens are exactly 0
        p = (x[ids] @ x[ids].mT / 8**0.5).softmax(-1)
        return (p * attention_mask(ids.shape[1])[:, 0]) @ x[ids]

    assert_causal(honest, ids, 50)
    try:
        assert_causal(zeroed_after, ids, 50)
        raise SystemExit("the leak was not caught")
    except AssertionError as leak:
        print("caught:", leak)
    assert attention_mask(2, 7).sum() == 13  # bottom-right
    assert attention_mask(5, window=2, sinks=1).sum() == 12
    real = torch.tensor([[1, 1, 0], [1, 0, 0]])  # B = 2, so axes differ
    may = attention_mask(3, real=real, documents=real.flip(1))
    assert may.sum(-1).tolist() == [[[1, 1, 1]], [[1, 1, 0]]]
    assert attention_mask(3, real=real.to("meta")).is_meta  # any device


test()
