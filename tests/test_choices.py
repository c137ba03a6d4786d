"""What is chosen by name is what is done, or an error: never something else in silence.

Every public function of the package with a choice by name stands in CHOICES or, if only other
functions call it that have checked the choice, in INSIDE.
"""

import ast
import functools
from pathlib import Path

import numpy as np
import pytest
import torch

from attention_src.attention import layer
from attention_src.costs import quantized_kv_cache_bytes
from attention_src.costs.roofline import CHIPS, Cost
from attention_src.costs.workload import Setup
from attention_src.explorables.roll import rolled
from attention_src.flash import layer as flash
from attention_src.flash import traffic
from attention_src.judge.alone import judge_alone
from attention_src.judge.judging import assert_right, judge
from attention_src.judge.source import judge_source
from attention_src.kvcache.cache import KVCache, QuantizedKVCache
from attention_src.kvcache.layer import decode_attention
from attention_src.kvcache.reference_quantization import read_quantized
from attention_src.linear import layer as linear
from attention_src.linear import layer_delta, layer_gated, reference_delta, reference_gated
from attention_src.linear import reference as linear_reference
from attention_src.models.planted import PlantedModel
from attention_src.models.planted.methods import ablation
from attention_src.models.planted.texts import repeated
from attention_src.models.smollm2 import SmolLM2
from attention_src.models.smollm2.int4 import keeps_blocks, pack
from attention_src.multihead import layer_attend
from attention_src.multihead.layer import MultiHeadAttention
from attention_src.multihead.layer_latent import MultiHeadLatentAttention
from attention_src.multihead.layer_rotary import Rotary
from attention_src.ring import reference as ring_reference
from attention_src.ring.placement import check_placement, order, spans
from attention_src.rope import layer as rope
from attention_src.softmax import layer as softmax
from attention_src.ssm import layer as ssm
from attention_src.ssm import layer_mamba, layer_ssd, reference_ssd, time_invariant
from attention_src.ssm import reference as ssm_reference
from attention_src.testing import make_qkv

PACKAGE = Path(__file__).parents[1] / "attention_src"
NAMES = {  # of arguments that choose
    *("impl", "form", "weights", "method", "kind", "format", "cache", "backend", "scheme"),
    *("placement", "by", "dtype", "mode", "algorithm"),
}
Q, K, V = make_qkv(4, d_k=4, d_v=4, dtype=torch.float32)
Q64, K64, V64 = make_qkv(4, d_k=4, d_v=4)
BETA, GATE = torch.rand(Q.shape[:3]), -torch.rand(Q.shape[:3])
H100 = CHIPS["H100"]
X, DT, A = torch.ones(1, 4, 3), torch.ones(1, 4, 3), -torch.ones(3, 2)
B = torch.ones(1, 4, 2)
B2 = torch.ones(1, 2, 4, 2)
HEADS = (torch.ones(1, 2, 4, 3), torch.ones(1, 2, 4), -torch.ones(2), B2, B2)


def as_numpy(*tensors):
    return [x.numpy() for x in tensors]


def decode(**choice):
    cache = KVCache()
    cache.append(K, V)
    return decode_attention(Q[:, :, :1], cache, **choice)


@functools.cache
def model():
    return SmolLM2.load()


