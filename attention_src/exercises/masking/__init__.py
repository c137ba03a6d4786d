"""The checks of the chapter on masking."""

from attention_src.exercises.masking.packed import check_packed_causal_mask
from attention_src.exercises.masking.softmax import check_masked_softmax
from attention_src.exercises.masking.window import check_window_mask

__all__ = ["check_masked_softmax", "check_packed_causal_mask", "check_window_mask"]
