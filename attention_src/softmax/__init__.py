"""Scores into weights: softmax, its gradient, its streaming form and its rivals."""
