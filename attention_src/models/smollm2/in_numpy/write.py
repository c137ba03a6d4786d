"""A text by `in_numpy.listing`, token by token."""

from collections.abc import Iterator
from typing import Any

from attention_src.models.smollm2.in_numpy.listing import Storage, forward
from attention_src.models.smollm2.in_numpy.weights import Model


def write(model: Model, prompt: str, n_new: int, parts: Any = None) -> Iterator[str]:
    """Continue a text, always with the most probable token.

    Args:
        model: from `weights.load`
        prompt: the text
        n_new: tokens at most; the model may end its text before
        parts: as for `listing.forward`
    Yields: the text of each token; "" within a character, which the next one completes
    Raises:
        ValueError: no token in prompt, or more tokens in all than the model was trained for
    """
    ids, most = model.tokenizer.encode(prompt), model.config.max_tokens
    if not ids:
        raise ValueError(f"prompt is {prompt!r}; it should hold at least one token")
    if len(ids) + n_new > most:
        raise ValueError(f"prompt has {len(ids)} tokens, and n_new is {n_new}: more than {most}")
    storage = Storage.empty(model.config, len(ids) + n_new)
    waiting: list[int] = []
    for _ in range(n_new):
        token = int(forward(model, ids, storage, parts, last=True)[0].argmax())
        if token in (model.tokenizer.end, 0):  # <|im_end|>, <|endoftext|>
            break
        ids = [token]
        waiting.append(token)
        text = model.tokenizer.decode(waiting)
        if text.endswith("\ufffd"):
            yield ""
        else:
            waiting = []
            yield text
    if waiting:
        yield model.tokenizer.decode(waiting)
