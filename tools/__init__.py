"""The scripts that build the book: from book/*.md to notebooks/*.ipynb and to the site.

book.py          where things are: chapters, addresses, front matter
numbers.py       the numbers and labels of the book, asked of Sphinx
portable.py      MyST Markdown to Markdown that any notebook viewer renders: blocks
inline.py        the same inside a paragraph: roles, links, mathematics
directives.py    the portable form of each directive
markup.py        quotes, folds and other pieces of portable Markdown
quiz.py          the {quiz} directive
macros.py        the course's TeX macros
setup_cell.py    the first cells of a notebook
freshness.py     whether stored outputs still belong to their code
notebooks.py     the command: python -m tools.notebooks
book_outputs.py  Sphinx: the site shows the outputs that the notebooks store
check_address.py does repository.url name the place that the book is published from?
run_notebooks.py runs notebooks with any Python, comparing nothing
site_*.py        how the site looks and what a page weighs
"""
