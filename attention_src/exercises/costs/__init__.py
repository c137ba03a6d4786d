"""The checks of the last chapter, on costs."""

from attention_src.exercises.costs.crossing import check_crossing
from attention_src.exercises.costs.graded import check_flops_test
from attention_src.exercises.costs.ladder import check_costs_ladder
from attention_src.exercises.costs.resampled import check_slopes

__all__ = ["check_costs_ladder", "check_crossing", "check_flops_test", "check_slopes"]
