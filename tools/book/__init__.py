"""From book/*.md to notebooks/*.ipynb: python -m tools.book.

chapters.py      where things are: chapters, addresses, front matter
freshness.py     whether stored outputs still belong to their code
notebook.py      writes the notebooks, running those whose code changed
labels.py        the numbers and labels of the book, computed by Sphinx
portable.py      blocks of MyST as Markdown that any notebook viewer renders
inline.py        the same for a paragraph: roles, links, mathematics
forms.py         the portable form of MyST's own directives; the list of all
setup_cell.py    the first cells of a notebook
minutes.py       a chapter's sections and how long they take; parts.py counts
prose.py         what of a page is prose
macros.py        the course's TeX macros

Directives of the book's own. A file holds all of one: how it is read, the Sphinx extension that
shows it on the site, and FORMS, what stands for it in the notebook. Its script, if it has one, is
tools/page/static/learner/<name>.js.

exercises.py     {exercise} says how hard it is and how long it takes; its {hints}
quiz.py          {quiz}: a question whose options say why they are right or wrong
given.py         {given}, a number from a source
predict.py       {predict} and {reveal}: a question to answer before its outputs are shown
happened.py      {happened-start} … {happened-end}: a public bug, and {bugs}, the list of them
claims.py        {claims}, what source documents claim, in a table; {found}, what a cell printed
writes.py        {writes}: a model that writes in the page, on functions of its cells
contents.py      the list of chapters, exercises and predictions that the page scripts ask for
directive.py     what the notebook's form of a directive works with
markup.py        quotes, folds and other pieces of Markdown for notebooks
elements.py      HTML elements with attributes of their own
"""
