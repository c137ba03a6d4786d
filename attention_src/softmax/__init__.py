"""From scores to weights: softmax, its gradient, its online form, and its alternatives."""
