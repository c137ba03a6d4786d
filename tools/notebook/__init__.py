"""From book/*.md to notebooks/*.ipynb.

build.py         writes the notebooks, running those whose code changed
labels.py        the numbers and labels of the book, computed by Sphinx
portable.py      blocks of MyST as Markdown that any notebook viewer renders
inline.py        the same for a paragraph: roles, links, mathematics
directives.py    the portable form of MyST's own directives; the list of all
setup_cell.py    the first cells of a notebook
"""
