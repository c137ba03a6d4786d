"""What each mistake does to a real model: SmolLM2 with one part wrong, one row each."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch import Tensor
from torch.nn.functional import cross_entropy

from attention_src.models.smollm2.experiments import Progress, corpus_ids, perplexity, say
from attention_src.models.smollm2.experiments.side_by_side import SideBySide
from attention_src.models.smollm2.learner.checks import PartError
from attention_src.models.smollm2.learner.defaults import masked_softmax
from attention_src.models.smollm2.learner.dispatch import COARSER, Parts
from attention_src.models.smollm2.model import SmolLM2
from attention_src.models.smollm2.weights import Weights
from attention_src.shapes import check_size

Wrong = tuple[str, str, str, Callable]  # chapter, part, the mistake's name, the function
BATCH = 64
SAME = 1e-3  # nats: float32 leaves a tenth of it in a token's nll
ROUNDING = 1e-5  # of an answer's largest number: float32 leaves a tenth of it
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
    text: the passage's continuation; "" if there is none
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
    max_new_tokens: int = 8,
    progress: Progress = None,
) -> Iterator[Row]:
    """Put wrong functions into the model, one at a time, and see what it does.

    The passage is read at once; for append_and_read in three pieces, the last of one token. Then it
    is continued token by token through the cache. Tokens are the likeliest; the part sample draws,
    with temperature 0.8 and top_p 0.9.

    A function that answers as ours wherever a sound model calls it makes a sound model, layer by
    layer: it need not run.

    Args:
        model: SmolLM2 in float32 on a CPU; its own parts are not used
        wrong: (chapter, part, the mistake's name, function)
        n: tokens of the passage
        text: the passage is its beginning; one of `corpus.TEXTS`
        max_new_tokens: how many tokens to write
        progress: called with each batch's mistakes; None = silent
    Yields: a Row for each, in the order given
    Raises:
        ValueError: an unknown part; n or max_new_tokens out of range
    Cost: n + max_new_tokens tokens a row that differs; 30 rows of 14 tokens take 4 s on one core.
    """
    n = check_size(n, "n", at_least=4)
    n_new = check_size(max_new_tokens, "max_new_tokens", at_least=1)
    run = _Run(model, corpus_ids(model, n, text), n_new)
    wrong = iter(wrong)
    while batch := list(islice(wrong, BATCH)):
        say(progress, ", ".join(mistake for _, _, mistake, _ in batch))
        yield from run.rows(batch)


class _Listening(SideBySide):
    """A sound model that notes what its parts are asked and answer; not append_and_read's."""

    def __init__(self) -> None:
        super().__init__([Parts({})])
        self.calls: list[tuple[str, tuple, Any]] = []

    def _each(self, part: str, *arguments: Any) -> Any:
        answer = super()._each(part, *arguments)
        if part != "append_and_read":
            self.calls.append((part, arguments, answer))
        return answer

    def same(self, variant: Parts) -> bool:
        """Whether a variant answers all of that alike, and changes nothing that it is given."""
        if {"append_and_read", "sample"} & variant.own.keys():
            return False
        return all(_same(variant, *call) for call in self.calls)


def _same(variant: Parts, part: str, arguments: tuple, answer: Any) -> bool:
    if not ({part} | {n for n in COARSER if part in COARSER[n]}) & variant.own.keys():
        return True
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    try:
        found = getattr(variant, part)(*given)
    except PartError:
        return False
    pairs = zip(found, answer, strict=True) if isinstance(answer, list) else [(found, answer)]
    alike = all(np.abs(a - b).max() <= ROUNDING * np.abs(b).max() for a, b in pairs)
    return alike and all(np.array_equal(a, b) for a, b in zip(given, arguments, strict=True))


class _Run:
    """The passage, for one batch of mistakes after the other."""

    def __init__(self, model: SmolLM2, ids: Int64[Tensor, "n"], n_new: int) -> None:
        self.ids, self.n_new = ids, n_new
        self.bare = SmolLM2(model.config, model.weights, model.tokenizer)
        self.sound = _Listening()
        (right,), (self.text,) = self._read(self.sound, cached=False)
        assert right is not None
        self.right = right

    def rows(self, batch: list[Wrong]) -> Iterator[Row]:
        variants = [Parts({part: f}) for _, part, _, f in batch]
        notes = self._stopped(variants)
        running = [b for b in range(len(batch)) if b not in notes]
        same = {b for b in running if self.sound.same(variants[b])}
        nll, texts = dict.fromkeys(same, self.right), dict.fromkeys(same, self.text)
        differ = [b for b in running if b not in same]
        cached = [b for b in differ if "append_and_read" in variants[b].own]
        at_once = [b for b in differ if b not in cached]
        for alive in filter(None, (at_once, cached)):
            side = SideBySide([variants[b] for b in alive])
            found, wrote = self._read(side, alive is cached)
            nll |= {b: x for b, x in zip(alive, found, strict=True) if x is not None}
            texts |= dict(zip(alive, wrote, strict=True))
            notes |= {alive[i]: note for i, note in side.failed.items()}
        for b, (chapter, part, mistake, _) in enumerate(batch):
            text = "" if b in notes else self.bare.decode(texts[b])
            if b not in nll:
                yield Row(chapter, part, mistake, None, text, notes[b])
                continue
            alike = bool((nll[b] - self.right).abs().max() < SAME)
            said = "no difference" if alike else ""
            note = notes.get(b, "chooses after the loss" if part == "sample" else said)
            yield Row(chapter, part, mistake, perplexity(nll[b]), text, note)

    def _stopped(self, variants: list[Parts]) -> dict[int, str]:
        """Which fail in the first layer, and why: they need not run thirty."""
        side, w = SideBySide(variants), self.bare.weights
        one = Weights(w.unembedding, w.layers[:1], w.final_norm)
        model = SmolLM2(replace(self.bare.config, n_layers=1), one, self.bare.tokenizer, side)
        model.logits(self.ids.expand(len(variants), -1), last=True)
        return side.failed

    def _read(
        self, side: SideBySide, cached: bool
    ) -> tuple[list[Float32[Tensor, "n_less_1"] | None], list[list[int]]]:
        """Each variant's nll of every token but the first, None if it failed; and its text."""
        batch, n = len(side.variants), len(self.ids)
        model = SmolLM2(self.bare.config, self.bare.weights, self.bare.tokenizer, side)
        caches = model.new_caches(batch=batch, max_tokens=n + self.n_new)
        ids = self.ids.expand(batch, -1)  # [B, n]
        pieces = ids.tensor_split([n // 2, n - 1], dim=1) if cached else [ids]
        logits = torch.cat([model.logits(piece, caches=caches) for piece in pieces], dim=1)
        nll = [
            None if b in side.failed else cross_entropy(row[:-1], self.ids[1:], reduction="none")
            for b, row in enumerate(logits)
        ]
        rng, last, texts = np.random.default_rng(0), logits[:, -1], []
        for step in range(self.n_new):
            u = rng.random()
            texts.append([side.choose(b, row, u) for b, row in enumerate(last.numpy())])
            if step < self.n_new - 1:
                last = model.logits(torch.tensor(texts[-1])[:, None], caches=caches)[:, -1]
        return nll, [list(ids) for ids in zip(*texts, strict=True)]
