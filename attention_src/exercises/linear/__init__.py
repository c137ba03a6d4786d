"""The checks of the chapter on linear attention."""

from attention_src.exercises.linear.causal import check_linear_attention
from attention_src.exercises.linear.delta import check_delta
from attention_src.exercises.linear.graded import check_chunk_test
from attention_src.exercises.linear.room import check_room_ladder

__all__ = [
    "check_chunk_test",
    "check_delta",
    "check_linear_attention",
    "check_room_ladder",
]
