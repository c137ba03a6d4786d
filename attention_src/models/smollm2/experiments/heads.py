"""What single heads of SmolLM2 do, and what is lost without them. Each takes a few seconds.

Each experiment has small defaults, reports its steps to `progress` (None = silent) and returns
numbers, without figures or timings.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from attention_src.models.smollm2 import SmolLM2
from attention_src.models.smollm2.experiments import ORDINARY, Progress, corpus_ids, say
from attention_src.models.smollm2.trace import Ablation, Head
from attention_src.shapes import check_size

START = 1  # <|im_start|>, which begins the texts of random tokens


@dataclass(frozen=True)
class Sinks:
    """How much attention the first token receives.

    share: [L, H]  mean weight of later queries on token 0
    uniform: the same with uniform attention
    norms: [L + 1, n]  norm of each hidden state after 0 … L layers
    """

    share: Float32[Tensor, "L H"]
    uniform: float
    norms: Float32[Tensor, "L_1 n"]


def attention_sinks(
    model: SmolLM2, ids: Any = None, *, skip: int = 16, progress: Progress = print
) -> Sinks:
    """Measure how much of the attention goes to the first token.

        share[l, h] = mean over queries i >= skip of p[l, h, i, 0]

    Args:
        model: SmolLM2
        ids: [n]  token ids; None = 256 tokens of the course's text on rivers
        skip: leave out this many first queries, which have few keys
        progress: called with a line for each step; None = silent
    Returns: Sinks
    Raises:
        ValueError: skip leaves no queries
    Cost: one pass of 256 tokens, and 71 MB for its weights.
    Source: Xiao et al. 2023 (StreamingLLM), arXiv:2309.17453, section 3.1; the norms: Sun et al.
        2024, arXiv:2402.17762 ("massive activations").
    """
    ids = corpus_ids(model, 256) if ids is None else torch.as_tensor(ids)
    if not 0 <= skip < len(ids):
        raise ValueError(
            f"skip is {skip}; it should be from 0 to the {len(ids) - 1} of the last token"
        )
    say(progress, f"sinks: one pass over {len(ids)} tokens")
    trace = model.trace(ids, keep=("weights", "hidden"))
    assert trace.weights is not None
    share = trace.weights[:, :, skip:, 0].mean(dim=-1)
    uniform = sum(1 / (i + 1) for i in range(skip, len(ids))) / (len(ids) - skip)
    return Sinks(share, uniform, trace.norms)


@dataclass(frozen=True)
class HeadScores:
    """Which heads attend to the previous token, and which to what followed last time.

    induction: [L, H]  mean weight on the token after the same token's earlier occurrence
    previous: [L, H]  mean weight on the token before, in ordinary text
    first, second: mean nll of random tokens the first time and, repeated, the second time
    """

    induction: Float32[Tensor, "L H"]
    previous: Float32[Tensor, "L H"]
    first: float
    second: float

    def top(self, score: str, n: int = 3) -> list[Head]:
        """The heads with the highest scores.

        Args:
            score: "induction" or "previous"
            n: number of heads
        Returns: (layer, head) pairs, highest score first
        """
        scores = {"induction": self.induction, "previous": self.previous}[score]
        order = scores.flatten().argsort(descending=True)[:n].tolist()
        return [divmod(i, scores.shape[1]) for i in order]


def head_scores(
    model: SmolLM2, *, n: int = 50, seed: int = 0, progress: Progress = print
) -> HeadScores:
    """Find induction heads and previous-token heads.

        text: <|im_start|> r_1 … r_n r_1 … r_n,  r random tokens
        induction[l, h] = mean over the second r_i of the weight on the first r_{i+1}

    Random tokens cannot be guessed: the model can predict the second copy only from the first.

    Args:
        model: SmolLM2
        n: number of random tokens, each of which comes twice
        seed: of the random tokens
        progress: as for `attention_sinks`
    Returns: HeadScores
    Raises:
        ValueError: n below 2
    Cost: a pass of 2 n tokens and one of 256.
    Source: Olsson et al. 2022, arXiv:2209.11895, "Key concepts".
    """
    ids = repeated(n, seed)
    say(progress, f"heads: {n} random tokens, twice")
    trace = model.trace(ids, keep="weights")
    second = torch.arange(n + 1, 2 * n)  # queries: the second copy without its last token
    assert trace.weights is not None
    induction = trace.weights[:, :, second, second - n + 1].mean(dim=-1)
    nll = torch.nn.functional.cross_entropy(trace.logits[:-1], ids[1:], reduction="none")
    say(progress, "heads: 256 tokens of text")
    weights = model.trace(corpus_ids(model, 256), keep="weights").weights
    assert weights is not None
    previous = weights.diagonal(offset=-1, dim1=-2, dim2=-1)[..., 15:].mean(dim=-1)
    return HeadScores(induction, previous, float(nll[:n].mean()), float(nll[n:].mean()))


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
    r = torch.randint(*ORDINARY, (n,), generator=torch.Generator().manual_seed(seed))
    return torch.cat([torch.tensor([START]), r, r])


@dataclass(frozen=True)
class Without:
    """Mean nll as pairs (with all heads, without some).

    copy: on the second copy of random tokens
    prose: on ordinary text
    """

    copy: tuple[float, float]
    prose: tuple[float, float]


def without_heads(
    model: SmolLM2,
    heads: Iterable[Head],
    *,
    n: int = 50,
    seed: int = 0,
    progress: Progress = print,
) -> Without:
    """Set the output of heads to 0, and measure what the model can no longer do.

    Args:
        model: SmolLM2
        heads: (layer, head) pairs
        n, seed, progress: as for `head_scores`
    Returns: Without
    Raises:
        ValueError: a head that does not exist
    Cost: two passes of 2 n tokens and two of 256.
    Source: Olsson et al. 2022, arXiv:2209.11895, "Argument 3".
    """
    ids, prose = repeated(n, seed), corpus_ids(model, 256)
    heads = list(heads)
    probes = Ablation((), model.config), Ablation(heads, model.config)
    copies, proses = [], []
    for name, probe in zip(("all heads", f"without {heads}"), probes, strict=True):
        say(progress, f"ablation: {name}")
        copies.append(float(model.nll(ids, probe=probe)[n:].mean()))
        proses.append(float(model.nll(prose, probe=probe).mean()))
    return Without((copies[0], copies[1]), (proses[0], proses[1]))
