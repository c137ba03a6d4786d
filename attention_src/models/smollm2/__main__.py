"""SmolLM2 from a terminal.

python -m attention_src.models.smollm2 "The capital of France is"
"""

import argparse
import sys
import time
from typing import Any

import torch

from attention_src.flash.layer import IMPLS
from attention_src.models.smollm2 import SmolLM2
from attention_src.models.smollm2.caches import NAMES

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class TimedSmolLM2(SmolLM2):
    """Notes when each pass ended; generation needs one pass a token."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.times: list[float] = []

    def logits(self, *arguments: Any, **options: Any) -> torch.Tensor:
        """As `SmolLM2.logits`."""
        logits = super().logits(*arguments, **options)
        self.times.append(time.perf_counter())
        return logits


def main(arguments: list[str] | None = None) -> int:
    """Stream a text, then say how fast it came; returns the exit status."""
    options = vars(_parser().parse_args(arguments))
    prompt, n = options.pop("prompt"), options.pop("max_new_tokens")
    try:
        model = TimedSmolLM2.load(DTYPES[options.pop("dtype")], device=options.pop("device"))
        unsaid = [] if options["chat"] else [prompt]  # until it is known that it can be continued

        def say(piece: str) -> None:
            _say("".join([*unsaid, piece]))
            unsaid.clear()

        start = time.perf_counter()
        model.generate(prompt, n, on_text=say, **options)
        say("")
    except (ValueError, ImportError) as error:
        print(error, file=sys.stderr)
        return 2
    speed = _speed(start, model.times)
    print(f"\n\n[{speed}; cache {options['cache']}, impl {options['impl']}]")
    return 0


def _speed(start: float, times: list[float]) -> str:
    first = f"first token after {times[0] - start:.2f} s"
    if len(times) < 2:
        return first
    return f"{first}, then {(len(times) - 1) / (times[-1] - times[0]):.1f} tokens/s"


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
        help=f"{', '.join(NAMES)}; also windowed(window, sinks), paged(page_size)",
    )
    add("--impl", default="auto", choices=IMPLS, help="of attention")
    add("--max-new-tokens", type=int, default=100, metavar="N", help="at most so many; 100")
    add("--temperature", type=float, default=0.0, metavar="T", help="0 = the most probable token")
    add("--top-k", type=int, metavar="K", help="draw among the K most probable tokens")
    add("--top-p", type=float, metavar="P", help="draw among tokens that hold probability P")
    add("--seed", type=int, help="makes the drawing repeatable")
    add("--dtype", default="float32", choices=DTYPES, help="of the weights")
    add("--device", default="cpu", help="where to compute: cpu or cuda")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
