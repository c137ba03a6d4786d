"""Attention in several heads, with the projections around it; latent attention; with a cache."""
