"""The checks of the chapter on why attention was invented."""

from attention_src.exercises.history.budget import check_budget
from attention_src.exercises.history.contexts import check_contexts
from attention_src.exercises.history.looks import check_looking_test
from attention_src.exercises.history.reversal import check_reversal

__all__ = ["check_budget", "check_contexts", "check_looking_test", "check_reversal"]
