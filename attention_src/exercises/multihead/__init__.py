"""The checks of the chapter on multi-head attention."""

from attention_src.exercises.multihead.attention import check_multihead_attention
from attention_src.exercises.multihead.bound import check_bound
from attention_src.exercises.multihead.previous import check_previous_head
from attention_src.exercises.multihead.split import check_merge_heads, check_split_heads

__all__ = [
    "check_bound",
    "check_merge_heads",
    "check_multihead_attention",
    "check_previous_head",
    "check_split_heads",
]
