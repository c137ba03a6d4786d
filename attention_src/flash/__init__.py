"""Exact attention that never stores its scores: tiles, online softmax, recomputation."""
