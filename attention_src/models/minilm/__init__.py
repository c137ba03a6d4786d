"""MiniLM, a real sentence encoder, on the course's own attention, in NumPy."""

from attention_src.models.minilm.model import MiniLM

__all__ = ["MiniLM"]
