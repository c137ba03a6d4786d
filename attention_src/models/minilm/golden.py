"""An independent implementation's result for one sentence, to compare with.

transformers' BertModel (eager attention) read the sentence with MiniLM's weights, rounded as
`MiniLM.load()` rounds them. The result is in recorded.npz beside this file, because a learner's
machine may not have transformers. The tests run it again and compare. To rewrite the file:

    python -m attention_src.models.minilm.golden
"""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float

from attention_src.models.install import folder

if TYPE_CHECKING:
    import torch

TEXT = "The cat sat on the mat"
FILE = Path(__file__).with_name("recorded.npz")


class Recorded(NamedTuple):
    """One run: text, tokens, last hidden states, weights, and what computed them."""

    text: str
    tokens: list[str]
    hidden: Float[np.ndarray, "n d_model"]
    weights: Float[np.ndarray, "L H n n"]
    made_with: str


def load_recorded() -> Recorded:
    """Read the recorded run.

    Returns: a Recorded; made_with names the implementation and its version
    """
    with np.load(FILE) as saved:
        return Recorded(
            TEXT,
            [str(token) for token in saved["tokens"]],
            saved["hidden"],
            saved["weights"],
            str(saved["made_with"]),
        )


def round_to_float16(network: "torch.nn.Module") -> None:
    """Round the weights of a network of float32 numbers, as `MiniLM.load()` does; in place.

    Args:
        network: any module of torch
    """
    for parameter in network.parameters():
        parameter.data = parameter.data.half().float()


def run_transformers(text: str) -> Recorded:
    """Run transformers' BertModel with MiniLM's weights, rounded to float16, on a text.

    Args:
        text: to encode
    Returns: a Recorded
    Raises:
        ImportError: torch, transformers or the weights are not installed
    """
    import torch
    import transformers

    path = str(folder("minilm") / "model")
    tokenizer = transformers.AutoTokenizer.from_pretrained(path, local_files_only=True)
    # Only the eager implementation returns its weights.
    network = transformers.BertModel.from_pretrained(
        path, attn_implementation="eager", local_files_only=True
    ).eval()
    round_to_float16(network)
    batch = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        out = network(**batch, output_attentions=True)
    return Recorded(
        text,
        list(tokenizer.convert_ids_to_tokens(batch["input_ids"][0])),
        out.last_hidden_state[0].numpy(),
        np.stack([weights[0].numpy() for weights in out.attentions]),
        f"transformers {transformers.__version__}",
    )


if __name__ == "__main__":
    run = run_transformers(TEXT)
    np.savez_compressed(
        FILE, tokens=run.tokens, hidden=run.hidden, weights=run.weights, made_with=run.made_with
    )
    print(f"{FILE}: {run.text!r} by {run.made_with}")
