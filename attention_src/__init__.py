"""The course's shared package, topic first."""
