"""Launches and their tensors: what runs, what is refused, and how far an offset reaches."""

import os
import time
from dataclasses import replace

import pytest
import torch
from kernel_support import DEVICE, DTYPES, huge_tensor, needs_gpu, needs_interpreter

from attention_src.triton_support.launch import INTERPRETED, capability, check_kernel_tensors
from triton_support.toy import scale_launch


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_launch_runs_on_its_tensors(poisoned, dtype):
    x = torch.arange(37, dtype=dtype, device=DEVICE)
    y = torch.empty_like(x)
    scale_launch(x, y, 3.0).run()
    assert torch.equal(y, 3 * x)


def test_a_limit_of_registers_changes_no_answer():
    x = torch.ones(37, device=DEVICE)
    y = torch.zeros_like(x)
    launch = scale_launch(x, y, 3.0)
    assert "maxnreg" not in launch.options()
    limited = replace(launch, max_registers=32)
    assert limited.options() == launch.options() | dict(maxnreg=32)
    limited.run()
    assert (y == 3).all()


def test_nothing_to_do():
    x = torch.ones(5, device=DEVICE)
    y = torch.zeros(5, device=DEVICE)
    launch = scale_launch(x, y, 3.0, n=0)
    assert launch.grid == (0,)
    launch.run()
    assert not y.any()


def test_poison_shows_what_was_not_written(poisoned):
    x = torch.ones(37, device=DEVICE)
    y = torch.empty_like(x)
    scale_launch(x, y, 3.0, n=36).run()
    assert (y[:36] == 3).all() and y[36].isnan()


REFUSED = [
    (dict(q=torch.ones(2, dtype=torch.float64)), "q has dtype torch.float64; kernels take float16"),
    (dict(q=torch.ones(2, dtype=torch.int64)), "q has dtype torch.int64; it should be floating"),
    (dict(q=torch.ones(2), k=torch.ones(2).half()), r"k is torch.float16 on .* but q is torch.flo"),
    (dict(q=torch.ones(2), k=torch.ones(2, device="meta")), r"k is torch.float32 on meta but q is"),
    (dict(q=torch.ones(2, device="meta")), "q is on meta, but kernels run"),
]


@pytest.mark.parametrize(("tensors", "message"), REFUSED)
def test_what_kernels_cannot_take_is_refused(untyped, tensors, message):
    here = {name: x if x.is_meta else x.to(DEVICE) for name, x in tensors.items()}
    with pytest.raises(ValueError, match=message):
        check_kernel_tensors(**here)


@needs_interpreter
def test_bfloat16_is_refused_where_it_would_be_wrong(untyped):
    q = torch.ones(2, dtype=torch.bfloat16)
    with pytest.raises(ValueError, match=r"q has dtype torch.bfloat16.*interpreter silently"):
        check_kernel_tensors(q=q)


@needs_gpu
def test_tensors_of_the_cpu_are_refused_where_kernels_are_compiled(untyped):
    with pytest.raises(ValueError, match=r"q is on cpu, but kernels run on cuda.*q\.cuda\(\)"):
        check_kernel_tensors(q=torch.ones(2))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_what_kernels_can_take_passes(dtype):
    check_kernel_tensors(
        q=torch.ones(2, dtype=dtype, device=DEVICE), k=torch.ones(3, device=DEVICE).to(dtype)
    )


def test_capability():
    chip = capability(torch.ones(2, device=DEVICE))
    if INTERPRETED:
        assert chip == 0
    else:
        assert chip == 10 * torch.cuda.get_device_properties(0).major + (
            torch.cuda.get_device_properties(0).minor
        )


def test_a_huge_tensor_is_huge_and_takes_no_room(tmp_path):
    start = time.process_time()
    x = huge_tensor(tmp_path, (2, 5), (2**31, 3), torch.float16)
    assert x.storage_offset() + (x.shape[0] - 1) * x.stride(0) >= 2**31
    assert x.untyped_storage().nbytes() > 2**32
    x.copy_(torch.arange(10.0).reshape(2, 5))
    assert x[1].tolist() == [5, 6, 7, 8, 9]
    if INTERPRETED:
        (file,) = tmp_path.iterdir()
        assert os.stat(file).st_blocks * 512 < 2**24, "the file is not sparse"
        assert time.process_time() - start < 60
    with pytest.raises(AssertionError):
        huge_tensor(tmp_path, (2, 5), (2**30, 3), torch.float16)
