"""Texts for the planted model. Which heads matter depends on the text."""

import numpy as np

from attention_src.models.planted.heads import MAX_TOKENS, START, VOCABULARY
from attention_src.shapes import check_size

LETTERS = VOCABULARY[1:]


def repeated(n: int = 10, seed: int = 0) -> list[str]:
    """START and n different random letters, twice: the second copy can be guessed from the first.

    Args:
        n: from 2 to 15
        seed: of the letters
    Returns: 2 n + 1 tokens
    Raises:
        ValueError: n below 2 or above 15
    """
    letters = _letters(check_size(n, "n", at_least=2), seed)
    return [START, *letters, *letters]


def refrain(n: int = 10, seed: int = 0) -> list[str]:
    """START, and one letter that comes again after each of n different ones: x a x b x c x.

    After a new letter, the letter that came most often is the right guess, and induction has
    nothing to go by. (After the refrain comes a new letter, which cannot be guessed.)

    Args:
        n: number of new letters, from 1 to 15
        seed: of the letters
    Returns: 2 n + 2 tokens
    Raises:
        ValueError: n below 1 or above 15
    """
    again, *new = _letters(check_size(n, "n", at_least=1), seed, more=1)
    return [START, again, *(x for letter in new for x in (letter, again))]


def _letters(n: int, seed: int, more: int = 0) -> list[str]:
    """n + more different random letters."""
    if n > MAX_TOKENS // 2 - 1:
        raise ValueError(f"n is {n}; it should be at most {MAX_TOKENS // 2 - 1}")
    rng = np.random.default_rng(check_size(seed, "seed"))
    return rng.choice(LETTERS, n + more, replace=False).tolist()
