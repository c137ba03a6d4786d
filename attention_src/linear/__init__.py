"""Attention without softmax: a state of fixed size in place of a growing cache."""
