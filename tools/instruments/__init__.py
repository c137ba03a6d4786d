"""Sphinx extensions: what a learner touches, beyond text and figures.

exercises.py     {exercise} says how hard it is and how long it takes
predict.py       {predict} and {reveal}: a question to answer before its outputs are shown
happened.py      {happened-start} … {happened-end}: a public bug, and {bugs}, the list of them
claims.py        {claim}, a statement of a source document that a cell decides; {claims}, the ledger
contents.py      the list of chapters, exercises and predictions that the page scripts ask for
elements.py      HTML elements with attributes of their own
"""
