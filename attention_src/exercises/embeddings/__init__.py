"""The checks of the chapter on embeddings."""

from attention_src.exercises.embeddings.cosines import check_cosines
from attention_src.exercises.embeddings.dot import check_dot
from attention_src.exercises.embeddings.ppmi import check_ppmi
from attention_src.exercises.embeddings.rank import check_rank
from attention_src.exercises.embeddings.tested import check_cosine_test

__all__ = ["check_cosine_test", "check_cosines", "check_dot", "check_ppmi", "check_rank"]
