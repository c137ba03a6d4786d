"""Generation: choose a token, append it, repeat."""

import numbers
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from attention_src.kvcache.layer import has_kernel
from attention_src.models.smollm2.caches import check_padding
from attention_src.models.smollm2.sampling import Choose, greedy
from attention_src.models.smollm2.tokenizer import Tokenizer, chat_prompt
from attention_src.shapes import check_size

STOP = ("<|im_end|>", "<|endoftext|>")


@runtime_checkable
class Model(Protocol):
    """What generation asks of a model: `SmolLM2` has it."""

    @property
    def device(self) -> torch.device:
        """Of its weights."""

    def logits(
        self, ids: Any, *, caches: Any, positions: Any, mask: Any, impl: str, last: bool
    ) -> Tensor:
        """As `SmolLM2.logits`."""


def generate_ids(
    model: Model,
    prompts: list[list[int]],
    max_new_tokens: int,
    *,
    choose: Choose = greedy,
    stops: frozenset[int] = frozenset(),
    caches: list[Any] | None = None,
    impl: str = "auto",
    on_token: Callable[[int], Any] | None = None,
) -> list[list[int]]:
    """Continue prompts, as token ids.

    The first pass reads the prompts. With caches, each later pass reads one new token of every
    text; without, it reads everything again. Shorter prompts are padded on the left, so that all
    texts end in the same column.

    Args:
        model: its device and its logits
        prompts: token ids of each text, none of them empty
        max_new_tokens: upper limit of new tokens per text
        choose: from logits [B, n_vocabulary] to ids [B], see `sampling.chooser`
        stops: ids that end a text
        caches: empty ones, one per layer; None = no cache
        impl: of attention, as for `SmolLM2.logits`
        on_token: called with each new id of the first text
    Returns: the new ids of each text, without the stop token
    Raises:
        ValueError: an impl that the cache has no kernel for; texts of different lengths with a
            cache or impl that cannot hide their padding
    """
    ids, padding = pad_left(prompts, model.device)  # [B, n], [B]
    ragged = bool(padding.any())
    _check_fit(ragged, caches, impl)
    new, done = ids, [False] * len(prompts)
    texts: list[list[int]] = [[] for _ in prompts]
    for _ in range(max_new_tokens):
        n = ids.shape[1]
        columns = torch.arange(n - new.shape[1], n, device=ids.device)
        positions = (columns - padding[:, None]).clamp(min=0) if ragged else columns  # [B, n_new]
        mask = visible_columns(padding, n) if ragged else None
        rows: dict[str, Any] = dict(caches=caches, positions=positions, mask=mask)
        token = choose(model.logits(new, impl=impl, last=True, **rows)[:, -1])  # [B]
        for b, i in enumerate(token.tolist()):
            done[b] = done[b] or i in stops
            if not done[b]:
                texts[b].append(i)
                if b == 0 and on_token is not None:
                    on_token(i)
        if all(done):
            break
        ids = torch.cat([ids, token[:, None]], dim=1)
        new = ids if caches is None else token[:, None]
    return texts


def pad_left(
    prompts: list[list[int]], device: torch.device | str
) -> tuple[Int64[Tensor, "B n"], Int64[Tensor, "B"]]:
    """Put prompts into one tensor, padded on the left so that all end in the last column.

    Args:
        prompts: B lists of token ids
        device: of the result
    Returns: ids [B, n]; padding [B], the number of padded columns at the start of each row
    """
    n = max(len(ids) for ids in prompts)
    rows = [[0] * (n - len(ids)) + ids for ids in prompts]
    padding = torch.tensor([n - len(ids) for ids in prompts], device=device)
    return torch.tensor(rows, device=device), padding


def visible_columns(padding: Int64[Tensor, "B"], n_k: int) -> Bool[Tensor, "B 1 1 n_k"]:
    """Which columns hold tokens, for every head and query.

    Args:
        padding: int64 [B]  columns of padding before each prompt
        n_k: columns in all
    Returns: bool [B, 1, 1, n_k]  True where a column is not padding
    """
    return (torch.arange(n_k, device=padding.device) >= padding[:, None])[:, None, None]


