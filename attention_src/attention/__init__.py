"""Scaled dot-product attention: the oracle, the masks, and the PyTorch layer."""
