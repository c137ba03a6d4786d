"""From book/*.md to notebooks/*.ipynb.

build.py         writes the notebooks, running those whose code changed
numbers.py       the numbers and labels of the book, asked of Sphinx
portable.py      MyST Markdown to Markdown that any notebook viewer renders: blocks
inline.py        the same inside a paragraph: roles, links, mathematics
directives.py    the portable form of each directive
markup.py        quotes, folds and other pieces of portable Markdown
setup_cell.py    the first cells of a notebook
"""
