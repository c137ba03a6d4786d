"""A text of random tokens, twice, in which heads show what they do."""

import torch
from jaxtyping import Int64
from torch import Tensor

from attention_src.models.smollm2.experiments import ORDINARY
from attention_src.shapes import check_size

START = 1  # <|im_start|>, which begins the texts of random tokens


def repeated(n: int, seed: int = 0) -> Int64[Tensor, "n_twice_plus_1"]:
    """Make a text of <|im_start|> and n random tokens, twice.

    Args:
        n: at least 2
        seed: of the random tokens
    Returns: int64 [2 n + 1]
    Raises:
        ValueError: n below 2
    """
    n = check_size(n, "n", at_least=2)
    r = torch.randint(
        *ORDINARY, (n,), generator=torch.Generator().manual_seed(check_size(seed, "seed"))
    )
    return torch.cat([torch.tensor([START]), r, r])
