"""The sentence that runs through the drawings, and a head of width 4 that reads it.

Its numbers are whole, so that every number drawn can be checked by hand: the query of "bank" meets
the key of "river" best.
"""

import math

TOKENS = ("the", "river", "bank", "was", "steep")
BANK = TOKENS.index("bank")  # the token whose query is followed
Q = (2, 1, 0, 1)  # its query
K = ((1, 0, 1, 0), (2, 1, 0, 1), (1, 1, 2, 1), (0, 1, 2, 0), (0, 2, 1, 0))
WIDTH = len(Q)

SCORES = [sum(a * b for a, b in zip(Q, k, strict=True)) for k in K]  # q · k
SCALED = [score / math.sqrt(WIDTH) for score in SCORES]
_EXPS = [math.exp(s) for s in SCALED]
WEIGHTS = [e / sum(_EXPS) for e in _EXPS]