CHOICES = {
    "attention.layer.attention": lambda **c: layer.attention(Q, K, V, **c),
    "costs.__init__.quantized_kv_cache_bytes": lambda **c: quantized_kv_cache_bytes(
        1, 2, 3, 4, 5, **c
    ),
    "costs.roofline.Chip.peak": H100.peak,
    "costs.roofline.Chip.ridge": H100.ridge,
    "costs.roofline.Cost.time_s": lambda **c: Cost(1, 1).time_s(H100, **c),
    "costs.workload.Setup": lambda **c: Setup("x", **c),
    "flash.layer.flash_attention": lambda **c: flash.flash_attention(Q, K, V, **c),
    "flash.layer.flash_attention_with_lse": lambda **c: flash.flash_attention_with_lse(
        Q, K, V, **c
    ),
    "flash.traffic.hbm_bytes": lambda **c: traffic.hbm_bytes(8, 8, 4, sram_bytes=4096, **c),
    "kvcache.cache_quantized.QuantizedKVCache.__init__": lambda **c: QuantizedKVCache(8, **c),
    "kvcache.layer.decode_attention": decode,
    "kvcache.reference_quantization.read_quantized": lambda **c: read_quantized(K64, V64, 8, **c),
    "explorables.roll.rolled": lambda **c: rolled([0.0, 0.0], **c),
    "judge.alone.judge_alone": lambda **c: judge_alone("", **c),
    "judge.judging.assert_right": lambda **c: assert_right(layer.attention, **c),
    "judge.judging.judge": lambda **c: judge(layer.attention, **c),
    "judge.source.judge_source": lambda **c: judge_source("", **c),
    "linear.layer.linear_attention": lambda **c: linear.linear_attention(Q, K, V, **c),
    "linear.layer_delta.delta_rule": lambda **c: layer_delta.delta_rule(Q, K, V, BETA, **c),
    "linear.layer_delta.gated_delta_rule": lambda **c: layer_delta.gated_delta_rule(
        Q, K, V, BETA, GATE, **c
    ),
    "linear.layer_gated.gated_linear_attention": lambda **c: layer_gated.gated_linear_attention(
        Q, K, V, GATE[..., None], **c
    ),
    "linear.reference.linear_attention": lambda **c: linear_reference.linear_attention(
        Q64, K64, V64, **c
    ),
    "linear.reference_delta.delta_rule": lambda **c: reference_delta.delta_rule(
        Q64, K64, V64, BETA.numpy(), **c
    ),
    "linear.reference_delta.gated_delta_rule": lambda **c: reference_delta.gated_delta_rule(
        Q64, K64, V64, *as_numpy(BETA, GATE), **c
    ),
    "linear.reference_gated.gated_linear_attention": (
        lambda **c: reference_gated.gated_linear_attention(
            Q64, K64, V64, GATE[..., None].numpy(), **c
        )
    ),
    "models.planted.methods.ablation": lambda **c: ablation(
        PlantedModel.load(), [repeated(3)], lambda trace: trace.nll.mean(), **c
    ),
    "models.smollm2.int4.pack": lambda **c: pack(np.zeros((16, 360), np.uint8), **c),
    "models.smollm2.int4.keeps_blocks": lambda **c: keeps_blocks(
        dtype=torch.float32, device="cpu", **c
    ),
    "models.smollm2.model.SmolLM2.load": lambda **c: SmolLM2.load(**c),
    "models.smollm2.model.SmolLM2.logits": lambda **c: model().logits([1, 2], **c),
    "models.smollm2.model.SmolLM2.new_caches": lambda **c: model().new_caches(**c),
    "models.smollm2.model.SmolLM2.generate": lambda **c: model().generate("x", 1, **c),
    "multihead.layer.MultiHeadAttention.__init__": lambda **c: MultiHeadAttention(4, 2, **c),
    "multihead.layer_attend.attend": lambda **c: layer_attend.attend(Q, K, V, **c),
    "multihead.layer_attend.attend_with_cache": lambda **c: layer_attend.attend_with_cache(
        Q, K, V, KVCache(), **c
    ),
    "multihead.layer_attend.attend_with_weights": lambda **c: layer_attend.attend_with_weights(
        Q, K, V, **c
    ),
    "multihead.layer_latent.MultiHeadLatentAttention.__init__": (
        lambda **c: MultiHeadLatentAttention(4, 2, d_latent=2, rope=False, **c)
    ),
    "multihead.layer_rotary.Rotary": Rotary,
    "ring.placement.check_placement": lambda **c: check_placement(8, 2, **c),
    "ring.placement.spans": lambda **c: spans(0, 8, 2, **c),
    "ring.placement.order": lambda **c: order(8, 2, **c),
    "ring.reference.ring_attention": lambda **c: ring_reference.ring_attention(
        Q64, K64, V64, n_ranks=2, **c
    ),
    "ring.reference.work": lambda **c: ring_reference.work(8, 2, **c),
    "rope.layer.rotate_qk": lambda **c: rope.rotate_qk(Q, K, torch.arange(4), **c),
    "rope.layer.apply_rotation": lambda **c: rope.apply_rotation(
        Q, K, *rope.cos_sin(torch.arange(4), 4), **c
    ),
    "softmax.layer.softmax": lambda **c: softmax.softmax(X, **c),
    "ssm.layer.selective_scan": lambda **c: ssm.selective_scan(X, DT, A, B, B, **c),
    "ssm.layer_mamba.MambaBlock.__init__": lambda **c: layer_mamba.MambaBlock(4, **c),
    "ssm.layer_ssd.ssd": lambda **c: layer_ssd.ssd(*HEADS, **c),
    "ssm.reference.selective_scan": lambda **c: ssm_reference.selective_scan(
        *as_numpy(X, DT, A, B, B), **c
    ),
    "ssm.reference_ssd.ssd": lambda **c: reference_ssd.ssd(*as_numpy(*HEADS), **c),
    "ssm.time_invariant.discretize": lambda **c: time_invariant.discretize(
        0.1, -np.ones(2), np.ones(2), **c
    ),
    "ssm.time_invariant.ssm": lambda **c: time_invariant.ssm(
        np.ones((4, 3)), 0.1 * np.ones(3), -np.ones((3, 2)), np.ones((3, 2)), np.ones((3, 2)), **c
    ),
}
INSIDE = {
    "attention.layer.attention_with_options",
    "flash.layer.flash_attention_with_options",
    "judge.report.Draft",
    "judge.report.Report",
    "linear.checks.check_form",
    "linear.layer_delta_steps.run_delta",
    "linear.layer_gated.run_gated",
    "linear.layer_parts.run",
    "linear.layer_parts.uses_kernel",
    "linear.reference_parts.run",
    "models.smollm2.forward.forward",
    "models.smollm2.generate.Model.logits",
    "models.smollm2.generate.generate_ids",
    "models.smollm2.learner.forward.forward",
    "ring.layer_rounds.attend_in_rounds",
    "shapes.check_impl",
    # In tests/ring, where there are processes to talk to.
    "ring.layer.ring_attention",
    "ring.layer.ring_attention_with_lse",
    "ring.layer.shard",
    "ring.layer.unshard",
}


