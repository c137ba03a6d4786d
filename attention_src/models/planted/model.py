"""A transformer of eight heads whose circuits are known, because they were written by hand.

It reads letters and guesses the next one. Two layers of four heads, causal, no feed-forward part,
no normalisation: x + sum over heads of attention(x w_q, x w_k, x w_v) w_o, twice. `heads.py` holds
the weights and says in a few lines what each head does.

    model = PlantedModel.load()
    trace = model.run("^abcab")
    trace.guesses[-1]   # "c": what followed "b" before
    model.truth         # {(0, 0): "previous", (0, 1): "sink", ...}
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from attention_src.attention.reference import attention, attention_weights
from attention_src.errstate import own_errstate
from attention_src.models.heads import Head, check_head
from attention_src.models.planted.checks import (
    N_HEADS,
    N_LAYERS,
    check_arrays,
    check_tokens,
)
from attention_src.models.planted.heads import (
    D_HEAD,
    D_MODEL,
    LAYERS,
    NEXT,
    OFFSET,
    POSITION,
    ROLES,
    START,
    TOKEN,
    VOCABULARY,
    V,
    Weights,
)


@dataclass(frozen=True)
class Trace:
    """A text that the model read, with everything it computed.

    tokens: n strings, the first "^"
    residual: [3, n, d_model]  the stream: the embedding, then after each of the 2 layers
    weights: [2, 4, n, n]  attention weights; each row sums to 1
    values: [2, 4, n, 32]  the values that the weights average
    heads: [2, 4, n, 32]  those averages, o
    outputs: [2, 4, n, d_model]  what each head adds to the stream, o w_o
    logits: [n, 27]  for the token after each
    """

    tokens: list[str]
    residual: Float[np.ndarray, "L_1 n d_model"]
    weights: Float[np.ndarray, "L H n n"]
    values: Float[np.ndarray, "L H n d_v"]
    heads: Float[np.ndarray, "L H n d_v"]
    outputs: Float[np.ndarray, "L H n d_model"]
    logits: Float[np.ndarray, "n vocab"]

    @property
    def guesses(self) -> list[str]:
        """The likeliest token after each token: n strings."""
        return [VOCABULARY[i] for i in self.logits.argmax(axis=-1)]

    @property
    @own_errstate()
    def nll(self) -> Float[np.ndarray, "n_1"]:
        """[n - 1]  the loss: -log of the probability of tokens 1, 2, …, given those before."""
        s = self.logits[:-1] - self.logits[:-1].max(axis=-1, keepdims=True)
        came = [VOCABULARY.index(token) for token in self.tokens[1:]]
        return np.log(np.exp(s).sum(axis=-1)) - s[np.arange(len(came)), came]


class PlantedModel:
    """The model: its heads' weights and their roles. Create it with `PlantedModel.load()`."""

    def __init__(self, roles: Mapping[Head, str]) -> None:
        self.truth = dict(roles)
        self._weights = {at: ROLES[role].make() for at, role in self.truth.items()}

    @classmethod
    def load(cls, *, shuffle: int | None = None, twin: bool = False) -> "PlantedModel":
        """Make the model.

        Args:
            shuffle: None = heads in the order of the documentation; a number is the seed that
                shuffles the heads of each layer, so that nobody knows where they are
            twin: the idle head becomes a second previous-token head: ablating one of the two then
                changes nothing, ablating both does
        Returns: a PlantedModel
        """
        rng = np.random.default_rng(shuffle)
        roles = {}
        for layer, names in enumerate(LAYERS):
            order = range(N_HEADS) if shuffle is None else rng.permutation(N_HEADS).tolist()
            for head, name in zip(order, names, strict=True):
                roles[layer, head] = "twin" if twin and name == "idle" else name
        return cls(dict(sorted(roles.items())))

    def find(self, role: str) -> Head:
        """Where the head with a role is.

        Args:
            role: one of `truth`'s values
        Returns: (layer, head)
        Raises:
            ValueError: no head has that role
        """
        for at, name in self.truth.items():
            if name == role:
                return at
        raise ValueError(f"role is {role!r}; it should be one of {sorted(self.truth.values())}")

    def where(self, *roles: str) -> Bool[np.ndarray, "L H"]:
        """Which heads have one of these roles, for `methods.grade`.

        Args:
            roles: values of `truth`
        Returns: bool [2, 4]
        Raises:
            ValueError: no head has one of them
        """
        mask = np.zeros((N_LAYERS, N_HEADS), dtype=bool)
        for role in roles:
            mask[self.find(role)] = True
        return mask

    def head(self, layer: int, head: int) -> Weights:
        """The weights of one head.

        Args:
            layer, head: counted from 0
        Returns: Weights, with w_q, w_k, w_v and w_o
        Raises:
            ValueError: there is no such head
        """
        return self._weights[check_head((layer, head), "head", N_LAYERS, N_HEADS)]

    @property
    def unembedding(self) -> Float[np.ndarray, "d_model vocab"]:
        """[d_model, 27]  logits = x @ unembedding: NEXT as it is, and OFFSET for START always."""
        w = np.zeros((D_MODEL, V))
        w[NEXT] = np.eye(V)
        w[TOKEN, VOCABULARY.index(START)] = OFFSET
        return w

    def embed(self, tokens: Iterable[str]) -> Float[np.ndarray, "n d_model"]:
        """A 1 for the letter and a 1 for the place.

        Args:
            tokens: a text, as for `run`
        Returns: [n, d_model]
        Raises:
            ValueError: as `run`
        """
        tokens = check_tokens(tokens)
        x = np.zeros((len(tokens), D_MODEL))
        for i, token in enumerate(tokens):
            x[i, TOKEN.start + VOCABULARY.index(token)] = 1
            x[i, POSITION.start + i] = 1
        return x

    @own_errstate()
    def run(
        self,
        tokens: Iterable[str],
        *,
        ablate: Iterable[Head] = (),
        replace: Mapping[Head, Any] | None = None,
        patch: Mapping[Head, Any] | None = None,
    ) -> Trace:
        """Read a text; heads can be silenced, given other weights, or given other outputs.

        Args:
            tokens: at most 32 letters a to z, the first "^": "^abcab" or a list
            ablate: (layer, head) pairs whose o is set to 0
            replace: maps (layer, head) to weights [n, n] that replace the computed ones
            patch: maps (layer, head) to o [n, 32] (or [32], for every token), which replaces what
                the head computed: of another text, or a mean over texts
        Returns: a Trace
        Raises:
            ValueError: a text that the model cannot read; no such head; replace or patch do not fit
        """
        tokens = check_tokens(tokens)
        n = len(tokens)
        silent = {check_head(at, "ablate", N_LAYERS, N_HEADS) for at in ablate}
        replace = check_arrays(replace or {}, "replace", (n, n))
        patch = check_arrays(patch or {}, "patch", (n, D_HEAD))
        x = self.embed(tokens)
        residual, kept = [x], []
        for layer in range(N_LAYERS):
            added = np.zeros_like(x)
            for head in range(N_HEADS):
                at, w = (layer, head), self.head(layer, head)
                q, k, v = x @ w.w_q, x @ w.w_k, x @ w.w_v
                p = attention_weights(q, k, causal=True, scale=1.0)  # SHARP is in w_q
                o = attention(q, k, v, causal=True, scale=1.0)
                if at in replace:
                    p = replace[at]
                    o = p @ v
                o = np.zeros_like(o) if at in silent else patch.get(at, o)
                added += o @ w.w_o
                kept.append((p, v, o, o @ w.w_o))
            x = x + added
            residual.append(x)
        p, v, o, out = (
            np.stack(a).reshape(N_LAYERS, N_HEADS, n, -1) for a in zip(*kept, strict=True)
        )
        return Trace(tokens, np.stack(residual), p, v, o, out, x @ self.unembedding)

    def sources(self, tokens: Iterable[str]) -> Bool[np.ndarray, "n n"]:
        """Which places the induction circuit's guess depends on, by construction.

        The guess after place i copies the letters at places j whose letter before, at j - 1, is
        the letter at i. So it depends on i, on each such j - 1 and on each such j.

        Args:
            tokens: a text, as for `run`
        Returns: bool [n, n]  [i, j] = the guess after i depends on place j; a row without an
            earlier occurrence of its letter is all False: the circuit rests
        Raises:
            ValueError: as `run`
        """
        tokens = check_tokens(tokens)
        depends = np.zeros((len(tokens), len(tokens)), dtype=bool)
        for i, letter in enumerate(tokens[1:], start=1):
            for before in (m for m in range(1, i) if tokens[m] == letter):
                depends[i, [before, before + 1, i]] = True
        return depends
