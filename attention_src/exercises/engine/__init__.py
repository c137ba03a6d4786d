"""What all checks share: cases, mistakes, calling a learner's function, the message."""
