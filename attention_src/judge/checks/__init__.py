"""What is looked at in an attention: masks, scores, lengths, precision, gradients, projections."""
