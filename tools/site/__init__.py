"""How the site looks, and a server for it.

outputs.py       Sphinx: the site shows the outputs that the notebooks store
cells.py         Sphinx: folded code, with a line that says what is in it; where a function is kept
math.py          Sphinx: equations, set by KaTeX while the book is built
figures.py       Sphinx: stored SVGs become part of the page and take its colours
drawings.py      the course's drawings on a page: its colours, and both arrangements
strip.py         Sphinx: under a chapter's title, the way through a model, with its part lit
about_chapter.py Sphinx: what a page says about its chapter; folds that need no script
assets.py        Sphinx: one style sheet, and only the scripts in use
cached.py        what is made once and kept in .cache: Python for the page, a model
server.py        serves the built site on loopback
"""