def is_choice(name, annotation):
    """A text, perhaps among other things that may be given."""
    return name in NAMES and annotation is not None and "str" in kinds(annotation)


def kinds(annotation):
    return ast.unparse(annotation).split(" | ")


def choosing(body, place):
    """(dotted name, argument, its kinds) of each choice of a public function or dataclass."""
    for node in body:
        name = getattr(node, "name", "_")
        if isinstance(node, ast.ClassDef) and not name.startswith("_"):
            yield from choosing(node.body, f"{place}.{name}")
        elif isinstance(node, ast.FunctionDef) and (name == "__init__" or name[0] != "_"):
            for x in [*node.args.args, *node.args.kwonlyargs]:
                if is_choice(x.arg, x.annotation):
                    yield f"{place}.{name}", x.arg, kinds(x.annotation)
        elif isinstance(node, ast.AnnAssign) and is_choice(
            ast.unparse(node.target), node.annotation
        ):
            yield place, ast.unparse(node.target), kinds(node.annotation)


def all_choices():
    for path in sorted(PACKAGE.rglob("*.py")):
        place = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        yield from choosing(ast.parse(path.read_text(encoding="utf-8")).body, place)


WRONG = ("", "AUTO", "fast", None, True)
TRIED = [
    (name, argument, value)
    for name, argument, kinds in all_choices()
    for value in WRONG
    if name not in INSIDE and not (value is None and "None" in kinds)
]


@pytest.fixture(scope="module", autouse=True)
def loaded():
    """The model, read for all tests, so that none of them takes that time."""
    model()


def test_every_choice_stands_in_a_table():
    assert {name for name, *_ in all_choices()} == set(CHOICES) | INSIDE


@pytest.mark.parametrize(("name", "argument", "value"), TRIED)
def test_what_is_no_choice_is_refused_by_name(name, argument, value, untyped):
    with pytest.raises(ValueError, match=f"^{argument} is "):
        CHOICES[name](**{argument: value})


def test_what_cannot_be_done_as_asked_is_refused():
    """A named way that cannot do the rest of the call is no reason to take another."""
    refused = [
        lambda: layer.attention(Q, K, V, impl="sdpa", softcap=1.0),
        lambda: flash.flash_attention(Q, K, V, impl="sdpa", softcap=1.0),
        lambda: layer_attend.attend(Q, K, V, impl="tiled", mask=np.ones((4, 4), bool)),
        lambda: softmax.softmax(X.double(), impl="triton"),
        lambda: linear.linear_attention(Q, K, V, impl="triton", form="recurrent"),
        lambda: model().logits([1], impl="tiled", mask=np.ones((1, 1), bool)),
        lambda: SmolLM2.load(torch.bfloat16, weights="int4"),
    ]
    for call in refused:
        with pytest.raises(ValueError, match=r"should be|need|Choose another impl|form only"):
            call()
