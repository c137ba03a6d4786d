"""The checks of the chapter on attention maps."""

from attention_src.exercises.maps.heads import check_attention_entropy, check_previous_token_score
from attention_src.exercises.maps.rollout import check_rollout

__all__ = ["check_attention_entropy", "check_previous_token_score", "check_rollout"]
