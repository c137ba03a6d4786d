"""Scaled dot-product attention: the oracle, the masks, the PyTorch layer, and scores of maps."""
