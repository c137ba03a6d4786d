"""MiniLM's tokenizer in plain Python: words, then the longest pieces of them in the vocabulary.

    vocabulary = read_vocabulary(path)  # vocab.txt
    tokens, ids = tokenize("Crème brûlée!", vocabulary)
    tokens  # ['[CLS]', 'creme', 'br', '##ule', '##e', '!', '[SEP]']

The package tokenizers does the same, and so does the worker of the page in JavaScript.
Source: Devlin et al. 2019, arXiv:1810.04805; Wu et al. 2016, arXiv:1609.08144, section 4.1.
"""

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from attention_src.models.minilm.characters import DROPPED, HAN, MARKS, SIGNS, one_of

SPECIAL = re.compile(r"(\[(?:PAD|UNK|CLS|SEP|MASK)\])")  # may be typed: [MASK] hides a word
UNKNOWN, FIRST, LAST = "[UNK]", "[CLS]", "[SEP]"
LONGEST = 100  # characters; a longer word is unknown
DROP, MARK, SIGN, HAN_CHARACTER = map(one_of, (DROPPED, MARKS, SIGNS, HAN))


class Encoded(NamedTuple):
    """A text cut into tokens, and their numbers."""

    tokens: list[str]
    ids: list[int]


class WordPiece:
    """A vocabulary and what is asked of it, under the names that the package tokenizers gives."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        self.vocabulary = vocabulary

    def encode(self, text: str) -> Encoded:
        """The tokens of a text, from [CLS] to [SEP]: see `tokenize`.

        Args:
            text: to encode
        Returns: an Encoded
        """
        return Encoded(*tokenize(text, self.vocabulary))

    def get_vocab(self) -> dict[str, int]:
        """The vocabulary.

        Returns: token to number; a copy
        """
        return dict(self.vocabulary)

    def token_to_id(self, token: str) -> int | None:
        """The number of a token.

        Args:
            token: such as "##le"
        Returns: its number, None if there is no such token
        """
        return self.vocabulary.get(token)


def read_vocabulary(path: Path) -> dict[str, int]:
    """Read a vocabulary: a token a line, numbered from 0.

    Args:
        path: of vocab.txt
    Returns: token to number
    Raises:
        ValueError: it is not UTF-8; a line is empty or comes twice; [CLS], [SEP], [UNK] are missing
    """
    try:
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: this is no vocabulary, it is not UTF-8: {error}") from None
    numbers = {token: number for number, token in enumerate(lines)}
    if "" in numbers or len(numbers) < len(lines) or not {FIRST, LAST, UNKNOWN} <= numbers.keys():
        raise ValueError(
            f"{path}: a vocabulary should have a token a line, each once, with {FIRST}, {LAST} and "
            f"{UNKNOWN} among them; this one was cut off or altered"
        )
    return numbers


def tokenize(text: str, vocabulary: Mapping[str, int]) -> tuple[list[str], list[int]]:
    """Cut a text into tokens.

    Args:
        text: any string
        vocabulary: token to number
    Returns:
        tokens: [CLS], the pieces of the text, [SEP]; a piece inside a word begins with ##
        ids: their numbers
    """
    tokens = [FIRST]
    for part in SPECIAL.split(text):
        if SPECIAL.fullmatch(part):
            tokens.append(part)
        else:
            tokens += [piece for word in _words(part) for piece in _pieces(word, vocabulary)]
    tokens.append(LAST)
    return tokens, [vocabulary[token] for token in tokens]


def _words(text: str) -> list[str]:
    """Without control characters and accents, in lower case; signs and Han characters alone."""
    cleaned = HAN_CHARACTER.sub(r" \g<0> ", DROP.sub("", text))
    plain = MARK.sub("", unicodedata.normalize("NFD", cleaned))
    small = "".join(c.lower() for c in plain)  # one by one: a Σ at the end of a word stays a σ
    return SIGN.sub(r" \g<0> ", small).split()


def _pieces(word: str, vocabulary: Mapping[str, int]) -> list[str]:
    """The longest piece that a word begins with, then the longest that its rest begins with, …"""
    if len(word) > LONGEST:
        return [UNKNOWN]
    found, start = [], 0
    while start < len(word):
        prefix = "##" if start else ""
        ends = range(len(word), start, -1)
        end = next((end for end in ends if prefix + word[start:end] in vocabulary), None)
        if end is None:
            return [UNKNOWN]
        found.append(prefix + word[start:end])
        start = end
    return found
