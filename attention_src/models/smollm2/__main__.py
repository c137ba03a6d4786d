"""SmolLM2 from a terminal.

python -m attention_src.models.smollm2 "The capital of France is"
"""

import argparse
from typing import Any

import torch

from attention_src.commands import run, size
from attention_src.flash.layer import IMPLS
from attention_src.models.smollm2 import SmolLM2
from attention_src.models.smollm2.caches import NAMES
from attention_src.models.smollm2.experiments.speed import fastest_threads
from attention_src.models.smollm2.int4 import WEIGHTS
from attention_src.timing import now_ms

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
MOST_THREADS = 1024  # more would take memory and no core


class TimedSmolLM2(SmolLM2):
    """Records when each pass ends; generation takes one pass per token."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.times_ms: list[float] = []

    def logits(self, *arguments: Any, **options: Any) -> torch.Tensor:
        """As `SmolLM2.logits`."""
        logits = super().logits(*arguments, **options)
        self.times_ms.append(now_ms())
        return logits


def main(arguments: list[str] | None = None) -> int:
    """Stream a text and print the speed.

    Args:
        arguments: of the command line; None = those that Python was started with
    Returns: the exit status, as of `commands.run`
    """
    options = vars(_parser().parse_args(arguments))
    return run(lambda: _stream(options))


def _stream(options: dict[str, Any]) -> None:
    prompt, n = _utf_8(options.pop("prompt")), options.pop("max_new_tokens")
    threads = options.pop("threads")
    where: dict[str, Any] = {name: options.pop(name) for name in ("device", "weights")}
    model = TimedSmolLM2.load(DTYPES[options.pop("dtype")], **where)
    threads = threads or fastest_threads(model)
    torch.set_num_threads(threads)
    # Printed with the first piece, after which no mistake can be found.
    unprinted = [] if options["chat"] else [prompt]

    def say(piece: str) -> None:
        _say("".join([*unprinted, piece]))
        unprinted.clear()

    start_ms = now_ms()
    cache = None if options["cache"] == "none" else options["cache"]
    model.generate(prompt, n, on_text=say, **options | {"cache": cache})
    say("")
    speed = _speed(start_ms, model.times_ms)
    how = f"weights {model.stored}, cache {options['cache']}, impl {options['impl']}"
    how += f", threads {threads}"
    print(f"\n\n[{speed}; {how}]")


def _utf_8(prompt: str) -> str:
    """Python passes bytes that are no UTF-8 as halves of surrogate pairs."""
    try:
        prompt.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"prompt is not UTF-8 from its character {error.start + 1} on") from None
    return prompt


def _speed(start_ms: float, times_ms: list[float]) -> str:
    first = f"first token after {(times_ms[0] - start_ms) / 1e3:.2f} s"
    if len(times_ms) < 2:
        return first
    per_s = 1e3 * (len(times_ms) - 1) / (times_ms[-1] - times_ms[0])
    return f"{first}, then {per_s:.1f} tokens/s"


def _say(text: str) -> None:
    print(text, end="", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m attention_src.models.smollm2",
        description="Continue a text, or answer, by SmolLM2-135M on attention_src.",
    )
    add = parser.add_argument
    add("prompt", help="the text to continue; with --chat, what to say to the model")
    add("--chat", action="store_true", help="let the model answer instead of continuing")
    add(
        "--cache",
        default="contiguous",
        help="what it remembers: none, "
        f"{', '.join(NAMES)}; also windowed(window, sinks), paged(page_size)",
    )
    add("--impl", default="auto", choices=IMPLS, help="how it attends; auto")
    add("--max-new-tokens", type=int, default=100, metavar="N", help="at most N; 100")
    add("--temperature", type=float, default=0.0, metavar="T", help="0 = the most probable token")
    add("--top-k", type=int, metavar="K", help="draw among the K most probable tokens")
    add("--top-p", type=float, metavar="P", help="draw among tokens that hold probability P")
    add("--seed", type=int, help="makes the drawing repeatable")
    add("--dtype", default="float32", choices=DTYPES, help="of the weights")
    add(
        "--weights",
        default="float",
        choices=WEIGHTS,
        help="int4: the file's 4-bit blocks, a fifth of the bytes and fastest on a CPU, above all "
        "with numba; auto: the faster of both",
    )
    add("--device", default="cpu", help="where to compute: cpu or cuda")
    add(
        "--threads",
        type=size(MOST_THREADS),
        metavar="N",
        help="on a CPU; default: as many as are fastest right now, fewer beside busy programs",
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
