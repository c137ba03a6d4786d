"""SmolLM2-135M, a real language model, on the course's own attention.

A Llama: 30 layers, d_model 576, 9 query heads that share 3 key/value heads, d_head 64, rotary
positions, up to 8,192 tokens. Layers and heads count from 0, and "L18H6" is head 6 of layer 18.

    model = SmolLM2.load()
    model.generate("The capital of France is", 10)
    model.logits(model.encode("The capital of France is"))  # [n, 49152]

From a terminal:

    python -m attention_src.models.smollm2 "The capital of France is" --cache int8
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch
from jaxtyping import Float32, Int
from torch import Tensor

from attention_src.flash.layer import IMPLS
from attention_src.kvcache.cache import Cache
from attention_src.kvcache.cache_base import restored_on_error
from attention_src.models.formats.gguf import read_gguf
from attention_src.models.install import folder
from attention_src.models.smollm2.caches import make_caches
from attention_src.models.smollm2.checks import check_ids, check_one_text, check_positions
from attention_src.models.smollm2.config import FILE, Config
from attention_src.models.smollm2.forward import forward
from attention_src.models.smollm2.generate import (
    STOP,
    Stream,
    check_room,
    generate_ids,
    stop_ids,
    tokenize,
)
from attention_src.models.smollm2.int4 import PackedMatrix, keeps_blocks
from attention_src.models.smollm2.learner.cache import make_own_caches
from attention_src.models.smollm2.learner.dispatch import Parts
from attention_src.models.smollm2.learner.forward import forward as forward_on_parts
from attention_src.models.smollm2.learner.sampling import own_chooser
from attention_src.models.smollm2.one_token.token import (
    next_token_logits,
    takes,
    warn_without_numba,
)
from attention_src.models.smollm2.sampling import Sampling, chooser
from attention_src.models.smollm2.tokenizer import Tokenizer
from attention_src.models.smollm2.trace import Probe, Recorder, Trace
from attention_src.models.smollm2.weights import Weights, load_weights
from attention_src.rope.scaling import Scaling
from attention_src.shapes import check_impl
from attention_src.tensors import as_tensor

Model = TypeVar("Model", bound="SmolLM2")


class SmolLM2:
    """The model: sizes, weights and tokenizer. Create it with `load`.

    The weights are dequantised from a 4-bit file: in print, call the model SmolLM2 Q4_1.
    """

    def __init__(
        self, config: Config, weights: Weights, tokenizer: Tokenizer, parts: Parts | None = None
    ) -> None:
        self.config, self.weights, self.tokenizer = config, weights, tokenizer
        self.parts = parts
        if parts is not None and (self.stored, self.device.type) != ("float32", "cpu"):
            raise ValueError(
                f"parts are NumPy functions, but the weights are {self.stored} on {self.device}; "
                "they should be float32 on a CPU"
            )

    @classmethod
    def load(
        cls: type[Model],
        dtype: torch.dtype = torch.float32,
        *,
        device: torch.device | str = "cpu",
        path: str | Path | None = None,
        weights: str = "float",
        parts: Mapping[str, Callable] | None = None,
    ) -> Model:
        """Load the installed weights and tokenizer; nothing is downloaded.

        Args:
            dtype: of weights and activations: float32, bfloat16 or float16
            device: where to put them
            weights: "float": dequantised to dtype; "int4": the file's blocks of 4 and 8 bits, as
                they are, on a CPU. Then products take and give bfloat16, and dtype stays float32;
                a warning says if they are slow on this computer. "auto": "int4" where it is
                possible and fast, otherwise "float", with a warning that says why; `stored` tells
                which it is. What one new token needs between products is compiled by numba;
                without it, a warning says that torch's operations are taken.
            path: another GGUF file of the same architecture; None = the installed one
            parts: name -> NumPy function, as `exercises.keep.parts()` returns them: run on these,
                and on ours for the rest; see `learner.dispatch.Parts`. float32 on a CPU, one text
                length at a time; `experiments.learner_report.report` says whose each part is.
                None = the fast way
        Returns: a SmolLM2
        Raises:
            ImportError: weights or tokenizers are not installed; gives the command to install them
            ValueError: another dtype, a device that is not available, an altered file; unknown
                weights, or "int4" with another dtype or device, or a torch that has no product for
                it; an unknown part
            FileNotFoundError: there is no file at path
        Cost: a second; 538 MB in float32, half of that in the other dtypes, 102 MB as "int4". On a
            CPU "int4" generates the fastest, then float32, and float16 by far the slowest. With
            "int4", the first new token imports numba: half a second and 110 MB; on its first use
            on a computer, numba compiles for some seconds and keeps the result. While other
            programs keep the cores busy, fewer threads are faster: see
            `experiments.speed.fastest_threads`.
        Source: Allal et al. 2025, arXiv:2502.02737; Touvron et al. 2023, arXiv:2302.13971 (Llama).
        """
        own = None if parts is None else Parts(parts)
        packed = keeps_blocks(weights, dtype, device)
        if packed:
            warn_without_numba()
        file = read_gguf(folder("smollm2") / FILE if path is None else path)
        config = Config.of(file.metadata)
        tokenizer = Tokenizer(file.metadata)
        loaded = load_weights(file, config, dtype, device, packed=packed)
        return cls(config, loaded, tokenizer, own)

    def __repr__(self) -> str:
        return f"SmolLM2(weights={self.stored}, {self.weights.nbytes / 1e6:.0f} MB, {self.device})"

    @property
    def stored(self) -> str:
        """How the weights are held: "int4" or their dtype, such as "float32"."""
        packed = isinstance(self.weights.unembedding, PackedMatrix)
        return "int4" if packed else str(self.dtype).removeprefix("torch.")

    @property
    def dtype(self) -> torch.dtype:
        """Dtype of weights and activations; float32 for "int4"."""
        return self.weights.final_norm.dtype

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return self.weights.final_norm.device

    def encode(self, text: str) -> Int[Tensor, "n"]:
        """Text to token ids.

        Args:
            text: may be empty
        Returns: int64 [n]
        """
        return torch.tensor(self.tokenizer.encode(text), dtype=torch.int64, device=self.device)

    def decode(self, ids: Any) -> str:
        """Token ids to text.

        Args:
            ids: [n]
        Returns: the text
        """
        return self.tokenizer.decode(_listed(ids))

    def tokens(self, ids: Any) -> list[str]:
        """The text of each token by itself, to label a figure with.

        Args:
            ids: [n]
        Returns: n texts
        """
        return [self.tokenizer.decode([i]) for i in _listed(ids)]

    @torch.no_grad()
    def logits(
        self,
        ids: Any,
        *,
        caches: Sequence[Any] | None = None,
        positions: Any = None,
        mask: Any = None,
        impl: str = "auto",
        scaling: Scaling | None = None,
        probe: Probe | None = None,
        last: bool = False,
    ) -> Float32[Tensor, "*B_or_none n n_vocabulary"]:
        """Compute what the model expects after each token; the steps are in `forward`.

        Args:
            ids: [n] or [B, n]  token ids, at least one
            caches: from `new_caches`, one per layer. ids follow the tokens they hold, and their
                keys and values are appended, unless an error is raised.
            positions: [n] or [B, n]  None = 0, 1, 2 …, counted on from what the caches have seen,
                up to 8,191. Explicit positions may go beyond, to see what happens.
            mask: bool, broadcasts to [B, H, n, n_k], True = may attend, in addition to the causal
                mask; n_k includes the cached tokens
            impl: of attention: "dense", "sdpa", "tiled", "triton" or "auto", see
                `multihead.layer_attend`; "auto" also lets one token on "int4" weights take
                `one_token.token`
            scaling: of the rotation: None, or one of `rope.scaling`
            probe: reads or changes the heads' outputs, see `trace`
            last: True = logits of the last token only
        Returns: float32 [n, 49152] or [B, n, 49152]; with last, n = 1
        Raises:
            ValueError: no ids, out-of-range ids, or more than 8,192; an unknown impl; shapes that
                do not fit
        Cost: 2 · 134.5e6 FLOP per token, and attention.
        """
        ids = check_ids(ids, self.config, self.device)
        check_impl(impl, IMPLS)
        rows = ids if ids.ndim == 2 else ids[None]  # [B, n]
        positions = check_positions(positions, rows, caches, self.config)
        plain = impl == "auto" and all(x is None for x in (mask, scaling, probe))
        with restored_on_error(caches or [], rows.shape[1]):
            if caches is not None and takes(self.config, self.weights, rows, caches, plain=plain):
                logits = next_token_logits(self.config, self.weights, rows, positions, caches)
            else:
                run = forward if self.parts is None else partial(forward_on_parts, self.parts)
                logits = run(
                    self.config, self.weights, rows, positions, caches=caches, mask=mask, impl=impl,
                    scaling=scaling, probe=Probe() if probe is None else probe, last=last,
                )  # fmt: skip
        return logits if ids.ndim == 2 else logits[0]

    def nll(self, ids: Any, **options: Any) -> Float32[Tensor, "n_less_1"]:
        """Negative log-likelihood of each next token, in nats.

            nll_t = -log p(ids[t + 1] | ids[0 … t]);  perplexity = exp(mean of nll)

        Args:
            ids: [n]  token ids, at least two
            options: of `logits`
        Returns: float32 [n - 1]
        Raises:
            ValueError: as `logits`; fewer than two tokens, or a batch
        """
        ids = check_one_text(ids, self.config, self.device)
        return torch.nn.functional.cross_entropy(
            self.logits(ids, **options)[:-1], ids[1:], reduction="none"
        )

    def trace(
        self, ids: Any, *, keep: Iterable[str] = ("weights", "scores", "hidden"), **options: Any
    ) -> Trace:
        """Run the model on one text and keep intermediate values.

        Args:
            ids: [n]  token ids
            keep: what to keep: "weights", "scores", "hidden"
            options: of `logits`, except caches, probe and last
        Returns: a Trace
        Raises:
            ValueError: as `logits`; an unknown name in keep; an option that a trace does not take;
                a batch
        Cost: `logits`; weights and scores take 4 · 30 · 9 · n² bytes each: 71 MB for 256 tokens.
        """
        ids = check_ids(ids, self.config, self.device)
        if ids.ndim != 1:
            raise ValueError(f"ids has shape {list(ids.shape)}; a trace is of one text, [n]")
        for name in {"caches", "probe", "last"} & options.keys():
            raise ValueError(f"{name} is given, but a trace is of a whole text, with its own probe")
        recorder = Recorder(self.config, len(ids), keep, options.get("mask"))
        logits = self.logits(ids, probe=recorder, **options)
        return recorder.trace(self.tokens(ids), logits)

    def new_caches(
        self,
        cache: str | Callable[[], Cache] = "contiguous",
        *,
        batch: int = 1,
        max_tokens: int | None = None,
    ) -> list[Any]:
        """Make empty caches, one per layer.

        Args:
            cache: "contiguous", "windowed" or "windowed(window, sinks)", "int8", "int4", "paged" or
                "paged(page_size)"; or a function that makes one layer's cache
            batch: B
            max_tokens: room for this many tokens per sequence in paged caches; None = 8,192
        Returns: 30 caches
        Raises:
            ValueError: an unknown cache
        """
        n = self.config.max_tokens if max_tokens is None else max_tokens
        if self.parts is not None:
            return make_own_caches(cache, self.parts, self.config, batch, n)
        return make_caches(cache, self.config.n_layers, batch, n)

    def generate(
        self,
        prompt: str | Sequence[str],
        max_new_tokens: int = 100,
        *,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
        stop: str | int | Iterable[str | int] | None = STOP,
        chat: bool = False,
        on_text: Callable[[str], Any] | None = None,
        cache: str | Callable[[], Cache] | None = "contiguous",
        impl: str = "auto",
    ) -> Any:
        """Continue one text, or several side by side.

        Args:
            prompt: a text, or a list of texts of any lengths
            max_new_tokens: upper limit of new tokens
            temperature: 0 = always the most probable token; 1 = the model's own distribution
            top_k: sample from the k most probable tokens; None = from all
            top_p: sample from the fewest tokens whose probabilities sum to this; None = from all
            seed: makes sampling repeatable; text b of several uses seed + b
            stop: tokens that end a text, as ids or as texts of exactly one token; None = nothing
                ends it early
            chat: True = prompt is a user's message; see `chat_prompt` for whole conversations
            on_text: called with each new piece of text as soon as it is known; one prompt only
            cache: None = no cache, every token is computed again in each step; else see
                `new_caches`
            impl: of attention, as for `logits`
        Returns: the continuation, without the stop token: a str, or a list of them
        Raises:
            ValueError: an empty prompt, or one too long for max_new_tokens; values out of range;
                an unknown cache or impl; texts of different lengths with a cache or impl that
                cannot hide their padding ("windowed" and "int4"; "tiled" and "triton")
        """
        texts = [prompt] if isinstance(prompt, str) else prompt
        if on_text is not None and texts is prompt:
            raise ValueError("on_text is given, but prompt holds several texts; it should be None")
        prompts, batch = tokenize(self.tokenizer, texts, chat), len(texts)
        total = check_room(prompts, max_new_tokens, self.config.max_tokens)
        stops = stop_ids(self.tokenizer, stop)
        sampling = Sampling(temperature, top_k, top_p, seed)
        choose = chooser(sampling, batch=batch, device=self.device)
        choose = own_chooser(self.parts, choose, sampling, batch)
        caches = None if cache is None else self.new_caches(cache, batch=batch, max_tokens=total)
        stream = Stream(self.tokenizer, on_text)
        with torch.inference_mode():  # safe: its caches and logits do not escape
            new = generate_ids(
                self, prompts, max_new_tokens, choose=choose, stops=stops, caches=caches,
                impl=impl, on_token=stream.add,
            )  # fmt: skip
        stream.close()
        answers = [self.decode(ids) for ids in new]
        return answers if texts is prompt else answers[0]


def _listed(ids: Any) -> list:
    """A row of ids, wherever it is, for the tokenizer, which checks them."""
    return as_tensor(ids, "ids", "a row of token ids, [n]").tolist()
