"""SmolLM2's peers: transformers in this process, llama.cpp in one of its own."""

import json
import subprocess
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attention_src.models.formats.gguf import GGUF
from attention_src.timing import now_ms

WORKER = Path(__file__).with_name("llama_worker.py")


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


class Clock:
    """A streamer of transformers: notes when each token is known."""

    def __init__(self) -> None:
        self.start_ms, self.times_ms = now_ms(), list[float]()

    def put(self, tokens: Tensor) -> None:
        """The prompt comes first, and is no news."""
        if tokens.numel() == 1:
            self.times_ms.append(now_ms() - self.start_ms)

    def end(self) -> None:
        """Nothing is left to do."""


@torch.no_grad()
def run_transformers(model: Any, ids: list[int], n_new: int) -> tuple[list[int], list[float]]:
    """Generate greedily with transformers.

    Args:
        model: from `transformers_model`
        ids: of the prompt, at least two
        n_new: number of new tokens
    Returns: the tokens, and when each was known, in ms
    """
    clock = Clock()
    options: dict[str, Any] = dict(do_sample=False, eos_token_id=None, pad_token_id=0)
    made = model.generate(torch.tensor([ids]), max_new_tokens=n_new, streamer=clock, **options)
    return made[0, len(ids) :].tolist(), clock.times_ms


class LlamaCpp:
    """llama.cpp in a process of its own, which waits while nothing is asked.

    Args:
        python: of an environment with llama-cpp-python
        path: of the GGUF file
        threads: how many it may use
    Raises:
        RuntimeError: it cannot be started
    """

    def __init__(self, python: str, path: Path, threads: int) -> None:
        pipes: dict[str, Any] = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        command = [python, str(WORKER), str(path), str(threads)]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL, **pipes)
        self.version = self._answer()["version"]

    def __call__(self, ids: list[int], n_new: int) -> tuple[list[int], list[float]]:
        """As `run_transformers`."""
        print(json.dumps(dict(ids=ids, n_new=n_new)), file=self._process.stdin, flush=True)
        made = self._answer()
        return made["tokens"], made["times_ms"]

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"llama.cpp ended with status {self._process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
