"""Rotary positions: queries and keys rotated by position, and scaled to longer contexts."""
