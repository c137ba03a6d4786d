"""The checks of the chapter on masking."""

from attention_src.exercises.masking.leak import check_leak_test
from attention_src.exercises.masking.odds import check_odds
from attention_src.exercises.masking.packed import check_packed_causal_mask
from attention_src.exercises.masking.reach import check_few_keys
from attention_src.exercises.masking.softmax import check_masked_softmax
from attention_src.exercises.masking.window import check_window_mask

__all__ = [
    "check_few_keys",
    "check_leak_test",
    "check_masked_softmax",
    "check_odds",
    "check_packed_causal_mask",
    "check_window_mask",
]
