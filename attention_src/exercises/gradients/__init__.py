"""The checks of the chapter on gradients."""

from attention_src.exercises.gradients.backward import check_attention_backward
from attention_src.exercises.gradients.covariance import check_output_by_key
from attention_src.exercises.gradients.graded import check_gradient_check
from attention_src.exercises.gradients.ladder import check_by_hand

__all__ = [
    "check_attention_backward",
    "check_by_hand",
    "check_gradient_check",
    "check_output_by_key",
]
