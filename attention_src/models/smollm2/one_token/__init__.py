"""One new token from weights in 4 bits: torch's products, and compiled loops between them.

token  the forward pass for it, and when it is taken
loops  what numba compiles
"""
