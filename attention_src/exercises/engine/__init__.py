"""What every check is made of: cases, mistakes, one call of a learner's function, one message."""
