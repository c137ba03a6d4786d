"""Real checkpoints that run on the course's own attention."""
