"""What all checks share: cases, mistakes, calling a learner's function, the message."""

from attention_src.exercises.engine.checking import Case, Check
from attention_src.exercises.engine.designing import DesignCheck
from attention_src.exercises.engine.grading import Implementation, TestCheck
from attention_src.exercises.engine.ladder import Ladder, Rung

__all__ = ["Case", "Check", "DesignCheck", "Implementation", "Ladder", "Rung", "TestCheck"]
