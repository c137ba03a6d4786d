"""The checks of the chapter on softmax."""

from attention_src.exercises.softmax.backward import check_softmax_backward
from attention_src.exercises.softmax.graded import check_softmax_test
from attention_src.exercises.softmax.ladders import check_log_sum_exp, check_why_exponential
from attention_src.exercises.softmax.online import check_online_softmax
from attention_src.exercises.softmax.temperature import check_temperature_for_entropy
from attention_src.exercises.softmax.weights import check_softmax

__all__ = [
    "check_log_sum_exp",
    "check_online_softmax",
    "check_softmax",
    "check_softmax_backward",
    "check_softmax_test",
    "check_temperature_for_entropy",
    "check_why_exponential",
]
