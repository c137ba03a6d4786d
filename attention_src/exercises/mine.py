"""The old name of `exercises.keep`, which learners' notebooks import."""

from attention_src.exercises.keep import PARTS, keep, parts, place

__all__ = ["PARTS", "keep", "parts", "place"]
