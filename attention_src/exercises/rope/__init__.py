"""The checks of the chapter on rotary positions."""

from attention_src.exercises.rope.convert import check_to_half_split
from attention_src.exercises.rope.graded import check_rotation_test
from attention_src.exercises.rope.ladder import check_wavelengths
from attention_src.exercises.rope.rotate import check_rotate

__all__ = [
    "check_rotate",
    "check_rotation_test",
    "check_to_half_split",
    "check_wavelengths",
]
