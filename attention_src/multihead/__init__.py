"""Projections and head split around attention."""
