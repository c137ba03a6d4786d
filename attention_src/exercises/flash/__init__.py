"""The checks of the chapter on flash attention."""

from attention_src.exercises.flash.graded import check_tiled_test
from attention_src.exercises.flash.ladder import check_traffic
from attention_src.exercises.flash.merge import check_merge
from attention_src.exercises.flash.tiled import check_tiled_attention

__all__ = ["check_merge", "check_tiled_attention", "check_tiled_test", "check_traffic"]
