"""What can be judged: attention, rotations, masks, caches, repeated heads."""
