"""State space models: the recurrences behind S4, Mamba and Mamba-2."""
