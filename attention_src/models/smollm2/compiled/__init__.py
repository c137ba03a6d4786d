"""One new token on weights in 4 bits, between torch's products in compiled loops.

token  the forward pass for it, and when it is taken
loops  what numba compiles
"""
