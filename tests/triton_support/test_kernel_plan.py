"""Plans: an operator is checked and described once for each signature, and answers as if anew."""

import gc
import weakref
from dataclasses import replace

import pytest
import torch
from kernel_support import DEVICE

from attention_src.triton_support import launch_cache
from attention_src.triton_support.launch import INTERPRETED, Launch, tl, triton
from attention_src.triton_support.launch_cache import planned, signature
from triton_support.toy import scale_launch


@triton.jit
def combine_kernel(x_ptr, y_ptr, z_ptr, n, factor, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + offs, mask=offs < n), tl.load(y_ptr + offs, mask=offs < n)
    tl.store(z_ptr + offs, x + factor * y, mask=offs < n)


@pytest.fixture
def combine():
    """z = 2 (x + factor y) by two kernels, and the calls of what prepares it, in `calls`."""
    calls = []

    @planned
    def combine(x, y, factor):
        calls.append(factor)
        if x.shape != y.shape:
            raise ValueError("y does not fit")
        half, z = torch.empty_like(x), torch.empty_like(x)
        n = x.shape[0]
        arguments = dict(x_ptr=x, y_ptr=y, z_ptr=half, n=n, factor=factor, BLOCK=16)
        first = Launch(combine_kernel, (triton.cdiv(n, 16),), arguments)
        return (z, half), [first, scale_launch(half, z, 2.0)]

    combine.calls = calls
    return combine


def numbers(n, start=0, **options):
    return torch.arange(start, start + n, device=DEVICE, **dict(dtype=torch.float32) | options)


def test_a_second_call_is_not_prepared_and_answers_for_its_own_tensors(combine, poisoned):
    for start in (0, 100, 200):
        x, y = numbers(37, start), numbers(37, start + 7)
        z, _ = combine(x, y, 3.0)
        assert torch.equal(z, 2 * (x + 3 * y))
    assert combine.calls == [3.0]


def test_whatever_a_launch_may_depend_on_is_prepared_anew(combine):
    both = numbers(80)
    variants = [
        (numbers(37), numbers(37), 3.0),
        (numbers(37), numbers(37), 4.0),
        (numbers(38), numbers(38), 3.0),
        (numbers(37).half(), numbers(37).half(), 3.0),
        (both[1:38], both[40:77], 3.0),  # begins at 4 bytes: not divisible by 16
        (numbers(80)[:74:2], numbers(37), 3.0),  # strides, which this kernel does not heed
    ]
    for repeat in range(2):
        for x, y, factor in variants[:-1]:
            assert torch.equal(combine(x, y, factor)[0], 2 * (x + factor * y)), repeat
        combine(*variants[-1])
    assert len(combine.calls) == len(variants)


def test_one_tensor_given_twice_is_not_taken_for_two(combine):
    x, y = numbers(37), numbers(37, 50)
    for first, second in ((x, x), (x, y), (y, y), (y, x)):
        assert torch.equal(combine(first, second, 1.0)[0], 2 * (first + second))
    assert len(combine.calls) == 2


def test_what_is_refused_is_refused_every_time(combine):
    for _ in range(2):
        with pytest.raises(ValueError, match="y does not fit"):
            combine(numbers(37), numbers(36), 1.0)
    assert not combine.plans


def test_a_plan_holds_no_tensor(combine):
    x, y = numbers(37), numbers(37)
    z, half = combine(x, y, 1.0)
    held = [weakref.ref(tensor) for tensor in (x, y, z, half)]
    del x, y, z, half
    gc.collect()
    assert len(combine.plans) == 1 and not any(tensor() is not None for tensor in held)


def test_a_launch_on_a_copy_has_no_plan():
    @planned
    def doubled(x):
        y = torch.empty(x.shape, device=x.device)
        return (y,), [scale_launch(x.contiguous(), y, 2.0)]

    x = numbers(74)
    assert torch.equal(doubled(x)[0], 2 * x) and len(doubled.plans) == 1
    for start in (0, 1):
        assert torch.equal(doubled(x[start::2])[0], 2 * x[start::2])
    assert len(doubled.plans) == 1


def test_a_kernel_may_see_another_dtype():
    @planned
    def doubled(x):
        y = torch.empty(x.shape[0] // 2, dtype=torch.int16, device=x.device)
        return (y,), [scale_launch(x.view(torch.int16), y, 2)]

    for start in (0, 10):
        x = numbers(16, start, dtype=torch.int8)
        assert torch.equal(doubled(x)[0], 2 * x.view(torch.int16))
    assert len(doubled.plans) == 1


def test_a_kernel_may_see_another_dtype_of_nothing():
    @planned
    def ones(x, y):
        z = torch.empty(4, device=x.device)
        launch = scale_launch(torch.ones_like(z), z, 1.0)
        arguments = launch.arguments | dict(x_ptr=y.view(torch.int16), n=0)
        return (z.fill_(1),), [replace(launch, arguments=arguments)]

    odd, even = numbers(3, dtype=torch.int8)[:0].reshape(0, 3), numbers(0, dtype=torch.int8)
    for _ in range(2):
        ones(odd, even)
    assert len(ones.plans) == 1


def test_an_empty_grid_and_nothing_to_launch():
    @planned
    def nothing(x):
        y = torch.empty_like(x)
        return (y,), [scale_launch(x, y, 2.0)] if len(x) == 0 else []

    for x in (numbers(0), numbers(3)):
        assert [nothing(x)[0].shape for _ in range(2)] == [x.shape] * 2
    assert len(nothing.plans) == 2


def test_not_too_many_plans_are_kept(combine, monkeypatch):
    monkeypatch.setattr(launch_cache, "MOST_PLANS", 3)
    for n in range(1, 8):
        combine(numbers(n), numbers(n), 1.0)
        assert len(combine.plans) <= 3


def test_signatures_tell_addresses_apart_only_by_alignment_and_by_which_are_equal():
    x, y, z = numbers(8), numbers(8), numbers(8)
    assert signature((x, y, 1)) == signature((y, z, 1)) != signature((x, x, 1))
    assert signature((x, x, y)) != signature((x, y, y)) != signature((x, y, x))
    assert signature((x, None)) != signature((x, 0)) != signature((x, 0.5))


def test_a_plan_starts_the_kernel_that_was_compiled(combine):
    combine(numbers(37), numbers(37), 1.0)
    (found,) = combine.plans.values()
    assert [start.launch.kernel for start in found.starts] == [
        combine_kernel,
        scale_launch(*[numbers(3)] * 2, 1.0).kernel,
    ]
    assert all((start.compiled is None) == INTERPRETED for start in found.starts)
