"""The checks of the chapter on GPUs."""

from attention_src.exercises.gpu.chain import check_chain_time
from attention_src.exercises.gpu.intensity import check_intensity
from attention_src.exercises.gpu.kernel_test import check_kernel_test
from attention_src.exercises.gpu.lse import check_row_lse
from attention_src.exercises.gpu.tile import check_tile

__all__ = [
    "check_chain_time",
    "check_intensity",
    "check_kernel_test",
    "check_row_lse",
    "check_tile",
]
