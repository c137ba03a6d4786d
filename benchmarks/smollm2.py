"""SmolLM2 on attention_src against transformers, with the same float32 weights, on two threads.

Both generate greedily, each with its own cache, alternately; the shortest time of several runs
counts. Their results are compared before anything is timed. Run it on an otherwise idle machine.

python -m benchmarks.smollm2             measure, print the tables, keep the result
python -m benchmarks.smollm2 --smoke     tiny sizes, nothing is kept
"""

import argparse
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_src.models.formats.gguf import GGUF, read_gguf
from attention_src.models.install import folder
from attention_src.models.smollm2 import FILE, SmolLM2
from attention_src.models.smollm2.experiments import corpus_ids
from attention_src.models.smollm2.generate import generate_ids
from attention_src.models.smollm2.parts import project
from attention_src.timing import least_ms
from benchmarks.linear_cpu import processor
from benchmarks.record import format_table, provenance, save

CONTEXTS = (64, 512, 1024)
NEW_TOKENS, REPEATS = 32, 7
GOALS = {"prefill": 1.0, "decode": 1.2}  # times as fast as transformers, at least
MAX_LOAD_S, MAX_PEAK_GB = 2.0, 1.0
LOAD = """
import resource, tokenizers
from attention_src.models.smollm2 import SmolLM2
from attention_src.timing import now_ms
start_ms = now_ms()
SmolLM2.load()
print((now_ms() - start_ms) / 1e3, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def main(arguments: list[str] | None = None) -> None:
    """Print the tables, and keep their rows unless this is a trial."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.smollm2", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, nothing is kept")
    smoke = parser.parse_args(arguments).smoke
    contexts, n_new, repeats = ((8,), 2, 1) if smoke else (CONTEXTS, NEW_TOKENS, REPEATS)
    torch.set_num_threads(2)
    loading = [load(repeats)]
    path = folder("smollm2") / FILE
    model, peer = SmolLM2.load(path=path), transformers_model(read_gguf(path))
    check_equal(model, peer)
    speed = [row for n in contexts for row in against(model, peer, n, n_new, repeats)]
    tables = {"load": loading, "speed": speed, "floor": floor(model, repeats, speed)}
    tables["products"] = products(model, (1, 8) if smoke else (1, 16, 64, 512), repeats)
    for title, table in tables.items():
        print(f"\n{title}\n{format_table(table)}")
    if not smoke:
        import transformers

        source = provenance() | dict(chip="cpu", processor=processor(), threads=2)
        source |= dict(transformers=transformers.__version__)
        kept = [dict(table=title) | row for title, table in tables.items() for row in table]
        print(f"kept in {save('smollm2', kept, source)}")


def load(repeats: int) -> dict:
    """Load in fresh processes: the shortest time, the most memory."""
    command, found = [sys.executable, "-c", LOAD], []
    for _ in range(repeats):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append([float(x) for x in done.stdout.split()])
    load_s = min(seconds for seconds, _ in found)
    unit = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes
    peak_gb = max(peak for _, peak in found) * unit / 1e9
    met = load_s <= MAX_LOAD_S and peak_gb <= MAX_PEAK_GB
    goal = f"at most {MAX_LOAD_S:g} s and {MAX_PEAK_GB:g} GB: {'met' if met else 'missed'}"
    return dict(load_s=load_s, peak_gb=peak_gb, goal=goal)


def transformers_model(file: GGUF, attention: str = "sdpa") -> Any:
    """transformers' LlamaForCausalLM with the file's weights; the rotary rows are reordered here.

    Args:
        file: of a Llama model
        attention: transformers' implementation of it; "eager" returns weights
    """
    from transformers import LlamaConfig, LlamaForCausalLM

    get = {key.removeprefix("llama."): value for key, value in file.metadata.items()}
    heads = {"q": get["attention.head_count"], "k": get["attention.head_count_kv"]}
    untyped: dict[str, Any] = dict(attn_implementation=attention)  # LlamaConfig does not declare it
    config = LlamaConfig(
        vocab_size=get["vocab_size"],
        hidden_size=get["embedding_length"],
        intermediate_size=get["feed_forward_length"],
        num_hidden_layers=get["block_count"],
        num_attention_heads=heads["q"],
        num_key_value_heads=heads["k"],
        max_position_embeddings=get["context_length"],
        rms_norm_eps=get["attention.layer_norm_rms_epsilon"],
        rope_parameters={"rope_type": "default", "rope_theta": get["rope.freq_base"]},
        tie_word_embeddings=True,
        pad_token_id=0,
        **untyped,
    )
    names = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
    names |= {f"attn_{x}": f"self_attn.{x}_proj" for x in "qkv"} | {
        "attn_output": "self_attn.o_proj"
    }
    names |= {f"ffn_{x}": f"mlp.{x}_proj" for x in ("gate", "up", "down")}

    def read(name: str) -> Tensor:
        return torch.from_numpy(file.tensors[f"{name}.weight"].dequantize())

    weights = {"model.norm.weight": read("output_norm")}
    weights["model.embed_tokens.weight"] = weights["lm_head.weight"] = read("token_embd")
    for l in range(config.num_hidden_layers):
        for ours, theirs in names.items():
            w = read(f"blk.{l}.{ours}")
            if ours in ("attn_q", "attn_k"):  # pairs (2 i, 2 i + 1) -> (i, i + d/2)
                w = w.unflatten(0, (heads[ours[-1]], -1, 2)).transpose(1, 2).reshape(w.shape)
            weights[f"model.layers.{l}.{theirs}.weight"] = w
    with torch.device("meta"):  # no time spent on random weights
        model = LlamaForCausalLM(config).eval()
    model.load_state_dict(weights, assign=True)
    model.model.rotary_emb = type(model.model.rotary_emb)(config)  # its buffers are no weights
    return model


