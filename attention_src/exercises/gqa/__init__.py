"""The checks of the chapter on shared keys and values."""

from attention_src.exercises.gqa.absorbed import check_absorbed_attention
from attention_src.exercises.gqa.cache import check_cache_ladder
from attention_src.exercises.gqa.graded import check_sharing_test
from attention_src.exercises.gqa.grouped import check_grouped_attention

__all__ = [
    "check_absorbed_attention",
    "check_cache_ladder",
    "check_grouped_attention",
    "check_sharing_test",
]
