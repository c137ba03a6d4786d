"""The checks of the chapter on windows, sinks, blocks and rings."""

from attention_src.exercises.longcontext.blocks import check_visible_blocks
from attention_src.exercises.longcontext.graded import check_window_test
from attention_src.exercises.longcontext.ladder import check_ring_ladder
from attention_src.exercises.longcontext.rank import check_one_rank
from attention_src.exercises.longcontext.rolling import check_rolling_append

__all__ = [
    "check_one_rank",
    "check_ring_ladder",
    "check_rolling_append",
    "check_visible_blocks",
    "check_window_test",
]
