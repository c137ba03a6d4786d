"""The launches of the decoding kernels, on tensors without data, to compile for any chip."""

import torch

from attention_src.kvcache.kernel.launch import contiguous_launch, int8_launch, paged_launch
from attention_src.kvcache.kernel.merge import merge_launch
from attention_src.triton_support.launch import Launch

BATCH, N_HEADS, N_KV_HEADS, N, PAGE_SIZE, N_SPLITS = 4, 32, 8, 4096, 64, 8
SCALE = 0.125


def launches(dtype: torch.dtype, d: int, capability: int) -> dict[str, Launch]:
    """Decoding a batch of 4 against 4096 keys in 8 splits, and their merge.

    Args:
        dtype: of q and, except for int8, of the cache
        d: d_k and d_v
        capability: of the chip that chooses the tile sizes
    Returns: launches by name
    """

    def empty(*shape: int, dtype: torch.dtype = dtype) -> torch.Tensor:
        return torch.empty(*shape, dtype=dtype, device="meta")

    q, o = empty(BATCH, N_HEADS, 1, d), empty(BATCH, N_HEADS, 1, d)
    lengths = empty(BATCH, dtype=torch.int32)
    o_splits = empty(BATCH, N_HEADS, N_SPLITS, d, dtype=torch.float32)
    lse_log2 = empty(BATCH, N_HEADS, N_SPLITS, dtype=torch.float32)
    kv = empty(BATCH, N_KV_HEADS, N, d)
    pages = empty(BATCH * N // PAGE_SIZE, N_KV_HEADS, PAGE_SIZE, d)
    table = empty(BATCH, N // PAGE_SIZE, dtype=torch.int32)
    codes = empty(BATCH, N_KV_HEADS, N, d, dtype=torch.int8)
    scales = empty(BATCH, N_KV_HEADS, N, dtype=torch.float32)
    rest = lengths, o_splits, lse_log2, SCALE
    found = {
        "decode_contiguous": contiguous_launch(q, kv, kv, *rest, capability=capability),
        "decode_paged": paged_launch(q, pages, pages, table, *rest, capability=capability),
        "decode_int8": int8_launch(q, codes, scales, codes, scales, *rest, capability=capability),
    }
    if d == 64:  # the merge's tiles do not depend on d
        found["decode_merge"] = merge_launch(o_splits, lse_log2, o)
    return found
