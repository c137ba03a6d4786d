"""What builds the book, from book/*.md to notebooks/*.ipynb and to the site, and what tests it.

book/    chapters, directives, notebooks: python -m tools.book
site/    Sphinx extensions, how the site looks, what a page weighs, a server
page/    what runs in a reader's browser: scripts, Python, models
check/   whether pages keep to the rules: python -m tools.check
ci/      how tests are run: all of them, on other processors, with bugs, with other roundings
"""
