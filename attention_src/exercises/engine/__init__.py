"""What all checks share: cases, mistakes, the call of a learner's function, the message."""
