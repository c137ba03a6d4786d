"""The checks of the chapter on softmax."""

from attention_src.exercises.softmax.online import check_online_softmax
from attention_src.exercises.softmax.temperature import check_temperature_for_entropy
from attention_src.exercises.softmax.weights import check_softmax, check_softmax_backward

__all__ = [
    "check_online_softmax",
    "check_softmax",
    "check_softmax_backward",
    "check_temperature_for_entropy",
]
