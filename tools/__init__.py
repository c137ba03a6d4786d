"""The scripts that build the book: from book/*.md to notebooks/*.ipynb and to the site.

notebook/        the command python -m tools.notebook: portable Markdown, executed
instruments/     the book's directives, a file each: read, on the site, in the notebook
site/            Sphinx extensions, how the site looks, what a page weighs, a server

What both share:

book.py          where things are: chapters, addresses, front matter
freshness.py     whether stored outputs still belong to their code
macros.py        the course's TeX macros

check_address.py whether repository.url names the repository that publishes the book
"""
