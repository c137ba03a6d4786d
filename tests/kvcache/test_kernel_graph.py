"""Decoding as a CUDA graph: no step waits for the GPU, and a replay reads what is there now."""

import pytest
import torch
from kernel_support import DEVICE, needs_gpu

from attention_src.kvcache.cache import KVCache
from attention_src.kvcache.kernel import operators
from attention_src.kvcache.layer import decode_attention
from attention_src.triton_support import launch
from attention_src.triton_support.launch import Launch
from kvcache.decoding import OPERATORS, SCALE, quantize, random_problem, to_pages

names = pytest.mark.parametrize("name", OPERATORS)


def stored(name, k, v, lengths):
    """The planned function of an operator, and the cache as it takes it."""
    if name == "contiguous":
        return operators._contiguous, [k, v]
    if name == "paged":
        return operators._paged, list(to_pages(k, v, lengths, 16))
    return operators._int8, [*quantize(k), *quantize(v)]


@pytest.fixture
def without_values(monkeypatch):
    """Kernels take meta tensors, which have no values: whatever looks at one raises an error."""
    started = []
    monkeypatch.setattr(launch, "DEVICES", ("meta",))
    monkeypatch.setattr(operators, "capability", lambda q: 90)
    monkeypatch.setattr(operators, "_multiprocessors", lambda q: 132)
    monkeypatch.setattr(Launch, "run", lambda self: started.append(self.kernel.__name__))
    yield started
    for function in (operators._contiguous, operators._paged, operators._int8):
        function.plans.clear()


@names
def test_no_value_of_a_tensor_is_looked_at(name, without_values):
    q, k, v, lengths = random_problem(2, 4, 2, 2048, 64, 64, (2048, 3), torch.float16)
    function, cache = stored(name, k, v, lengths)
    q, lengths, *cache = (x.to("meta") for x in (q, lengths, *cache))
    with pytest.raises(RuntimeError, match="meta"):
        lengths[0].item()
    for _ in range(2):  # without and with a plan
        assert function(q, *cache, lengths, SCALE, None)[0].shape == q.shape
    assert without_values == 2 * [f"decode_{name}_kernel", "merge_kernel"]


def test_a_step_of_the_layer_looks_at_no_value_either(without_values):
    cache = KVCache()
    for n in (1024, 1, 1):
        k, v = (torch.empty(2, 2, n, 64, device="meta") for _ in range(2))
        cache.append(k, v)
    decode_attention(torch.empty(2, 4, 1, 64, device="meta"), cache, impl="triton")


def test_tokens_of_a_growing_text_share_a_plan():
    plans = operators._contiguous.plans
    plans.clear()
    cache = KVCache()
    cache.append(*(torch.randn(1, 1, 16, 8, device=DEVICE) for _ in range(2)))
    for _ in range(16):
        k, v = (torch.randn(1, 1, 1, 8, device=DEVICE) for _ in range(2))
        cache.append(k, v)
        q = torch.randn(1, 2, 1, 8, device=DEVICE)
        o = decode_attention(q, cache, impl="triton")
        torch.testing.assert_close(o, decode_attention(q, cache, impl="dense"))
    assert len(plans) == 1


@needs_gpu
@names
def test_a_graph_replays_on_new_values(name):
    q, k, v, lengths = random_problem(2, 8, 2, 4096, 64, 64, (4096, 700), torch.float16)
    _, cache = stored(name, k, v, torch.full_like(lengths, 4096))
    operator = getattr(operators, f"decode_{name}")

    def decode():
        return operator(q, *cache, lengths, SCALE)

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):  # compiles, which a graph cannot hold
        decode()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        o = decode()
    for new_lengths in ((4096, 700), (1, 4095), (0, 33)):
        q.normal_()
        lengths.copy_(torch.tensor(new_lengths))
        expected = decode()
        o.fill_(torch.nan)
        graph.replay()
        assert torch.equal(o, expected) and (o[lengths > 0] != 0).any()