@torch.no_grad()
def check_equal(model: SmolLM2, peer: Any) -> None:
    """Check that both compute the same, without which comparing their speed means nothing.

    Raises:
        AssertionError: logits differ by more than 2e-4
    """
    ids = corpus_ids(model, 128)
    error = (model.logits(ids) - peer(ids[None]).logits[0]).abs().max()
    assert error <= 2e-4, f"logits differ by {error}"


def against(model: SmolLM2, peer: Any, n: int, n_new: int, repeats: int) -> list[dict]:
    """A row for prefill, first token included, and one for decoding n_new more tokens."""
    ids = corpus_ids(model, n, "bread")
    options: dict[str, Any] = dict(do_sample=False, eos_token_id=None, pad_token_id=0)

    def ours(n_tokens: int) -> Any:
        return generate_ids(model, [ids.tolist()], n_tokens, caches=model.new_caches())[0]

    def theirs(n_tokens: int) -> Any:
        with torch.no_grad():
            made = peer.generate(ids[None], max_new_tokens=n_tokens, **options)
        return made[0, n:].tolist()

    assert ours(n_new) == theirs(n_new), "they generate different tokens"
    times_ms = least_ms(
        {
            (name, n_tokens): partial(run, n_tokens)
            for name, run in (("ours", ours), ("theirs", theirs))
            for n_tokens in (1, 1 + n_new)
        },
        repeats,
    )
    rows = []
    for what in GOALS:
        taken = {}
        for name in ("ours", "theirs"):
            first, whole = times_ms[name, 1], times_ms[name, 1 + n_new]
            taken[name] = first if what == "prefill" else (whole - first) / n_new
        tokens = n if what == "prefill" else 1
        ratio = taken["theirs"] / taken["ours"]
        rows.append(
            dict(
                what=what,
                context=n,
                ours_ms=taken["ours"],
                theirs_ms=taken["theirs"],
                ours_tokens_per_s=1e3 * tokens / taken["ours"],
                theirs_tokens_per_s=1e3 * tokens / taken["theirs"],
                times_as_fast=ratio,
                goal=f"at least {GOALS[what]:g}: {'met' if ratio >= GOALS[what] else 'missed'}",
            )
        )
    return rows


def products(model: SmolLM2, rows: tuple[int, ...], repeats: int) -> list[dict]:
    """All matrix products of one pass, for each number of rows: `project` and torch's own."""
    matrices = all_matrices(model)
    stored = [m.T.contiguous() for m in matrices]  # [d_out, d_in], as nn.Linear has them
    n_bytes, n_weights = sum(m.nbytes for m in matrices), sum(m.numel() for m in matrices)
    found = []
    for n in rows:
        made = {d: torch.randn(1, n, d) for d in {m.shape[0] for m in matrices}}
        x = [made[m.shape[0]] for m in matrices]
        ways = {
            "project": partial(multiply_all, project, x, matrices),
            "x @ w": partial(multiply_all, torch.matmul, x, matrices),
            "nn.Linear": partial(multiply_all, F.linear, x, stored),
        }
        for name, ms in least_ms(ways, repeats).items():
            rate = dict(gb_per_s=n_bytes / ms / 1e6, gflop_per_s=2e-6 * n * n_weights / ms)
            found.append(dict(rows=n, by=name, ms=ms, **rate))
    return found


def multiply_all(multiply: Callable, inputs: list[Tensor], matrices: list[Tensor]) -> list[Tensor]:
    """Multiply every input by its matrix."""
    return [multiply(x, m) for x, m in zip(inputs, matrices, strict=True)]


def floor(model: SmolLM2, repeats: int, speed: list[dict]) -> list[dict]:
    """Compare the time of a token with that of reading every weight once."""
    matrices = all_matrices(model)
    n_bytes = sum(m.nbytes for m in matrices)
    read = {"read every weight": lambda: [m.sum() for m in matrices]}
    times_ms = least_ms(read, repeats)
    least = times_ms["read every weight"]
    for row in (row for row in speed if row["what"] == "decode"):
        for name in ("ours", "theirs"):
            times_ms[f"a token after {row['context']}, {name}"] = row[f"{name}_ms"]
    return [
        dict(step=name, ms=ms, gb_per_s=n_bytes / ms / 1e6, times_the_floor=ms / least)
        for name, ms in times_ms.items()
    ]


def all_matrices(model: SmolLM2) -> list[Tensor]:
    """Every matrix that a pass multiplies by, as [d_in, d_out]."""
    layers = model.weights.layers
    matrices = [m for layer in layers for m in (layer.qkv, layer.output, layer.gate_up, layer.down)]
    return [*matrices, model.weights.unembedding]


if __name__ == "__main__":
    main()
