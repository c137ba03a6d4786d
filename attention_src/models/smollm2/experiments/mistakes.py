"""What each mistake does to a real model: SmolLM2 with one part wrong, one row each."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby, islice

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch import Tensor
from torch.nn.functional import cross_entropy

from attention_src.models.smollm2.experiments import Progress, corpus_ids, perplexity, say
from attention_src.models.smollm2.experiments.learner_report import PROMPT
from attention_src.models.smollm2.experiments.side_by_side import SideBySide
from attention_src.models.smollm2.generate import generate_ids
from attention_src.models.smollm2.learner.defaults import masked_softmax
from attention_src.models.smollm2.learner.dispatch import Parts
from attention_src.models.smollm2.model import SmolLM2
from attention_src.models.smollm2.weights import Weights
from attention_src.shapes import check_size

Wrong = tuple[str, str, str, Callable]  # chapter, part, the mistake's name, the function
BATCH = 32
SAME = 1e-3  # nats: float32 leaves a tenth of it in a token's nll
# A table begins with these, to compare with.
REFERENCES: list[Wrong] = [
    ("-", "masked_softmax", "nothing", masked_softmax),
    ("-", "masked_softmax", "equal weights", lambda s, mask: masked_softmax(0 * s, mask)),
    ("-", "grouped_attention", "no attention, output 0", lambda q, k, v, mask: np.zeros_like(q)),
]


@dataclass(frozen=True)
class Row:
    """What one mistake does.

    chapter, part, mistake: as given
    perplexity: on the passage; None if there is no number
    text: the prompt's continuation; "" if there is none
    note: why there is no number; "no difference" if no token's nll moves; "chooses after the loss"
        for the part sample, which no perplexity can show; else ""
    """

    chapter: str
    part: str
    mistake: str
    perplexity: float | None
    text: str
    note: str


def table(
    model: SmolLM2,
    wrong: Iterable[Wrong],
    *,
    n: int = 32,
    text: str = "rivers",
    prompt: str = PROMPT,
    max_new_tokens: int = 8,
    progress: Progress = None,
) -> Iterator[Row]:
    """Put wrong functions into the model, one at a time, and see what it does.

    The passage is read at once; for append_and_read half of it, and the rest token by token. The
    text is generated as by `generate`: the prompt at once, then token by token through the cache.
    Tokens are the likeliest; the part sample draws, with temperature 0.8 and top_p 0.9.

    Args:
        model: SmolLM2 in float32 on a CPU; its own parts are not used
        wrong: (chapter, part, the mistake's name, function)
        n: tokens of the passage
        text: the passage is its beginning; one of `corpus.TEXTS`
        prompt: is continued
        max_new_tokens: how many tokens to write
        progress: called with each batch's mistakes; None = silent
    Yields: a Row for each, in the order given
    Raises:
        ValueError: an unknown part; n or max_new_tokens out of range
    Cost: about n + 16 tokens a row; 120 rows took 40 s on one core.
    """
    n = check_size(n, "n", at_least=4)
    n_new = check_size(max_new_tokens, "max_new_tokens", at_least=1)
    run = _Run(model, corpus_ids(model, n, text), model.tokenizer.encode(prompt), n_new)
    for cached, group in groupby(wrong, key=lambda row: row[1] == "append_and_read"):
        while batch := list(islice(group, BATCH)):
            say(progress, ", ".join(mistake for _, _, mistake, _ in batch))
            yield from run.rows(batch, cached)


class _Run:
    """The passage and the prompt, for one batch of mistakes after the other."""

    def __init__(
        self, model: SmolLM2, ids: Int64[Tensor, "n"], prompt: list[int], n_new: int
    ) -> None:
        self.ids, self.prompt, self.n_new = ids, prompt, n_new
        self.bare = SmolLM2(model.config, model.weights, model.tokenizer)
        self.right = self.bare.nll(ids)

    def rows(self, batch: list[Wrong], cached: bool) -> Iterator[Row]:
        variants = [Parts({part: f}) for _, part, _, f in batch]
        notes = self._stopped(variants)
        alive = [b for b in range(len(batch)) if b not in notes]
        side = SideBySide([variants[b] for b in alive])
        model = SmolLM2(self.bare.config, self.bare.weights, self.bare.tokenizer, side)
        nll = dict(zip(alive, self._nll(model, len(alive), cached), strict=True)) if alive else {}
        unread = {alive[i] for i in side.failed}
        texts = dict(zip(alive, self._texts(model, side), strict=True)) if alive else {}
        notes |= {alive[i]: note for i, note in side.failed.items()}
        for b, (chapter, part, mistake, _) in enumerate(batch):
            text = "" if b in notes else model.decode(texts[b])
            if b not in nll or b in unread:
                yield Row(chapter, part, mistake, None, text, notes[b])
                continue
            same = bool((nll[b] - self.right).abs().max() < SAME)
            said = "no difference" if same else ""
            note = notes.get(b, "chooses after the loss" if part == "sample" else said)
            yield Row(chapter, part, mistake, perplexity(nll[b]), text, note)

    def _stopped(self, variants: list[Parts]) -> dict[int, str]:
        """Which fail in the first layer, and why: they need not run thirty."""
        side, w = SideBySide(variants), self.bare.weights
        one = Weights(w.unembedding, w.layers[:1], w.final_norm)
        model = SmolLM2(replace(self.bare.config, n_layers=1), one, self.bare.tokenizer, side)
        model.logits(self.ids.expand(len(variants), -1), last=True)
        return side.failed

    def _nll(self, model: SmolLM2, batch: int, cached: bool) -> Float32[Tensor, "B n_less_1"]:
        """The nll of each token of the passage but the first."""
        ids = self.ids.expand(batch, -1)  # [B, n]
        if cached:
            starts = list(range(len(self.ids) // 2, len(self.ids)))
            caches = model.new_caches(batch=batch, max_tokens=len(self.ids))
            first, *others = ids.tensor_split(starts, dim=1)
            pieces = [model.logits(piece, caches=caches) for piece in (first, *others)]
            logits = torch.cat(pieces, dim=1)
        else:
            logits = model.logits(ids)
        rows = [cross_entropy(row[:-1], self.ids[1:], reduction="none") for row in logits]
        return torch.stack(rows)

    def _texts(self, model: SmolLM2, side: SideBySide) -> list[list[int]]:
        batch, total = len(side.variants), len(self.prompt) + self.n_new
        caches = model.new_caches(batch=batch, max_tokens=total)
        rng = np.random.default_rng(0)

        def choose(logits: Tensor) -> Tensor:
            u = rng.random()
            return torch.tensor([side.choose(b, row, u) for b, row in enumerate(logits.numpy())])

        prompts = [self.prompt] * batch
        return generate_ids(model, prompts, self.n_new, choose=choose, caches=caches)
