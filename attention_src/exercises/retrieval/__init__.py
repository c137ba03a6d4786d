"""The checks of the chapter on retrieval."""

from attention_src.exercises.retrieval.by_hand import check_by_hand
from attention_src.exercises.retrieval.lookup import check_soft_lookup
from attention_src.exercises.retrieval.regression import check_kernel_regression
from attention_src.exercises.retrieval.round_dictionary import check_round_dictionary

__all__ = [
    "check_by_hand",
    "check_kernel_regression",
    "check_round_dictionary",
    "check_soft_lookup",
]
