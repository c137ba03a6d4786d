"""SmolLM2's tokenizer in plain Python: words, each as bytes, then the merges that apply.

Each digit is a word of its own, and a space belongs to the word after it. The package tokenizers
does the same faster (`smollm2.tokenizer`).
Source: Sennrich et al. 2016, arXiv:1508.07909 (BPE); Radford et al. 2019 (on bytes, and WORD).
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from attention_src.shapes import check_whole

SPECIAL = 3  # the type of tokens such as <|im_start|>
END = "<|im_end|>"
# A byte is written as a character: printable ones of Latin-1 as they are, the others from 256 on.
PLAIN = [*range(33, 127), *range(161, 173), *range(174, 256)]
OTHERS = [byte for byte in range(256) if byte not in PLAIN]
WRITTEN = {byte: chr(byte) for byte in PLAIN}
WRITTEN |= {byte: chr(256 + i) for i, byte in enumerate(OTHERS)}
BYTE = {character: byte for byte, character in WRITTEN.items()}
# GPT-2 cuts a text by this pattern, which Python's re cannot read:
#     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
# So it is asked of a text in which `_kind` has replaced each character.
WORD = re.compile(r"'(?:[stmd]|re|ve|ll)| ?[Lstmdrevl]+| ?[O']+|[ S]+(?![^ S])|[ S]+")
DIGITS = re.compile("N|[^N]+")


class BPE:
    """Converts text to token ids and back.

    Args:
        tokens: by id
        merges: pairs of tokens, "a b", the earliest first
        special: tokens that a text may hold, and that nothing cuts
    """

    def __init__(self, tokens: list[str], merges: list[str], special: list[str]) -> None:
        self.tokens = tokens
        self.ids = {token: i for i, token in enumerate(tokens)}
        self.ranks = {merge: rank for rank, merge in enumerate(merges)}
        self.special = frozenset(special)
        longest = sorted(special, key=len, reverse=True)
        self._special = re.compile("(" + "|".join(map(re.escape, longest)) + ")")
        self.end = self.ids[END]

    @classmethod
    def of(cls, metadata: dict[str, Any]) -> "BPE":
        """Read it from a file's metadata.

        Args:
            metadata: of SmolLM2's GGUF file
        Returns: a BPE
        Raises:
            ValueError: the metadata describe another tokenizer, or none
        """
        for key, expected in (("model", "gpt2"), ("pre", "smollm")):
            found = metadata.get(f"tokenizer.ggml.{key}")
            if found != expected:
                raise ValueError(f"tokenizer.ggml.{key} is {found!r}; it should be {expected!r}")
        tokens, merges = (_listed(metadata, name, str) for name in ("tokens", "merges"))
        types = _listed(metadata, "token_type", int)
        if len(types) != len(tokens) or END not in tokens:
            raise ValueError(
                f"tokenizer.ggml.tokens holds {len(tokens)} tokens; it should hold {END}, and one "
                f"for each of the {len(types)} entries of token_type"
            )
        pairs = zip(tokens, types, strict=True)
        return cls(tokens, merges, [token for token, kind in pairs if kind == SPECIAL])

    def encode(self, text: str) -> list[int]:
        """Token ids of a text; bytes that no token stands for are dropped.

        Args:
            text: may be empty
        Returns: ids
        """
        found: list[int] = []
        for part in self._special.split(text):
            if part in self.special:
                found.append(self.ids[part])
            else:
                found += [i for word in _words(part) for i in self._pieces(word)]
        return found

    def decode(self, ids: Sequence[int]) -> str:
        """The text of token ids, special tokens included; invalid UTF-8 becomes �.

        Args:
            ids: [n], from 0 to the number of tokens - 1
        Returns: the text
        Raises:
            ValueError: an id that is no whole number, or out of range
        """
        checked = check_whole(ids, "ids", 0, len(self.tokens) - 1).tolist()
        return b"".join(map(self._bytes, checked)).decode("utf-8", "replace")

    def _bytes(self, i: int) -> bytes:
        token = self.tokens[i]
        return token.encode() if token in self.special else bytes(BYTE[c] for c in token)

    def _pieces(self, word: str) -> list[int]:
        """Merge the pair of neighbours that comes first in the list, until there is none."""
        written = (WRITTEN[byte] for byte in word.encode())
        parts = [character for character in written if character in self.ids]
        never = len(self.ranks)
        while len(parts) > 1:
            pairs = (f"{a} {b}" for a, b in pairwise(parts))
            rank, at = min((self.ranks.get(pair, never), at) for at, pair in enumerate(pairs))
            if rank == never:
                break
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        return [self.ids[part] for part in parts]


def _listed(metadata: dict[str, Any], name: str, kind: type) -> list:
    entries = metadata.get(f"tokenizer.ggml.{name}")
    if not isinstance(entries, list) or not all(isinstance(entry, kind) for entry in entries):
        raise ValueError(f"tokenizer.ggml.{name} should be a list of {kind.__name__}")
    return entries


def _words(text: str) -> Iterator[str]:
    """Each digit by itself, and what lies between digits as GPT-2 cuts it."""
    kinds = "".join(map(_kind, text))
    for run in DIGITS.finditer(kinds):
        if run[0] == "N":
            yield text[run.start()]
            continue
        for word in WORD.finditer(run[0]):
            yield text[run.start() + word.start() : run.start() + word.end()]


def _kind(c: str) -> str:
    """A letter, digit, space or other, as L, N, S, O; what WORD names stands for itself."""
    if c in " 'stmdrevl":
        return c
    if c.isspace() and c not in "\x1c\x1d\x1e\x1f":
        return "S"
    return {"L": "L", "N": "N"}.get(unicodedata.category(c)[0], "O")
