"""Ring attention in processes started by torchrun, against attention on one device."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from attention_src.ring.__main__ import main
from attention_src.ring.layer import ring_attention, ring_attention_with_lse, shard
from attention_src.ring.layer_exchange import RingExchange
from attention_src.testing import make_qkv

ROOT = Path(__file__).parents[2]
WORKER = Path(__file__).with_name("worker.py")
SECONDS = 900  # for a busy machine; gloo itself gives a lost rank up after twice as long


def torchrun(n_ranks, *arguments):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nnodes=1"]
    return subprocess.run(
        [*command, f"--nproc-per-node={n_ranks}", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=SECONDS,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )


@pytest.mark.slow
def test_rings_of_2_3_and_4_ranks(tmp_path):
    done = torchrun(4, WORKER, "answers", tmp_path / "found.json")
    assert done.returncode == 0, done.stderr[-3000:]
    everyone = json.loads((tmp_path / "found.json").read_text())
    limits = {"torch.float64": 1e-13, "torch.float32": 2e-6, "torch.bfloat16": 0.02}
    found = [case for cases, _ in everyone for case in cases]
    assert len(found) == 3 * 3 * 4 * 2 * 2
    for case in found:
        for name, error in zip(("o", "lse", "dq", "dk", "dv"), case["errors"], strict=True):
            assert error < limits[case["dtype"]], (name, case)
    refusals = [text for _, texts in everyone for text in texts]
    assert len(refusals) == 4 + 3 + 2
    for text in refusals:
        assert "should be the same on every rank" in text
        assert "rank 0: [1, 1, 6, 4" in text and "rank 1: [1, 1, 4, 4" in text


def test_a_rank_sends_to_the_next_and_receives_from_the_one_before(monkeypatch):
    """What rank 1 of three asks of torch; whether the answers are right is asked above."""
    asked = []
    for name, value in dict(is_initialized=True, get_rank=1, get_world_size=3).items():
        monkeypatch.setattr(dist, name, lambda *_, value=value: value)
    monkeypatch.setattr(dist, "P2POp", lambda operation, x, rank, group: (operation, rank))
    monkeypatch.setattr(
        dist, "batch_isend_irecv", lambda operations: asked.extend(operations) or []
    )
    RingExchange().start(torch.zeros(2))
    assert asked == [(dist.isend, 2), (dist.irecv, 0)]


@pytest.mark.slow
def test_a_dead_rank_ends_the_job():
    done = torchrun(2, WORKER, "dies", "none")
    assert done.returncode != 0
    assert "exitcode  : 3" in done.stderr and "rank      : 1" in done.stderr, done.stderr[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["dies", "dies_in_backward"])
def test_the_others_name_the_lost_rank(way):
    # Without torchrun, which would end them before they print.
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ring = dict(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), WORLD_SIZE="3")
    ring |= dict(PYTHONPATH=str(ROOT), OMP_NUM_THREADS="1")
    ranks = [
        subprocess.Popen(
            [sys.executable, WORKER, way, "none"],
            env=os.environ | ring | dict(RANK=str(rank)),
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(3)
    ]
    errors = [rank.communicate(timeout=SECONDS)[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [1, 3, 1], errors
    assert "RuntimeError: ring attention: rank 0 lost its neighbour, rank 2 or 1" in errors[0]
    assert "RuntimeError: ring attention: rank 2 lost its neighbour, rank 1 or 0" in errors[2]


@pytest.mark.weekly
def test_demonstration():
    done = torchrun(2, "-m", "attention_src.ring", "--tokens", "64", "--causal")
    assert done.returncode == 0, done.stderr[-3000:]
    for name in ("o", "dq", "dk", "dv"):
        assert f"{name}: largest difference from one device" in done.stdout
    # Forward 1, backward 1 + 2 gradients in float32, of 4 heads x 32 tokens x (64 + 64) numbers.
    assert f"2 ranks, {4 * 4 * 32 * 128 * 4:,} bytes sent by each" in done.stdout


def test_demonstration_without_torchrun(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["ring"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2 and "start it with torchrun" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--tokens", "0"], "argument --tokens: '0' should be a whole number from 1"),
        (["--heads", "-1"], "argument --heads: '-1' should be a whole number from 1"),
        (["--width", "1000000000000"], "argument --width: '1000000000000' should be"),
        (["--tokens", "100000000", "--heads", "8"], "--tokens times --heads times --width should"),
        (["--placement", "other"], "argument --placement: invalid choice"),
        (["--tokens", "6"], "--tokens: n is 6, which zigzag placement on 2 ranks cannot cut"),
    ],
)
def test_demonstration_of_sizes_that_do_not_fit(monkeypatch, capsys, arguments, said):
    monkeypatch.setattr(torch.distributed, "is_torchelastic_launched", lambda: True)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2 and said in capsys.readouterr().err


@pytest.fixture
def one_rank(tmp_path):
    """A group of this process alone."""
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1
    )
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.slow
def test_a_ring_of_one(one_rank):
    q, k, v = (torch.randn(1, 2, 6, 4, dtype=torch.float64) for _ in range(3))
    leaves = [x.requires_grad_() for x in (q, k, v)]
    assert torch.autograd.gradcheck(lambda *x: ring_attention(*x, causal=True), leaves)
    assert torch.autograd.gradcheck(lambda *x: ring_attention_with_lse(*x, causal=True), leaves)
    assert torch.equal(shard(q), q)
    exchange = RingExchange()
    ring_attention(*leaves, exchange=exchange).sum().backward()
    assert exchange.bytes_sent == 0


def results(q, k, v, **options):
    """o, lse, dq, dk, dv."""
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]
    o, lse = ring_attention_with_lse(*leaves, **options)
    return [o, lse, *torch.autograd.grad(o.sum() + lse.square().sum(), leaves)]


@pytest.mark.parametrize("impl", ["dense", "sdpa", "tiled"])
def test_autocast_changes_nothing(one_rank, impl):
    inputs = make_qkv(34, d_k=16, n_heads=4, n_kv_heads=2, dtype=torch.float32)
    expected = results(*inputs, causal=True, impl=impl)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        actual = results(*inputs, causal=True, impl=impl)
    for a, e in zip(actual, expected, strict=True):
        assert torch.equal(a, e)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(q=torch.ones(6, 4)), "q has shape"),
        (dict(k=torch.ones(1, 1, 6, 3)), "k has d_k=3 but q has d_k=4"),
        (dict(k=torch.ones(1, 1, 5, 4), v=torch.ones(1, 1, 5, 4)), "k has n_k=5 but q has n_q=6"),
        (dict(v=torch.ones(1, 1, 6, 4).double()), r"v is torch\.float64"),
        (dict(impl="cuda"), "impl is 'cuda'"),
        (dict(placement="striped"), "placement is 'striped'; it should be one of 'zigzag'"),
        (dict(scale=float("nan")), "scale is nan"),
    ],
)
def test_bad_input(untyped, one_rank, change, message):
    x = torch.ones(1, 1, 6, 4)
    with pytest.raises(ValueError, match=message):
        ring_attention(**(dict(q=x, k=x, v=x, causal=True) | change))


def test_an_odd_shard_cannot_be_zigzag(untyped, one_rank):
    x = torch.ones(1, 1, 5, 4)
    with pytest.raises(ValueError, match=r"q has n=5 tokens, but a zigzag shard is two equal"):
        ring_attention(x, x, x, causal=True)
    assert ring_attention(x, x, x, causal=True, placement="contiguous").shape == x.shape
    with pytest.raises(ValueError, match="n is 5, which zigzag placement on 1 ranks cannot cut"):
        shard(x)


def test_without_a_group(untyped):
    x = torch.ones(1, 1, 6, 4)
    for call in (lambda: ring_attention(x, x, x), lambda: shard(x)):
        with pytest.raises(
            ValueError, match=r"torch\.distributed is not running; start .*torchrun"
        ):
            call()
