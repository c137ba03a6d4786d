"""Exact attention that never stores its scores: tiles, a running softmax, recomputation."""
