"""Sphinx extensions: what a learner touches, beyond text and figures.

exercises.py     {exercise} says how hard it is and how long it takes
predict.py       {predict} and {reveal}: a question to answer before its outputs are shown
happened.py      {happened-start} … {happened-end}: a public bug, and {bugs}, the list of them
elements.py      HTML elements with attributes of their own
"""
