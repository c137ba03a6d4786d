"""FlashAttention on packed rows: many sequences in one row, each attending to itself alone.

Where queries and keys are the same tokens it equals `attention.layer.attention` on the row with the
mask

    document_mask(document_ids) & causal_mask(n)

without a table of n² booleans. FlashAttention calls this "varlen". Under torch.compile it breaks
the graph, see `packing`: with fullgraph=True use `Packing` and `flash_attention`.
"""

from typing import Any

from jaxtyping import Float
from torch import Tensor

from attention_src.attention.bias import Alibi
from attention_src.attention.score_modifiers import ScoreOptions
from attention_src.flash.layer import flash_attention_with_options
from attention_src.packing import Packing
from attention_src.shapes import check_heads
from attention_src.tensors import check_tensors


def packed_attention(
    q: Float[Tensor, "1 H n_q d_k"],
    k: Float[Tensor, "1 H_kv n_k d_k"],
    v: Float[Tensor, "1 H_kv n_k d_v"],
    cu_seqlens: Any,
    cu_seqlens_k: Any = None,
    *,
    causal: bool = False,
    window: int | None = None,
    sinks: int = 0,
    lookahead: int = 0,
    scale: float | None = None,
    bias: Alibi | None = None,
    softcap: float | None = None,
    sink_logits: Tensor | None = None,
    impl: str = "auto",
) -> Float[Tensor, "1 H n_q d_v"]:
    """As `flash_attention` on each sequence of a packed row, by one call for all of them.

        o_s = softmax(scale * q_s k_s^T, hidden scores = −inf) v_s  for each sequence s

    Args:
        q: [1, H, n_q, d_k]  the queries of all sequences, one sequence after another
        k: [1, H_kv, n_k, d_k]  keys; H_kv divides H, query head h uses head h // (H / H_kv)
        v: [1, H_kv, n_k, d_v]  values
        cu_seqlens: int [n_sequences + 1]  where the queries of each sequence start: from 0 to n_q,
            non-decreasing. On a GPU reading it synchronises; keep it on the CPU.
        cu_seqlens_k: int [n_sequences + 1]  the same for the keys, from 0 to n_k; None = cu_seqlens
        causal, window, sinks, lookahead: as for `flash_attention`, in each sequence: its last query
            sees its last key (bottom-right), and sinks are its own first keys
        scale, softcap, sink_logits: as for `flash_attention`
        bias: None or an `Alibi`, which counts distances within a sequence
        impl: as for `flash_attention`
    Returns: [1, H, n_q, d_v]  o, in q's dtype; 0 for a query whose sequence shows it no key
    Raises:
        ValueError: B is not 1; cu_seqlens that do not fit; a bias that is a tensor; as
            `flash_attention`
    Cost: `flash_attention` on a batch [n_sequences, H, longest, d], padded: time and memory are
        those of n_sequences * longest positions, so pack sequences of similar lengths. triton skips
        the keys of the padding, and causal or windowed its queries too.
    Source: Krell et al. 2021, arXiv:2107.02027 (without cross-contamination). cu_seqlens as for
        flash_attn_varlen_func, https://github.com/Dao-AILab/flash-attention, which does not pad.
    """
    rows, lengths, queries = _take_apart(q, k, v, cu_seqlens, cu_seqlens_k, bias)
    options = ScoreOptions(None, causal, scale, bias, softcap, sink_logits)
    reach = (window, sinks, lookahead)
    o, _ = flash_attention_with_options(*rows, options, reach, lengths, impl)
    return queries.unpad(o)


def _take_apart(
    q: Any, k: Any, v: Any, cu_seqlens: Any, cu_seqlens_k: Any, bias: Any
) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor, Packing]:
    """The rows as a padded batch, the lengths of its keys, and how to join the queries again.

    Queries are padded in front and keys behind: `flash_attention` puts the last query at the last
    of key_lengths keys.
    """
    check_tensors(q=q, k=k, v=v)
    check_heads(q, k, v)
    if q.shape[0] != 1:
        raise ValueError(
            f"q, k and v have B={q.shape[0]}; with cu_seqlens they should have B=1, all sequences "
            "in one row"
        )
    if bias is not None and not isinstance(bias, Alibi):
        raise ValueError(
            f"bias is a {type(bias).__name__}; for packed rows it should be an Alibi or None: a "
            "matrix of biases has no one place for sequences of different lengths"
        )
    n_q, n_k = q.shape[2], k.shape[2]
    if cu_seqlens_k is None and n_q != n_k:
        raise ValueError(
            f"cu_seqlens_k is None, but q has {n_q} positions and k has {n_k}; it should say where "
            "the keys of each sequence start"
        )
    queries = Packing(cu_seqlens, n_q, front=True, device=q.device)
    given = (cu_seqlens, "cu_seqlens") if cu_seqlens_k is None else (cu_seqlens_k, "cu_seqlens_k")
    keys = Packing(given[0], n_k, front=False, device=k.device, name=given[1])
    if keys.n_sequences != queries.n_sequences:
        raise ValueError(
            f"cu_seqlens_k has n_sequences={keys.n_sequences} but cu_seqlens has "
            f"n_sequences={queries.n_sequences}; a sequence without keys should have length 0"
        )
    return (queries.pad(q), keys.pad(k), keys.pad(v)), keys.lengths, queries
