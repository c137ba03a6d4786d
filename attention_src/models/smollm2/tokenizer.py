"""SmolLM2's tokenizer, built from the metadata of its GGUF file, and its chat format.

Byte-level BPE over 49,152 tokens: each digit is a token of its own, and a space belongs to the word
after it. `<|im_start|>` and `<|im_end|>` are single tokens wherever they occur in a text.
"""

from collections.abc import Sequence
from typing import Any

from attention_src.models.packages import require
from attention_src.shapes import check_shape, check_whole

SPECIAL = 3  # the token type of special tokens such as <|im_start|>
ROLES = ("system", "user", "assistant")
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
MODEL, SPLITTING = "gpt2", "smollm"  # the tokenizer's names in the file


class Tokenizer:
    """Converts text to token ids and back.

    Args:
        metadata: of the GGUF file
    Raises:
        ValueError: the metadata describe another tokenizer, or none
        ImportError: the package tokenizers is not installed; gives the command to install it
    Source: Sennrich et al. 2016, arXiv:1508.07909 (BPE); Radford et al. 2019 (on bytes).
    """

    def __init__(self, metadata: dict[str, Any]) -> None:
        self._tokenizer = _build(metadata)
        self.end = _entry(metadata, "tokenizer.ggml.eos_token_id", int)
        if not 0 <= self.end < len(self):
            raise ValueError(
                f"tokenizer.ggml.eos_token_id is {self.end}; ids are from 0 to {len(self) - 1}"
            )

    def __len__(self) -> int:
        return self._tokenizer.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """Token ids of a text, with nothing added before or after.

        The vocabulary has no tokens for six control characters (U+0004, 06, 13, 14, 16, 1D) and
        the unassigned code points from U+40000 to U+BFFFF: these are dropped.

        Args:
            text: may be empty
        Returns: ids
        Raises:
            ValueError: text is not a string, or holds half of a surrogate pair
        """
        if not isinstance(text, str):
            raise ValueError(f"text is a {type(text).__name__}; it should be a string")
        try:
            return self._tokenizer.encode(text).ids
        except TypeError:
            raise ValueError("text holds half of a surrogate pair, which is no character") from None

    def decode(self, ids: Sequence[int]) -> str:
        """The text of token ids, special tokens included; invalid UTF-8 becomes �.

        Args:
            ids: from 0 to the number of tokens - 1
        Returns: the text
        Raises:
            ValueError: an id that is no whole number, or out of range
        """
        checked = check_whole(ids, "ids", 0, len(self) - 1)
        check_shape(checked, "ids", "[n]", (checked.size,))
        return self._tokenizer.decode(checked.tolist(), skip_special_tokens=False)


def chat_prompt(messages: str | Sequence[dict[str, str]]) -> str:
    """Format a conversation as in the model's training, up to where it should answer.

        <|im_start|>user
        What is attention?<|im_end|>
        <|im_start|>assistant

    Args:
        messages: the user's message; or a list of {"role": …, "content": …}, role "system",
            "user" or "assistant". Without a system message, the model's default comes first.
    Returns: the text; it ends where the assistant's next message begins
    Raises:
        ValueError: no message, or one without exactly a role and a content
    """
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    if not isinstance(messages, Sequence):
        raise ValueError(f"messages is {messages!r}; it should be a text or a list of messages")
    conversation: list[Any] = list(messages)
    if not conversation:
        raise ValueError("messages is empty; it should hold at least one message")
    for i, message in enumerate(conversation):
        _check_message(message, i)
    if conversation[0]["role"] != "system":
        conversation.insert(0, {"role": "system", "content": SYSTEM})
    turns = [f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in conversation]
    return "".join(turns) + "<|im_start|>assistant\n"


def _check_message(message: Any, i: int) -> None:
    if not isinstance(message, dict) or set(message) != {"role", "content"}:
        raise ValueError(
            f"messages[{i}] is {message!r}; it should be a dict with a role and a content"
        )
    if message["role"] not in ROLES or not isinstance(message["content"], str):
        raise ValueError(
            f"messages[{i}] has role {message['role']!r} and a content of type "
            f"{type(message['content']).__name__}; it should be one of {ROLES}, and a string"
        )


def _build(metadata: dict[str, Any]) -> Any:
    require("tokenizers")
    from tokenizers import AddedToken, decoders, models, pre_tokenizers
    from tokenizers import Tokenizer as FastTokenizer

    for key, expected in (("model", MODEL), ("pre", SPLITTING)):
        found = _entry(metadata, f"tokenizer.ggml.{key}", str)
        if found != expected:
            raise ValueError(f"tokenizer.ggml.{key} is {found!r}; it should be {expected!r}")
    tokens, merges, types = (
        _entry(metadata, f"tokenizer.ggml.{key}", list)
        for key in ("tokens", "merges", "token_type")
    )
    if len(types) != len(tokens):
        raise ValueError(
            f"tokenizer.ggml.token_type has {len(types)} entries for {len(tokens)} tokens"
        )
    for key, entries in (("tokens", tokens), ("merges", merges)):
        if not all(isinstance(entry, str) for entry in entries):
            raise ValueError(f"tokenizer.ggml.{key} should hold nothing but strings")
    vocabulary = {token: i for i, token in enumerate(tokens)}
    if len(vocabulary) != len(tokens):
        raise ValueError("tokenizer.ggml.tokens holds a token twice")
    try:
        bpe = models.BPE(vocab=vocabulary, merges=[_pair(merge) for merge in merges])
    except Exception as error:  # tokenizers has no narrower one
        raise ValueError(f"tokenizer.ggml.merges do not fit the tokens: {error}") from None
    tokenizer = FastTokenizer(bpe)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special = [token for token, kind in zip(tokens, types, strict=True) if kind == SPECIAL]
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in special])
    return tokenizer


def _pair(merge: str) -> tuple[str, str]:
    left, _, right = merge.partition(" ")
    return left, right


def _entry(metadata: dict[str, Any], key: str, kind: type) -> Any:
    """One entry of the metadata; ValueError unless it is there and of this type."""
    if not isinstance(metadata.get(key), kind):
        raise ValueError(f"metadata {key!r} is {metadata.get(key)!r:.50}; it should be a {kind}")
    return metadata[key]
