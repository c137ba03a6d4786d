"""SmolLM2 on your own functions: whose each part is, how far it is from ours, what it writes."""

from dataclasses import dataclass
from typing import Any

from attention_src.models.smollm2.model import SmolLM2
from attention_src.timing import now_ms

TEXT = "Keys are compared with queries, and values are blended."
PROMPT = "Once upon a time, there was a little"
CLOSE = 0.01  # of logits: float32 leaves 1e-4, and no choice of a token hangs on a hundredth


@dataclass(frozen=True)
class Report:
    """What a model on parts does, beside the same model on ours.

    whose: for each part, whose it is, see `learner.dispatch.Parts.whose`
    difference: largest difference of a logit
    text: what it writes; perhaps only its beginning
    ours: what the model writes on our parts
    in_time: False = time ran out before the text was complete
    """

    whose: dict[str, str]
    difference: float
    text: str
    ours: str
    in_time: bool

    def __str__(self) -> str:
        lines = [f"{name:20} {said}" for name, said in self.whose.items()]
        off = f"below {CLOSE}" if self.difference < CLOSE else f"{self.difference:.2g}"
        lines.append(f"largest difference of a logit: {off}")
        lines.append(f"text: {self.text!r}" + ("" if self.in_time else ", then its time was over"))
        if not self.ours.startswith(self.text):
            lines.append(f"ours: {self.ours!r}")
        return "\n".join(lines)


class _OutOfTimeError(Exception):
    pass


def report(
    model: SmolLM2,
    text: str = TEXT,
    prompt: str = PROMPT,
    max_new_tokens: int = 8,
    *,
    seconds: float = 60.0,
) -> Report:
    """Run a model on its parts and on ours, and compare. `print` shows it.

    Args:
        model: from `SmolLM2.load(parts=...)`
        text: where logits are compared
        prompt: is continued by the most probable tokens
        max_new_tokens: how many
        seconds: no further token is begun after this time
    Returns: a Report
    Raises:
        ValueError: the model runs on no parts; a part that raises an error or gives an answer that
            cannot be right: `learner.dispatch.PartError`
    Cost: with the worked solutions, 2 s; functions with loops in Python take longer.
    """
    if model.parts is None:
        raise ValueError("model runs on no parts; it should come from SmolLM2.load(parts=...)")
    end_ms = now_ms() + 1e3 * seconds
    ours = SmolLM2(model.config, model.weights, model.tokenizer)
    ids = model.encode(text)
    difference = float((model.logits(ids) - ours.logits(ids)).abs().max())
    written, in_time = _write(model, prompt, max_new_tokens, end_ms)
    right = ours.generate(prompt, max_new_tokens)
    return Report(model.parts.whose(), difference, written, right, in_time)


def _write(model: SmolLM2, prompt: str, max_new_tokens: int, end_ms: float) -> tuple[str, bool]:
    """The continuation, and whether it is complete."""
    pieces: list[str] = []

    def keep(piece: Any) -> None:
        pieces.append(piece)
        if now_ms() > end_ms:
            raise _OutOfTimeError

    try:
        model.generate(prompt, max_new_tokens, on_text=keep)
    except _OutOfTimeError:
        return "".join(pieces), False
    return "".join(pieces), True
