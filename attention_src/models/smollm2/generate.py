"""Generation: choose a token, append it, and ask again."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from attention_src.kvcache.cache import Cache
from attention_src.kvcache.layer import has_kernel
from attention_src.models.smollm2.caches import check_padding, is_none
from attention_src.models.smollm2.sampling import Choose, chooser
from attention_src.models.smollm2.tokenizer import Tokenizer, chat_prompt
from attention_src.shapes import check_size

STOP = ("<|im_end|>", "<|endoftext|>")


def generate(
    model: Any,
    prompt: str | Sequence[str],
    max_new_tokens: int,
    *,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    seed: int | None,
    stop: str | int | Iterable[str | int] | None,
    chat: bool,
    on_text: Callable[[str], Any] | None,
    cache: Any,
    impl: str,
) -> Any:
    """`SmolLM2.generate`, which says what the arguments mean."""
    one = isinstance(prompt, str)
    if on_text is not None and not one:
        raise ValueError("on_text is given, but prompt holds several texts; it should be None")
    prompts = _tokenize(model.tokenizer, [prompt] if isinstance(prompt, str) else prompt, chat)
    check_size(max_new_tokens, "max_new_tokens", at_least=1)
    _check_room(prompts, max_new_tokens, model.config.max_tokens)
    stops = stop_ids(model.tokenizer, stop)
    options: dict[str, Any] = dict(batch=len(prompts), device=model.device)
    choose = chooser(temperature, top_k, top_p, seed, **options)
    stream = Stream(model.tokenizer, on_text)
    caches = None
    if not is_none(cache):
        total = max(map(len, prompts)) + max_new_tokens
        caches = model.new_caches(cache, batch=len(prompts), max_tokens=total)
    texts = generate_ids(model, prompts, max_new_tokens, choose, stops, caches, impl, stream.add)
    stream.close()
    return model.decode(texts[0]) if one else [model.decode(ids) for ids in texts]


def generate_ids(
    model: Any,
    prompts: list[list[int]],
    max_new_tokens: int,
    choose: Choose,
    stops: frozenset[int],
    caches: list[Cache] | None,
    impl: str,
    on_token: Callable[[int], Any],
) -> list[list[int]]:
    """What follows each prompt, as token ids; `on_token` sees those of the first.

    The first pass reads the prompts, each later one a single new token of every text: the caches
    hold the others, and should be new. Without caches every pass reads everything. Shorter prompts
    are padded on the left, so that all texts end at the same column.
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
                if b == 0:
                    on_token(i)
        if all(done):
            break
        ids = torch.cat([ids, token[:, None]], dim=1)
        new = ids if caches is None else token[:, None]
    return texts


def pad_left(
    prompts: list[list[int]], device: Any
) -> tuple[Int64[Tensor, "B n"], Int64[Tensor, "B"]]:
    """Prompts in one tensor, ending together.

    Returns: ids [B, n], and how many columns of padding each row begins with
    """
    n = max(len(ids) for ids in prompts)
    rows = [[0] * (n - len(ids)) + ids for ids in prompts]
    padding = torch.tensor([n - len(ids) for ids in prompts], device=device)
    return torch.tensor(rows, device=device), padding


def visible_columns(padding: Int64[Tensor, "B"], n_k: int) -> Bool[Tensor, "B 1 1 n_k"]:
    """[B, 1, 1, n_k]  True where a column is no padding, for every head and query."""
    return (torch.arange(n_k, device=padding.device) >= padding[:, None])[:, None, None]


def stop_ids(tokenizer: Tokenizer, stop: str | int | Iterable[str | int] | None) -> frozenset[int]:
    """The tokens that end a text, as ids.

    Raises:
        ValueError: one that is no single token
    """
    if isinstance(stop, str | int):
        stop = (stop,)
    found = set()
    for token in stop or ():
        ids = tokenizer.encode(token) if isinstance(token, str) else [token]
        if len(ids) != 1:
            raise ValueError(f"stop holds {token!r}, which is {len(ids)} tokens; it should be one")
        if type(ids[0]) is not int or not 0 <= ids[0] < len(tokenizer):
            raise ValueError(
                f"stop holds {token!r}; it should hold texts, or ids from 0 to {len(tokenizer) - 1}"
            )
        found.add(ids[0])
    return frozenset(found)


class Stream:
    """Hands on text as soon as it is certain: a character may need several tokens.

    Args:
        tokenizer: knows what tokens say
        on_text: called with each new piece; None = nobody listens
    """

    def __init__(self, tokenizer: Tokenizer, on_text: Callable[[str], Any] | None) -> None:
        self._tokenizer, self._on_text = tokenizer, on_text
        self._waiting: list[int] = []

    def add(self, token: int) -> None:
        """One more token."""
        self._waiting.append(token)
        if self._on_text is not None and not self._text().endswith("\ufffd"):
            self.close()

    def close(self) -> None:
        """Hand on whatever waits, whole or not."""
        if self._on_text is not None and self._waiting:
            self._on_text(self._text())
        self._waiting = []

    def _text(self) -> str:
        return self._tokenizer.decode(self._waiting)


def _tokenize(tokenizer: Tokenizer, prompts: Sequence[str], chat: bool) -> list[list[int]]:
    """Each prompt's token ids, at least one; there is no token that could stand for nothing."""
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


def _check_room(prompts: list[list[int]], max_new_tokens: int, max_tokens: int) -> None:
    n = max(len(ids) for ids in prompts)
    if n + max_new_tokens > max_tokens:
        raise ValueError(
            f"prompt has {n} tokens and max_new_tokens is {max_new_tokens}: together more than the "
            f"{max_tokens} that the model was trained for"
        )


def _check_fit(ragged: bool, caches: Any, impl: str) -> None:
    """Refuse what could not be computed to the end, before anything is."""
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
