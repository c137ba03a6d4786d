"""The checks of the chapter on attention maps."""

from attention_src.exercises.maps.entropy import check_attention_entropy
from attention_src.exercises.maps.heads import check_previous_token_score
from attention_src.exercises.maps.induction import check_induction_score
from attention_src.exercises.maps.luck import check_luck
from attention_src.exercises.maps.rollout import check_rollout
from attention_src.exercises.maps.uniform import check_uniform

__all__ = [
    "check_attention_entropy",
    "check_induction_score",
    "check_luck",
    "check_previous_token_score",
    "check_rollout",
    "check_uniform",
]
