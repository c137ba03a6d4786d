"""Rounding, tried directly: run notebooks on processors that do not exist (make jitter).

    python -m tools.ci.jitter [--seeds 1,2,3] [--changed] [chapters]

Other processors add in another order and give other last bits of exp. `tools.ci.processors` can
pretend to be a few of them; here a seed is an imaginary one, with noise of 1e-16 in float64 and
1e-7 in float32 (`noise`, `noise_torch`) in all that a notebook computes (`install`). Where this
turns a printed digit, something magnifies it, and some reader's machine prints another one. A cell
fails as it would for nbval; a number that moves within nbval's tolerance is listed, and its
notebook tried with six more seeds (`__main__`, `moves`).

Which notebooks passed is kept in passed.json, by the digest of their code and of what they print,
so `--changed` tries those alone that have not passed as they are.

Not reached: numba's loops and the C product of in_numpy/blocks.py; what the tokeniser computes;
NumPy's powers, square roots and divisions, which all processors round alike; its cumsum, which runs
in order everywhere; its decompositions (lstsq, svd, qr) and fft, but for their inputs; sums and
products with out= or where=; 16-bit numbers but in torch's products; FlexAttention, which is
compiled; threads other than the first, in torch; code that tracemalloc watches.
"""
