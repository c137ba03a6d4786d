"""The checks of the chapter on projections."""

from attention_src.exercises.projections.names import check_names
from attention_src.exercises.projections.order import check_order_test
from attention_src.exercises.projections.project import check_project
from attention_src.exercises.projections.rank import check_rank
from attention_src.exercises.projections.unpack import check_unpack

__all__ = ["check_names", "check_order_test", "check_project", "check_rank", "check_unpack"]
