"""The checks of the chapter on a language model."""

from attention_src.exercises.llm.flops import check_flops_ladder
from attention_src.exercises.llm.graded import check_sampler_test
from attention_src.exercises.llm.patients import check_patients
from attention_src.exercises.llm.perplexity import check_perplexity
from attention_src.exercises.llm.sample import check_sample

__all__ = [
    "check_flops_ladder",
    "check_patients",
    "check_perplexity",
    "check_sample",
    "check_sampler_test",
]
