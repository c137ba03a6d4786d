"""The Mamba block: causal, starts as the paper says, learns, also under autocast."""

import pytest
import torch

from attention_src.ssm.layer_mamba import MambaBlock


def test_mamba_block_is_causal():
    torch.manual_seed(0)
    block = MambaBlock(8, N=4)
    u = torch.randn(2, 9, 8)
    out = block(u)
    assert out.shape == u.shape
    changed = u.clone()
    changed[:, 5:] += 1.0
    moved = (block(changed) - out).abs().amax(dim=(0, 2))
    assert (moved[:5] == 0).all() and (moved[5:] > 0).all()
    torch.testing.assert_close(block(u[:, :5]), out[:, :5])


def test_mamba_block_starts_as_the_paper_says():
    torch.manual_seed(0)
    block = MambaBlock(8, N=4)
    torch.testing.assert_close(-block.log_A.exp(), -torch.arange(1.0, 5).repeat(16, 1))
    dt = torch.nn.functional.softplus(block.dt_proj.bias)
    assert dt.min() > 0.00099 and dt.max() < 0.101
    form = MambaBlock(8, N=4, form="recurrent")
    form.load_state_dict(block.state_dict())
    u = torch.randn(2, 9, 8)
    torch.testing.assert_close(form(u), block(u))


@pytest.mark.slow
def test_a_mamba_block_learns_to_remember():
    # Say the first token again at the end, past a row of distractors that share its alphabet.
    torch.manual_seed(0)
    embed, head = torch.nn.Embedding(8, 16), torch.nn.Linear(16, 8)
    block = MambaBlock(16, N=8)
    model = torch.nn.ModuleList([embed, block, head])
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)

    def loss_and_accuracy():
        tokens = torch.randint(1, 8, (64, 10))
        tokens[:, -1] = 0  # the question
        guess = head(block(embed(tokens))[:, -1])
        right = (guess.argmax(-1) == tokens[:, 0]).float().mean()
        return torch.nn.functional.cross_entropy(guess, tokens[:, 0]), right

    assert loss_and_accuracy()[1] < 0.4
    for _ in range(120):
        loss, _ = loss_and_accuracy()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss_and_accuracy()[1] > 0.9


@pytest.mark.parametrize("form", ["recurrent", "associative"])
def test_a_mamba_block_trains_under_autocast(form):
    """It halves a loss as without; its first gradients are those without, but for rounding."""
    losses, gradients = [], []
    for autocast in (False, True):
        torch.manual_seed(0)
        block, u, wanted = MambaBlock(8, N=4, form=form), *torch.randn(2, 4, 9, 8)
        optimizer = torch.optim.Adam(block.parameters(), lr=2e-2)
        for step in range(25):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast):
                out = block(u)
            loss = (out.float() - wanted).square().mean()
            optimizer.zero_grad()
            loss.backward()
            if step == 0:
                gradients.append([p.grad.clone() for p in block.parameters()])
            losses.append(loss.item())
            optimizer.step()
    assert losses[24] < losses[0] / 2 and losses[49] < losses[25] / 2
    for a, e in zip(*gradients, strict=True):
        assert a.dtype == torch.float32 and (a - e).norm() < 0.03 * e.norm()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_step_sizes_are_float32_at_least(dtype, monkeypatch):
    seen = []

    def scan(x, dt, *rest, **options):
        seen.append(dt)
        return x

    monkeypatch.setattr("attention_src.ssm.layer_mamba.selective_scan", scan)
    block = MambaBlock(8, N=4).to(dtype)
    u = torch.randn(2, 9, 8, dtype=dtype)
    block(u)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        block(u)
    assert [dt.dtype for dt in seen] == [torch.float32] * 2


def test_steps_that_underflow_to_zero_write_nothing():
    torch.manual_seed(0)
    block = MambaBlock(8, N=4)
    with torch.no_grad():
        block.dt_proj.bias.fill_(-200)  # softplus(-200) is 0 in float32
        block.D.zero_()
    u = torch.randn(2, 9, 8)
    out = block(u)
    assert (out == 0).all()
    out.sum().backward()
    assert all(p.grad.isfinite().all() for p in block.parameters())


@pytest.mark.parametrize("form", ["recurrent", "associative"])
def test_compiles_as_one_graph(form, untyped):
    torch.manual_seed(0)
    torch._dynamo.reset()
    block, u = MambaBlock(8, N=4, form=form), torch.randn(2, 9, 8)
    compiled = torch.compile(block, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(u), block(u))


@pytest.mark.parametrize("form", ["recurrent", "associative"])
def test_no_tokens_and_no_sequences(form):
    block = MambaBlock(8, N=4, form=form)
    for B, n in ((2, 0), (0, 3), (0, 0), (1, 1)):
        u = torch.ones(B, n, 8, requires_grad=True)
        out = block(u)
        assert out.shape == (B, n, 8)
        assert torch.autograd.grad(out.sum(), u)[0].shape == u.shape


def test_bad_tokens(untyped):
    block, u = MambaBlock(8), torch.ones(2, 3, 8)
    for wrong, message in (
        (u[..., :7], r"u has shape \[2, 3, 7\]; it should be \[B, n, d_model=8\]"),
        (u[0], r"u has shape \[3, 8\]"),
        (u[..., :0, :7], r"u has shape \[2, 0, 7\]"),
        (u.double(), "u is torch.float64; it should be a tensor of this module's torch.float32"),
        (u.half(), "u is torch.float16"),
        (u.long(), "u is torch.int64"),
        (u.numpy(), "u is ndarray"),
        (None, "u is NoneType"),
        (u.to_sparse(), "u has layout torch.sparse_coo"),
    ):
        with pytest.raises(ValueError, match=message):
            block(wrong)


def test_bad_block_sizes(untyped):
    for options in (dict(N=0), dict(expand=0), dict(conv_width=0)):
        with pytest.raises(ValueError, match=f"{next(iter(options))} is 0"):
            MambaBlock(8, **options)
