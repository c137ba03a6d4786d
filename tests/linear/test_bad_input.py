"""Bad input is a ValueError that names the argument; in NumPy and in torch."""

import numpy as np
import pytest
import torch

from linear.cases import ONE_OF_EACH, inputs, on_arrays, on_tensors

SHAPE = dict(n=5, d_k=3, d_v=2)
GATED = ["gated", "one gate", "gated delta"]
DELTA = ["delta", "gated delta"]
LINEAR = ["elu", "bidirectional"]


def refuse(name, message, change=None, *, only=None, **options):
    """Both refuse inputs after `change`, which gets them as a dictionary."""
    for kind, run in (("arrays", on_arrays(name)), ("tensors", on_tensors(name))):
        if only in (None, kind):
            arguments = dict(zip("qkv12", inputs(name, **SHAPE), strict=False))
            if kind == "arrays":
                arguments = {label: x.numpy() for label, x in arguments.items()}
            if change:
                change(arguments)
            with pytest.raises(ValueError, match=message):
                run(*arguments.values(), **options)


def setting(label, value):
    """Change one argument: `value` is a function of it."""

    def change(arguments):
        arguments[label] = value(arguments[label])

    return change


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_options(name, untyped):
    refuse(name, "form is 'fast'; it should be one of 'parallel'", form="fast")
    refuse(name, "chunk is 0; it should be at least 1", chunk=0)
    refuse(name, "chunk is 2.5; it should be a whole number", chunk=2.5)
    refuse(name, "impl is 'triangle'; it should be one of 'auto'", only="tensors", impl="triangle")


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_shapes(name, untyped):
    refuse(name, "k has d_k=2 but q has d_k=3", setting("k", lambda k: k[..., :2]))
    refuse(name, "v has n_k=4 but k has n_k=5", setting("v", lambda v: v[..., :4, :]))
    refuse(name, r"q has shape \[3\]", setting("q", lambda q: q[0, 0, 0]))
    refuse(name, "do not broadcast", setting("k", lambda k: k[:, :2]), only="arrays")
    refuse(name, "four axes", setting("q", lambda q: q[0]), only="tensors")
    refuse(name, "k has B=1 but q has B=2", setting("k", lambda k: k[:1]), only="tensors")

    def group(arguments):
        arguments["k"], arguments["v"] = arguments["k"][:, :1], arguments["v"][:, :1]

    refuse(name, r"k has 1 heads but q has H=3.*repeat_interleave", group, only="tensors")
    if name != "bidirectional":
        refuse(name, "k has n_k=5 but q has n_q=4", setting("q", lambda q: q[..., :4, :]))


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_kinds_of_numbers(name, untyped):
    refuse(name, "k is a str", setting("k", lambda k: "keys"), only="tensors")
    refuse(name, "k is a ndarray", setting("k", lambda k: k.numpy()), only="tensors")
    refuse(name, "v has dtype torch.int32", setting("v", lambda v: v.int()), only="tensors")
    refuse(
        name, "v is torch.float32 on cpu but q is", setting("v", torch.Tensor.float), only="tensors"
    )
    refuse(name, "k is a torch tensor", setting("k", torch.from_numpy), only="arrays")
    refuse(name, "k has dtype complex", setting("k", lambda k: k * 1j), only="arrays")
    refuse(
        name,
        "k is torch.float64 on meta but q",
        setting("k", lambda k: k.to("meta")),
        only="tensors",
    )


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_states(name, untyped):
    run = on_tensors(name)
    _, state = run(*inputs(name, **SHAPE), return_state=True)
    message = rf"initial_state has shape .* = \[2, 3, {state.shape[-2]}, {state.shape[-1]}\]"
    refuse(name, message, initial_state=state[..., :1], only="tensors")
    refuse(name, message, initial_state=state[..., :1].numpy(), only="arrays")
    refuse(name, "initial_state is a torch tensor", initial_state=state, only="arrays")
    refuse(name, "initial_state is a ndarray", initial_state=state.numpy(), only="tensors")


@pytest.mark.parametrize("name", LINEAR)
def test_feature_maps(name, untyped):
    for feature_map in ("gelu", 1, ["elu"]):
        refuse(name, "feature_map is .*; it should be one of 'elu'", feature_map=feature_map)


def test_decay(untyped):
    for decay in (0.0, -0.5, 1.5, [0.5, 0.5, 2.0], np.nan):
        refuse("elu", "decay has the value .*above 0 and at most 1", decay=decay)
    for decay in ([0.5, 0.5], np.full((2, 3), 0.5), [0.5] * 4):
        refuse("elu", r"decay has shape .* \[H\] = \[3\]", decay=decay)
    refuse("bidirectional", "causal is False", decay=0.5)
    for decay in ("fast", [[0.5], [0.5, 0.5]], 1j):
        refuse("elu", "decay ", decay=decay)


@pytest.mark.parametrize("name", GATED)
def test_log_gates(name, untyped):
    last = "2" if name == "gated delta" else "1"
    refuse(
        name, "log_gates has the entry 0.5; .*Pass their log", setting(last, lambda g: g * 0 + 0.5)
    )
    refuse(name, "log_gates has shape", setting(last, lambda g: g[:, :, :4]))
    refuse(name, "log_gates has shape", setting(last, lambda g: g[0]))
    if name != "gated delta":
        for wrong in (lambda g: g[..., 0], lambda g: g[..., :1].expand(2, 3, 5, 2)):
            message = r"log_gates has shape .* or .* 1\] = \[2, 3, 5, 3\]"
            refuse(name, message, setting(last, wrong), only="tensors")
    refuse(name, "log_gates is a float", setting(last, lambda g: 0.5), only="tensors")
    refuse(
        name,
        "log_gates is torch.float.. on meta but k is",
        setting(last, lambda g: g.to("meta")),
        only="tensors",
    )


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_scale(name, untyped):
    for scale in ("d_k", np.inf, 1j, [1.0]):
        refuse(name, "scale is .*; it should be a finite number, or None for 1", scale=scale)


@pytest.mark.parametrize("name", DELTA)
def test_beta(name, untyped):
    refuse(name, r"beta has shape \[2, 3, 4\].*\[2, 3, 5\]", setting("1", lambda b: b[:, :, :4]))
    refuse(name, "beta has shape", setting("1", lambda b: b[..., None]))
    refuse(name, "beta is a float", setting("1", lambda b: 0.5), only="tensors")
    refuse(name, "beta has dtype torch.int64", setting("1", torch.Tensor.long), only="tensors")