def stop_ids(tokenizer: Tokenizer, stop: str | int | Iterable[str | int] | None) -> frozenset[int]:
    """Convert the tokens that end a text to ids.

    Args:
        tokenizer: of the model
        stop: ids, or texts of exactly one token; None = none
    Returns: a set of ids
    Raises:
        ValueError: a text of several tokens or none, or an out-of-range id
    """
    if isinstance(stop, str) or not isinstance(stop, Iterable):
        stop = () if stop is None else (stop,)
    found = set()
    for token in stop:
        ids = tokenizer.encode(token) if isinstance(token, str) else [token]
        if len(ids) != 1:
            raise ValueError(f"stop holds {token!r}, which is {len(ids)} tokens; it should be one")
        [i] = ids
        whole = isinstance(i, numbers.Integral) and not isinstance(i, bool)  # NumPy's too
        if not whole or not 0 <= i < len(tokenizer):
            raise ValueError(
                f"stop holds {token!r}; it should hold texts, or ids from 0 to {len(tokenizer) - 1}"
            )
        found.add(int(i))
    return frozenset(found)


class Stream:
    """Passes text on once it is complete: a character may need several tokens.

    Args:
        tokenizer: decodes the tokens
        on_text: called with each new piece; None = text is dropped
    """

    def __init__(self, tokenizer: Tokenizer, on_text: Callable[[str], Any] | None) -> None:
        self._tokenizer, self._on_text = tokenizer, on_text
        self._waiting: list[int] = []

    def add(self, token: int) -> None:
        """Add a token; pass on the text up to it, unless that ends within a character.

        Args:
            token: its id
        """
        self._waiting.append(token)
        if self._on_text is not None and not self._text().endswith("\ufffd"):
            self.close()

    def close(self) -> None:
        """Pass on what is waiting, complete or not."""
        if self._on_text is not None and self._waiting:
            self._on_text(self._text())
        self._waiting = []

    def _text(self) -> str:
        return self._tokenizer.decode(self._waiting)


def tokenize(tokenizer: Tokenizer, prompts: Sequence[str], chat: bool) -> list[list[int]]:
    """Each prompt's token ids, at least one: the model has no token that begins a text.

    Args:
        tokenizer: of the model
        prompts: texts
        chat: True = each is a user's message
    Returns: the ids of each
    Raises:
        ValueError: no prompt, or one that is no text or has no token
    """
    if not prompts:
        raise ValueError("prompt is an empty list; it should hold at least one text")
    tokenized = []
    for prompt in prompts:
        if not isinstance(prompt, str) or not prompt:
            raise ValueError(f"prompt is {prompt!r}; it should be a text that is not empty")
        ids = tokenizer.encode(chat_prompt(prompt) if chat else prompt)
        if not ids:
            raise ValueError(f"prompt is {prompt!r}, which no token stands for")
        tokenized.append(ids)
    return tokenized


def check_room(prompts: list[list[int]], max_new_tokens: int, max_tokens: int) -> int:
    """Check that prompts and what is generated fit the model.

    Args:
        prompts: token ids of each text
        max_new_tokens: upper limit of new tokens per text
        max_tokens: that the model was trained for
    Returns: tokens of the longest text at its end
    Raises:
        ValueError: they do not fit; max_new_tokens is not a whole number of at least 1
    """
    check_size(max_new_tokens, "max_new_tokens", at_least=1)
    n = max(len(ids) for ids in prompts)
    if n + max_new_tokens > max_tokens:
        raise ValueError(
            f"prompt has {n} tokens and max_new_tokens is {max_new_tokens}: together more than the "
            f"{max_tokens} that the model was trained for"
        )
    return n + max_new_tokens


def _check_fit(ragged: bool, caches: Any, impl: str) -> None:
    """Refuse, before anything is computed, what could not be computed to the end."""
    if impl == "triton" and caches is not None and not has_kernel(caches[0]):
        raise ValueError(
            "cache has no kernel, but impl is 'triton'; choose another impl, or a cache that is "
            '"contiguous", "windowed", "paged" or "int8"'
        )
    if not ragged:
        return
    if impl in ("tiled", "triton"):
        raise ValueError(
            f"prompt has texts of different lengths, whose padding needs a mask, but impl is "
            f'{impl!r}, which takes none; impl should be "dense", "sdpa" or "auto"'
        )
    if caches is not None:
        check_padding(caches[0])
