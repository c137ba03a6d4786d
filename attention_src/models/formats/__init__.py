"""Readers of the files that models come in."""
