"""Generates with llama.cpp, for benchmarks.smollm2; run by a Python that has llama-cpp-python.

That is another Python than the course's, which never needs it. Each line of JSON on the input,
{"ids": [...], "n_new": 32}, is answered by one: {"tokens": [...], "times_ms": [...]}, where time i
is that of token i since the start, and the first token ends the prompt.
"""

import json
import sys
import time

import llama_cpp as llama
import numpy as np

CONTEXT = 2048


def main(path: str, threads: int) -> None:
    """Answer until the input ends; the first line tells the version."""
    model = llama.llama_model_load_from_file(path.encode(), llama.llama_model_default_params())
    options = llama.llama_context_default_params()
    options.n_ctx = options.n_batch = CONTEXT
    options.n_threads = options.n_threads_batch = threads
    context = llama.llama_init_from_model(model, options)
    n_vocabulary = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(model))
    say({"version": llama.__version__})
    for line in sys.stdin:
        wanted = json.loads(line)
        say(generate(context, n_vocabulary, wanted["ids"], wanted["n_new"]))


def generate(context, n_vocabulary: int, ids: list[int], n_new: int) -> dict:
    """Continue ids greedily: the new tokens, and when each was known."""
    llama.llama_memory_clear(llama.llama_get_memory(context), True)
    tokens, times_ms, new, start = [], [], ids, time.perf_counter()
    for _ in range(n_new):
        held = (llama.llama_token * len(new))(*new)  # the batch only points to it
        if llama.llama_decode(context, llama.llama_batch_get_one(held, len(new))):
            raise RuntimeError("llama_decode failed")
        logits = np.ctypeslib.as_array(llama.llama_get_logits_ith(context, -1), (n_vocabulary,))
        new = [int(logits.argmax())]
        tokens += new
        times_ms.append(1e3 * (time.perf_counter() - start))
    return {"tokens": tokens, "times_ms": times_ms}


def say(answer: dict) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
