"""FlexAttention's forward kernel, rendered from PyTorch's template as its compiler would.

torch.compile fills the template in on a machine with a GPU only. Here the few parts that it writes
are written out: the arguments, sizes and strides as numbers, and what changes the scores.
"""

import importlib.util
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from attention_src.triton_support.launch import Launch

# Keys per block, stages and warps by (chip, d), for 128 queries: torch/_inductor/
# template_heuristics/triton.py, h100_default_flex_config and a100_default_flex_config, bfloat16.
TILES = {(90, 64): (128, 3, 4), (90, 128): (64, 3, 8), (80, 64): (64, 3, 4), (80, 128): (64, 3, 8)}
BLOCK_Q, SPARSE = 128, 128
HEADER = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef flex_kernel("


def flex_launch(dtype: torch.dtype, d: int, capability: int, *, causal: bool) -> Launch:
    """FlexAttention without score_mod, full or with a causal block mask.

    Args:
        dtype: of q, k and v
        d: d_k and d_v
        capability: the chip
        causal: whether a block mask hides later keys
    Returns: the launch, on the meta device
    """
    batch, n_heads, n = 4, 16, 4096
    block_k, stages, warps = TILES[capability, d]
    q = torch.empty(batch, n_heads, n, d, dtype=dtype, device="meta")
    row = torch.empty(batch, n_heads, n, device="meta")
    count = torch.empty(1, 1, n // SPARSE, dtype=torch.int32, device="meta")
    index = torch.empty(1, 1, n // SPARSE, n // SPARSE, dtype=torch.int32, device="meta")
    inputs = dict(Q=q, K=q, V=q, LSE=row, MAX=row, KV_NUM_BLKS=count, KV_IDX=index)
    inputs |= dict(FULL_KV_NUM_BLKS=count, FULL_KV_IDX=index)
    options = dict(
        BLOCK_M=BLOCK_Q, BLOCK_N=block_k, QK_HEAD_DIM=d, QK_HEAD_DIM_ROUNDED=d, V_HEAD_DIM=d,
        V_HEAD_DIM_ROUNDED=d, SAFE_HEAD_DIM=True, IS_DIVISIBLE=True, GQA_SHARED_HEADS=1,
        SM_SCALE=d**-0.5, HAS_FULL_BLOCKS=causal, OUTPUT_LOGSUMEXP=True, OUTPUT_MAX=False,
        PRESCALE_QK=False, ROWS_GUARANTEED_SAFE=False, BLOCKS_ARE_CONTIGUOUS=False,
        SPARSE_Q_BLOCK_SIZE=SPARSE, SPARSE_KV_BLOCK_SIZE=SPARSE, USE_TMA=False,
        FLOAT32_PRECISION="ieee", INDEX_DTYPE="tl.int32",
    )  # fmt: skip
    kernel = _module(_render(inputs, options, causal)).flex_kernel
    arguments = {f"arg_{name}": x for name, x in inputs.items()} | dict(arg_out=q)
    return Launch(kernel, (n // BLOCK_Q, batch, n_heads), arguments, warps, stages)


def _render(inputs: dict[str, torch.Tensor], options: dict[str, Any], causal: bool) -> str:
    """The kernel's source."""
    import jinja2

    folder = Path(torch.__file__).parent / "_inductor" / "kernel" / "flex" / "templates"
    parts = ("flex_attention", "utilities", "common")
    text = "".join((folder / f"{part}.py.jinja").read_text(encoding="utf-8") for part in parts)
    values = {k: f'"{x}"' if k == "FLOAT32_PRECISION" else x for k, x in options.items()}
    defines = "".join(f"    {name}: tl.constexpr = {x}\n" for name, x in values.items())
    names = ", ".join(f"arg_{name}" for name in (*inputs, "out"))
    scores = {
        0: "post_mod_scores = qk",
        1: "mask_mod_output = " + ("m >= n" if causal else "tl.full([1], True, tl.int1)"),
    }

    def def_kernel(*wanted: str) -> str:
        renamed = "".join(f"    {name} = arg_{name}\n" for name in wanted)
        return f"{HEADER}{names}):\n{defines}{renamed}"

    def stride(name: str, axis: int | None = None) -> str:
        strides = inputs[name].stride()
        return ", ".join(map(str, strides if axis is None else strides[axis : axis + 1]))

    def store_output(indices: tuple[str, ...], value: str, mask: str, **_: Any) -> str:
        terms = zip(indices, inputs["Q"].stride(), strict=True)
        at = " + ".join(f"{index} * {step}" for index, step in terms)
        return f"tl.store(arg_out + {at}, {value}.to(arg_out.dtype.element_ty), {mask})"

    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    # Every define stands on a line of its own at the same depth.
    environment.filters["indent_except_first"] = lambda lines, depth: lines
    return environment.from_string(text).render(
        **options,
        def_kernel=def_kernel,
        gen_argdefs=lambda: names,
        gen_defines=lambda: defines.lstrip(),
        size=lambda name, axis: inputs[name].shape[axis],
        stride=stride,
        modification=lambda subgraph_number, **_: scores[subgraph_number],
        store_output=store_output,
    )


@cache
def _module(source: str) -> ModuleType:
    """The source as a module; Triton reads it from a file."""
    path = Path(tempfile.mkdtemp()) / "flex_kernel.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("flex_kernel", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
