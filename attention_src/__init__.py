"""Attention, from retrieval to kernels: the code of the course, topic first.

Where to look, in the order in which one builds on the other:

    softmax     scores into weights, and the rivals of softmax
    attention   o = softmax(scale * q k^T) v: the oracle, masks, dense and SDPA layers
    multihead   projections, head split, grouped key/value heads
    models      real checkpoints on the parts above

Each topic holds up to three files: `reference.py` (NumPy, the clearest statement, the oracle of the
tests), `layer.py` (PyTorch: gradients, modules, choice of implementation), `kernel.py` (Triton).

Beside them:

    shapes      the ValueErrors: which axis does not fit, and how to repair it
    costs       FLOPs, bytes, arithmetic intensity
    timing      median and spread of a running time
    testing     the three gates for numerical code, for your own implementations too
    figures     the course's plots
    exercises   the checks that the chapters call

Importing this package imports none of them, so it costs nothing; references need NumPy only.
"""

__version__ = "0.1.0"
