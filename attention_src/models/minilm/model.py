"""MiniLM, a real sentence encoder, on the course's own attention, in NumPy.

all-MiniLM-L6-v2: a BERT encoder of 6 layers with 12 heads each, d_model = 384, d_k = d_v = 32,
trained to give sentences of similar meaning similar embeddings. Layers and heads count from 0, and
"L3H5" is head 5 of layer 3.

    model = MiniLM.load()
    tokens, hidden, weights = model.encode("The cat sat on the mat")
    weights[3, 5]  # [n, n]: row i holds the attention weights of token i in head L3H5
"""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from attention_src.attention.reference import attention, attention_weights
from attention_src.errstate import own_errstate
from attention_src.models.formats.safetensors import read_safetensors
from attention_src.models.heads import Head, check_head, check_layer
from attention_src.models.install import folder
from attention_src.models.minilm.gelu import gelu
from attention_src.models.minilm.in_page import read_own_file
from attention_src.models.minilm.wordpiece import WordPiece, read_vocabulary
from attention_src.multihead.reference import merge_heads, split_heads
from attention_src.shapes import as_array

N_LAYERS, N_HEADS, D_MODEL, MAX_TOKENS = 6, 12, 384, 512
D_HEAD = D_MODEL // N_HEADS
EPSILON = 1e-12
IN_PAGE = sys.platform == "emscripten"


@dataclass(frozen=True)
class Encoding:
    """An encoded text with all intermediate values.

    tokens: n strings, the first [CLS], the last [SEP]
    layers: [7, n, 384]  hidden states: of the embedding, then after each of the 6 layers
    weights: [6, 12, n, n]  attention weights; each row sums to 1
    values: [6, 12, n, 32]  the values that the weights average
    """

    tokens: list[str]
    layers: Float[np.ndarray, "L_1 n d_model"]
    weights: Float[np.ndarray, "L H n n"]
    values: Float[np.ndarray, "L H n d_v"]


