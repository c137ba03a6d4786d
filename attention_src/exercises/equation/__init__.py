"""The checks of the chapter on the equation."""

from attention_src.exercises.equation.graded import check_attention_test
from attention_src.exercises.equation.line import check_attention
from attention_src.exercises.equation.rows import check_attention_by_rows
from attention_src.exercises.equation.shapes import check_shapes

__all__ = [
    "check_attention",
    "check_attention_by_rows",
    "check_attention_test",
    "check_shapes",
]
