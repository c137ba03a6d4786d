"""The checks of the chapter on state space models."""

from attention_src.exercises.ssm.gate import check_gate_ladder
from attention_src.exercises.ssm.graded import check_state_test
from attention_src.exercises.ssm.mask import check_decay_mask
from attention_src.exercises.ssm.scan import check_scan_on

__all__ = ["check_decay_mask", "check_gate_ladder", "check_scan_on", "check_state_test"]
