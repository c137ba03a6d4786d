"""The checks of the chapter on what is kept between tokens."""

from attention_src.exercises.kvcache.append import check_append_and_read
from attention_src.exercises.kvcache.graded import check_cache_test
from attention_src.exercises.kvcache.paged import check_paged_attention
from attention_src.exercises.kvcache.token import check_token_ladder

__all__ = [
    "check_append_and_read",
    "check_cache_test",
    "check_paged_attention",
    "check_token_ladder",
]
