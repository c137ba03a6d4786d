"""A small check for the tests of the engine: x less the mean of each row."""

import numpy as np

from attention_src.exercises.engine.cases import any_scores, any_shape
from attention_src.exercises.engine.checking import Case, Check

ROW = Case("one row", (np.array([1.0, 2.0, 6.0]),))


def centred(x):
    return x - x.mean(axis=-1, keepdims=True)


def draw(rng):
    return (any_scores(rng, any_shape(rng)),)


def make(*mistakes, cases=(ROW,), hints=("Rows.",), **options):
    return Check("centre", centred, list(cases), list(mistakes), list(hints), **options)
