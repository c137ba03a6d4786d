"""Rotary positions: queries and keys turned by their position, and stretched to longer contexts."""
