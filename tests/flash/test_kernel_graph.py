"""Flash attention as a CUDA graph: no step waits for the GPU, and a replay reads what is there."""

import pytest
import torch
from kernel_support import needs_gpu

from attention_src.flash.kernel import flash_backward, flash_forward, operators
from attention_src.triton_support import launch
from attention_src.triton_support.launch import Launch

from .test_kernel_ops import problem

RULE = (True, 0, 0, 0.25)


def test_no_value_of_a_tensor_is_looked_at(monkeypatch):
    """Kernels take meta tensors, which have no values: whatever looks at one raises an error."""
    started = []
    monkeypatch.setattr(launch, "DEVICES", ("meta",))
    monkeypatch.setattr(operators, "capability", lambda q: 90)
    monkeypatch.setattr(Launch, "run", lambda self: started.append(self.kernel.__name__))
    q, k, v, do, dlse = (x.to("meta") for x in problem((5, 7, 16, 24, 2, 1), batch=2))
    lengths = torch.empty(2, dtype=torch.int32, device="meta")
    for _ in range(2):  # without and with a plan
        o, lse = operators._forward(q, k, v, lengths, *RULE, 0, 0.0, None)
        operators._gradients(q, k, v, o, lse, do, dlse, lengths, *RULE, 0, 0.0, None)
    assert started == 2 * ["flash_forward_kernel", "flash_dq_kernel", "flash_dkdv_kernel"]
    for function in (operators._forward, operators._gradients):
        function.plans.clear()


@needs_gpu
@pytest.mark.parametrize("d", [64, 128])
def test_a_graph_replays_on_new_values(d):
    q, k, v, do, dlse = problem((515, 773, d, d, 4, 2), torch.float16, batch=2)
    lengths = torch.tensor([773, 301], dtype=torch.int32, device="cuda")

    def step():
        o, lse = flash_forward(q, k, v, lengths, *RULE)
        return o, lse, *flash_backward(q, k, v, lengths, o, lse, do, dlse, *RULE)

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):  # compiles, which a graph cannot hold
        step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    for new_lengths in ((773, 301), (1, 600)):
        q.normal_()
        lengths.copy_(torch.tensor(new_lengths))
        expected = step()
        for x in captured:
            x.fill_(torch.nan)
        graph.replay()
        assert all(torch.equal(a, e) for a, e in zip(captured, expected, strict=True))