class MiniLM:
    """The encoder: weights, tokenizer and forward pass. Create it with `MiniLM.load()`."""

    def __init__(self, parameters: dict[str, np.ndarray], tokenizer: WordPiece) -> None:
        self.parameters = parameters
        self.tokenizer = tokenizer

    @classmethod
    @own_errstate()
    def load(cls) -> "MiniLM":
        """Load the installed weights, rounded to float16; nothing is downloaded.

        The page reads them as float16, for half the bytes. Here they are rounded too, so that page
        and notebook print the same. On the plain sentences of the course it changes attention
        weights by at most 0.0012, embeddings by 1 - cos < 1e-6. All computing is in float32.

        Returns: a MiniLM
        Raises:
            ImportError: the weights, or the package safetensors, are not installed; gives the
                command to install them
            ValueError: the file was cut off or altered
        Cost: 0.3 s and 91 MB.
        Source: Wang et al. 2020, arXiv:2002.10957; Reimers & Gurevych 2019, arXiv:1908.10084.
        """
        model = folder("minilm") / "model"
        read = read_own_file if IN_PAGE else read_safetensors
        found = read(model / "model.safetensors")
        parameters = {name: _rounded(found.pop(name)) for name in list(found)}
        return cls(parameters, WordPiece(read_vocabulary(model / "vocab.txt")))

    @property
    def token_embeddings(self) -> Float[np.ndarray, "30522 384"]:
        """[30522, 384]  the embedding of each token of the vocabulary, before any layer."""
        return self.parameters["embeddings.word_embeddings.weight"]

    def head_output_weights(self, layer: int, head: int) -> Float[np.ndarray, "d_v d_model"]:
        """The rows of W_O that map one head's output into the hidden state.

        Args:
            layer, head: counted from 0
        Returns: [32, 384]
        Raises:
            ValueError: there is no such head
        """
        layer, head = check_head((layer, head), "head", N_LAYERS, N_HEADS)
        w_o = self.parameters[f"encoder.layer.{layer}.attention.output.dense.weight"].T
        return w_o[head * D_HEAD : (head + 1) * D_HEAD]

    @own_errstate()
    def encode(
        self, text: str, *, ablate: Iterable[Head] = ()
    ) -> tuple[list[str], Float[np.ndarray, "n 384"], Float[np.ndarray, "6 12 n n"]]:
        """Encode a text; return its last hidden states and every head's attention weights.

        Args:
            text: at most 512 tokens with [CLS] and [SEP]
            ablate: (layer, head) pairs whose output is set to 0
        Returns:
            tokens: n strings, the first [CLS], the last [SEP]
            hidden: [n, 384]  the last layer's hidden states
            weights: [6, 12, n, n]  attention weights: layer, head, query, key
        Raises:
            ValueError: text is empty or too long; there is no such head
        Cost: n (21.2e6 + 13824 n) FLOP: the scores are computed twice, for weights and output.
        """
        encoding = self.trace(text, ablate=ablate)
        return encoding.tokens, encoding.layers[-1], encoding.weights

    @own_errstate()
    def embed(
        self, text: str, *, ablate: Iterable[Head] = (), replace: Mapping[Head, Any] | None = None
    ) -> Float[np.ndarray, "384"]:
        """The sentence embedding, the output that the model was trained for.

            e = mean_i hidden_i / ||mean_i hidden_i||

        Args:
            text, ablate, replace: as for `trace`
        Returns: [384]  of length 1, so that a dot product of two is their cosine
        Raises:
            ValueError: as `trace`
        """
        mean = self.trace(text, ablate=ablate, replace=replace).layers[-1].mean(axis=0)
        return mean / np.linalg.norm(mean)

    @own_errstate()
    def trace(
        self, text: str, *, ablate: Iterable[Head] = (), replace: Mapping[Head, Any] | None = None
    ) -> Encoding:
        """Run the encoder and keep intermediate values; heads can be ablated or given weights.

        Args:
            text: at most 512 tokens with [CLS] and [SEP]
            ablate: (layer, head) pairs whose output is set to 0
            replace: maps (layer, head) to weights [n, n] that replace the computed ones
        Returns: an Encoding
        Raises:
            ValueError: text is empty or too long; there is no such head; replaced weights do not
                fit
        """
        tokens, ids = self._tokenize(text)
        ablate = [check_head(head, "ablate", N_LAYERS, N_HEADS) for head in ablate]
        replace = _check_replace(replace or {}, len(ids))
        x = self._embed_tokens(ids)
        layers, weights, values = [x], [], []
        for layer in range(N_LAYERS):
            q, k, v = (self._project(layer, name, x) for name in ("query", "key", "value"))
            p, o = attention_weights(q, k), attention(q, k, v)  # [12, n, n], [12, n, 32]
            for _, head in (at for at in replace if at[0] == layer):
                p[head] = replace[layer, head]
                o[head] = p[head] @ v[head]
            for _, head in (at for at in ablate if at[0] == layer):
                o[head] = 0
            x = self.layer(layer, x, o)
            layers.append(x)
            weights.append(p)
            values.append(v)
        return Encoding(tokens, np.stack(layers), np.stack(weights), np.stack(values))

    @own_errstate()
    def attend(self, layer: int, x: Float[np.ndarray, "*runs n 384"]) -> np.ndarray:
        """The outputs of the heads of a layer.

        Args:
            layer: counted from 0
            x: [..., n, 384]  hidden states before that layer, of one text or several runs of it
        Returns: [..., 12, n, 32]
        Raises:
            ValueError: there is no such layer
        """
        layer = check_layer(layer, N_LAYERS)
        return attention(*(self._project(layer, name, x) for name in ("query", "key", "value")))

    @own_errstate()
    def layer(
        self,
        layer: int,
        x: Float[np.ndarray, "*one_or_runs n 384"],
        o: Float[np.ndarray, "*runs 12 n 32"],
    ) -> Float[np.ndarray, "*runs n 384"]:
        """A layer's result, given its input and the outputs of its heads.

        Args:
            layer: counted from 0
            x: [..., n, 384]  hidden states before that layer; one run's serve for all
            o: [..., 12, n, 32]  from `attend`, or changed
        Returns: [..., n, 384]  hidden states after it
        Raises:
            ValueError: there is no such layer
        """
        return self._after_attention(check_layer(layer, N_LAYERS), x, merge_heads(o))

    def _tokenize(self, text: str) -> tuple[list[str], list[int]]:
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"text={text!r}: it must be a string with at least one word")
        encoded = self.tokenizer.encode(text)
        if len(encoded.ids) > MAX_TOKENS:
            raise ValueError(
                f"text has {len(encoded.ids)} tokens, MiniLM reads at most {MAX_TOKENS}: shorten it"
            )
        return encoded.tokens, encoded.ids

    def _embed_tokens(self, ids: list[int]) -> np.ndarray:
        w = self.parameters
        positions = w["embeddings.position_embeddings.weight"][: len(ids)]
        segment = w["embeddings.token_type_embeddings.weight"][0]  # a single text is segment 0
        return self._normalize("embeddings", self.token_embeddings[ids] + positions + segment)

    def _linear(self, name: str, x: np.ndarray) -> np.ndarray:
        rows = x.reshape(-1, x.shape[-1])  # one large product, even for several runs
        y = rows @ self.parameters[f"{name}.weight"].T + self.parameters[f"{name}.bias"]
        return y.reshape(*x.shape[:-1], y.shape[-1])

    def _project(self, layer: int, role: str, x: np.ndarray) -> np.ndarray:
        """Queries, keys or values of all heads: [n, 384] -> [12, n, 32]."""
        return split_heads(self._linear(f"encoder.layer.{layer}.attention.self.{role}", x), N_HEADS)

    def _after_attention(self, layer: int, x: np.ndarray, o: np.ndarray) -> np.ndarray:
        """Output projection and feed-forward, each added to the hidden state, then normalised."""
        name = f"encoder.layer.{layer}"
        attended = self._linear(f"{name}.attention.output.dense", o)
        x = self._normalize(f"{name}.attention.output", x + attended)
        inner = gelu(self._linear(f"{name}.intermediate.dense", x))  # [n, 1536]
        return self._normalize(f"{name}.output", x + self._linear(f"{name}.output.dense", inner))

    def _normalize(self, name: str, x: np.ndarray) -> np.ndarray:
        """LayerNorm over the features of each token."""
        centred = x - x.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(EPSILON))
        w = self.parameters
        return centred / deviation * w[f"{name}.LayerNorm.weight"] + w[f"{name}.LayerNorm.bias"]


def _rounded(w: np.ndarray) -> np.ndarray:
    """To float16's precision, in float32; position numbers stay as they are."""
    return w.astype(np.float16).astype(np.float32) if w.dtype.kind == "f" else w


def _check_replace(replace: Mapping[Head, Any], n: int) -> dict[Head, np.ndarray]:
    checked = {}
    for at, weights in replace.items():
        p = as_array(weights, "replace").astype(np.float32)
        if p.shape != (n, n):
            raise ValueError(f"replace[{at}] has shape {p.shape}: this text needs {(n, n)}")
        checked[check_head(at, "replace", N_LAYERS, N_HEADS)] = p
    return checked
