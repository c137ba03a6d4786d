"""What to compile ahead of time: each topic's launches, on tensors of the meta device."""
