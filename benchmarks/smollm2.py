"""SmolLM2 on attention_src against transformers and llama.cpp, on two threads of a CPU.

All generate greedily from the same file and prompts, each with its own cache, in turn; the shortest
times of several runs count, those of decoding from the first token on. transformers and our
"float32" have the same weights, and their results are compared before anything is timed. llama.cpp
and our "int4" keep the file's blocks. Run it on an otherwise idle machine.

python -m benchmarks.smollm2                   measure, print the tables, keep the result
python -m benchmarks.smollm2 --llama PYTHON    with llama.cpp: of an environment that has
                                               llama-cpp-python, which the course never needs
python -m benchmarks.smollm2 --smoke           tiny sizes, nothing is kept
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from typing import Any

import torch

from attention_src.models.corpus import TEXTS, load_text
from attention_src.models.formats.gguf import read_gguf
from attention_src.models.install import folder
from attention_src.models.smollm2 import FILE, SmolLM2
from attention_src.models.smollm2.experiments import corpus_ids, perplexity
from attention_src.models.smollm2.generate import generate_ids
from attention_src.models.smollm2.one_token.token import compiled_loops
from attention_src.timing import now_ms
from benchmarks.linear_cpu import processor
from benchmarks.record import format_table, provenance, save
from benchmarks.smollm2_parts import busy, floor, products, token
from benchmarks.smollm2_peers import LlamaCpp, run_transformers, transformers_model

Run = Callable[[list[int], int], tuple[list[int], list[float]]]  # tokens, and times in ms

THREADS, CONTEXTS, NEW_TOKENS, REPEATS = 2, (64, 512, 1024), 32, 7
AGAINST = (("float32", "transformers"), ("int4", "float32"), ("int4", "llama.cpp"))
LOAD = """
import sys, numpy, torch
from pathlib import Path

def peak_mb():
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024 / 1e6
    import resource
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # macOS

torch.set_num_threads(2)
torch.ones(64, 64) @ torch.ones(64, 64)
before_mb = peak_mb()
import tokenizers
from attention_src.models.smollm2 import SmolLM2
from attention_src.models.smollm2.experiments import corpus_ids
from attention_src.models.smollm2.generate import generate_ids
from attention_src.timing import now_ms
start_ms = now_ms()
model = SmolLM2.load(weights=sys.argv[1])
load_s, loaded_mb = (now_ms() - start_ms) / 1e3, peak_mb()
ids = corpus_ids(model, int(sys.argv[2]), "bread").tolist()
generate_ids(model, [ids], 8, caches=model.new_caches())
print(load_s, loaded_mb - before_mb, peak_mb() - before_mb)
"""


def main(arguments: list[str] | None = None) -> None:
    """Print the tables, and keep their rows unless this is a trial."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.smollm2", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, nothing is kept")
    parser.add_argument("--llama", metavar="PYTHON", help="a Python that has llama-cpp-python")
    options = parser.parse_args(arguments)
    smoke = options.smoke
    contexts, n_new, repeats = ((8,), 2, 1) if smoke else (CONTEXTS, NEW_TOKENS, REPEATS)
    torch.set_num_threads(THREADS)
    path = folder("smollm2") / FILE
    loading = [row for w in ("float", "int4") for row in load(w, contexts[-1], repeats)]
    models = {"float32": SmolLM2.load(path=path), "int4": SmolLM2.load(path=path, weights="int4")}
    peer = transformers_model(read_gguf(path))
    check_equal(models["float32"], peer)
    runs: dict[str, Run] = {name: partial(run_ours, model) for name, model in models.items()}
    runs["transformers"] = partial(run_transformers, peer)
    llama = LlamaCpp(options.llama, path, THREADS) if options.llama else None
    if llama:
        runs["llama.cpp"] = llama
    ids = corpus_ids(models["float32"], contexts[-1], "bread").tolist()
    timed = speed(runs, ids, contexts, n_new, repeats)
    if llama:
        llama.close()
    n_text = 24 if smoke else None
    tables = {"load": loading, "speed": timed, "against": against(timed)}
    tables["quality"] = [row for text in TEXTS for row in quality(models, text, n_text)]
    tables["token"] = [row for n in contexts for row in token(models, ids[:n], n_new, repeats)]
    tables["floor"] = floor(models, repeats, timed)
    tables["products"] = products(models, (1, 8) if smoke else (1, 16, 64, 512), repeats)
    tables["busy"] = busy(models, ids[: contexts[0]], n_new, repeats, THREADS)
    for title, table in tables.items():
        print(f"\n{title}\n{format_table(table)}")
    if not smoke:
        import transformers

        source = provenance() | dict(chip="cpu", processor=processor(), threads=THREADS)
        source["transformers"] = transformers.__version__
        source["llama_cpp_python"] = llama.version if llama else "not installed"
        source["numba"] = version("numba") if compiled_loops() else "not used"
        kept = [dict(table=title) | row for title, table in tables.items() for row in table]
        print(f"kept in {save('smollm2', kept, source)}")


