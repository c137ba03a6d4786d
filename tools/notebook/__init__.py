"""From book/*.md to notebooks/*.ipynb.

build.py         writes the notebooks, running those whose code changed
numbers.py       the numbers and labels of the book, computed by Sphinx
portable.py      blocks of MyST as Markdown that any notebook viewer renders
inline.py        the same for a paragraph: roles, links, mathematics
directives.py    the portable form of each directive
instruments.py   the same for exercises, questions and bugs that happened
page.py          what such a form works with
markup.py        quotes, folds and other pieces of portable Markdown
setup_cell.py    the first cells of a notebook
"""
