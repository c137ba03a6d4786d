"""What to compare MiniLM with: itself with shuffled weights, or without each of its heads."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.errstate import own_errstate
from attention_src.models.minilm.model import D_HEAD, N_HEADS, N_LAYERS, MiniLM
from attention_src.shapes import as_array, check_size

SHAPE = (N_LAYERS, N_HEADS, D_HEAD)


@own_errstate()
def shuffled(model: MiniLM, seed: int) -> MiniLM:
    """The model with the entries of each weight matrix of its layers in random order.

    The same shape, the same sizes of weights, nothing learned but the embeddings, biases and norms:
    a baseline that is harder to beat than small random weights, whose maps are uniform.

    Args:
        model: MiniLM
        seed: of the order
    Returns: a MiniLM; embeddings, biases and norms are those of model
    """
    rng = np.random.default_rng(check_size(seed, "seed"))
    parameters = {
        name: rng.permutation(w.ravel()).reshape(w.shape)
        if w.ndim == 2 and name.startswith("encoder")
        else w
        for name, w in model.parameters.items()
    }
    return MiniLM(parameters, model.tokenizer)


@own_errstate()
def mean_outputs(model: MiniLM, texts: Iterable[str]) -> Float[np.ndarray, "6 12 32"]:
    """Each head's average output, over all tokens of some texts: what mean ablation puts in.

    Args:
        model: MiniLM
        texts: at least one
    Returns: [6, 12, 32]
    Raises:
        ValueError: no texts; a text that the model refuses
    """
    traces = [model.trace(text) for text in texts]
    if not traces:
        raise ValueError("texts is empty: there is nothing to average over")
    outputs = [t.weights @ t.values for t in traces]  # each [6, 12, n, 32]
    return np.concatenate(outputs, axis=2).mean(axis=2)


@own_errstate()
def embed_without_each(
    model: MiniLM, text: str, fill: Any = 0.0
) -> Float[np.ndarray, "6 12 d_model"]:
    """The sentence embedding without each of the 72 heads, one at a time.

    The layers below an ablated head are computed once, and the ablations run side by side.

    Args:
        model: MiniLM
        text: as for `MiniLM.trace`
        fill: what stands in for a head's output: 0, or [6, 12, 32] such as `mean_outputs` gives,
            or [6, 12, n, 32], another for each token
    Returns: [6, 12, 384]  of length 1; [l, h] is without head h of layer l
    Raises:
        ValueError: fill has another shape; a text that the model refuses
    """
    fill = as_array(fill, "fill").astype(np.float32)
    x = model.trace(text).layers[0]  # [n, 384]
    each = (*SHAPE[:2], len(x), D_HEAD)
    if fill.shape not in ((), SHAPE, each):
        raise ValueError(f"fill has shape {fill.shape}: it must be a number, {SHAPE} or {each}")
    fill = np.broadcast_to(fill[..., None, :] if fill.shape == SHAPE else fill, each)
    runs = np.empty((0, *x.shape), dtype=x.dtype)  # [heads ablated so far, n, 384]
    for layer in range(N_LAYERS):
        runs = model.layer(layer, runs, model.attend(layer, runs))
        o = model.attend(layer, x)  # [12, n, 32]
        without = np.repeat(o[None], N_HEADS, axis=0)  # [12, 12, n, 32]
        for head in range(N_HEADS):
            without[head, head] = fill[layer, head]
        runs = np.concatenate([runs, model.layer(layer, x, without)])
        x = model.layer(layer, x, o)
    mean = runs.mean(axis=1)
    return (mean / np.linalg.norm(mean, axis=-1, keepdims=True)).reshape(N_LAYERS, N_HEADS, -1)