def load(weights: str, context: int, repeats: int) -> list[dict]:
    """Load and generate in fresh processes: the shortest time, the most memory."""
    command, found = [sys.executable, "-c", LOAD, weights, str(context)], []
    for _ in range(repeats):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append([float(x) for x in done.stdout.split()])
    times_s, loaded_mb, peak_mb = zip(*found, strict=True)
    most = dict(loaded_mb=max(loaded_mb), peak_mb=max(peak_mb))
    return [dict(weights=weights, load_s=min(times_s)) | most]


@torch.no_grad()
def check_equal(model: SmolLM2, peer: Any) -> None:
    """Check that both compute the same, without which comparing their speed means nothing.

    Raises:
        AssertionError: logits differ by more than 2e-4
    """
    ids = corpus_ids(model, 128)
    error = (model.logits(ids) - peer(ids[None]).logits[0]).abs().max()
    assert error <= 2e-4, f"logits differ by {error}"


@torch.inference_mode()  # as `generate` does
def run_ours(model: SmolLM2, ids: list[int], n_new: int) -> tuple[list[int], list[float]]:
    """As `run_transformers`, with our model and a contiguous cache."""
    start_ms, times_ms = now_ms(), []
    [tokens] = generate_ids(
        model, [ids], n_new, caches=model.new_caches(),
        on_token=lambda _: times_ms.append(now_ms() - start_ms),
    )  # fmt: skip
    return tokens, times_ms


def speed(
    runs: Mapping[str, Run], ids: list[int], contexts: tuple[int, ...], n_new: int, repeats: int
) -> list[dict]:
    """Rows for prefill, first token included, and for decoding n_new more tokens."""
    rows = []
    for n in contexts:
        made = {name: run(ids[:n], n_new)[0] for name, run in runs.items()}  # to warm up
        assert made["float32"] == made["transformers"], "they generate different tokens"
        found: dict[str, list[list[float]]] = {name: [] for name in runs}
        for _ in range(repeats):
            for name, run in runs.items():
                found[name].append(run(ids[:n], 1 + n_new)[1])
        for name, times_ms in found.items():
            prefill_ms = min(times[0] for times in times_ms)
            decode_ms = min((times[-1] - times[0]) / n_new for times in times_ms)
            for what, ms, tokens in (("prefill", prefill_ms, n), ("decode", decode_ms, 1)):
                row = dict(what=what, context=n, by=name, ms=ms, tokens_per_s=1e3 * tokens / ms)
                rows.append(row)
    return rows


def against(timed: list[dict]) -> list[dict]:
    """How many times as fast as its peers each of ours is; no row for a peer that did not run."""
    taken = {(row["what"], row["context"], row["by"]): row["ms"] for row in timed}
    return [
        dict(what=what, context=n, ours=ours, other=other, times_as_fast=taken[what, n, other] / ms)
        for ours, other in AGAINST
        for (what, n, by), ms in taken.items()
        if by == ours and (what, n, other) in taken
    ]


@torch.inference_mode()
def quality(models: Mapping[str, SmolLM2], text: str, n: int | None) -> list[dict]:
    """Perplexity of the first n tokens of a text, and how often the same one is expected.

    int4 reads the text at once, and then again token by token, as it is written.
    """
    ids = models["float32"].encode(load_text(text))[:n]
    exact, small = models["float32"].logits(ids), models["int4"]
    caches, rows = small.new_caches(), []
    one_each = torch.cat([small.logits(one, caches=caches) for one in ids.split(1)])
    for how, logits in (("at once", small.logits(ids)), ("token by token", one_each)):
        found = [
            perplexity(torch.nn.functional.cross_entropy(x[:-1], ids[1:], reduction="none"))
            for x in (exact, logits)
        ]
        ratio = found[1] / found[0]
        row = dict(text=text, tokens=len(ids), read=how, float32=found[0], int4=found[1])
        same = (exact.argmax(-1) == logits.argmax(-1)).float().mean().item()
        rows.append(row | dict(ratio=ratio, same_argmax=same))
    return rows


if __name__ == "__main__":
    main()
