"""Tiny books to try the pipeline on."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tools.book.freshness import digest, own_code

REPOSITORY = Path(__file__).parents[2]

FRONT = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
description: A page to try things on.
running_seconds: 2
---

"""
TOC = "format: jb-book\nroot: book/intro\nchapters:\n"
NOTATION = """\
---
description: Terms.
---

(ch:notation)=
# Notation

```{glossary}
query
  What asks.

key
  What is matched.
```
"""
# A chapter with what has a number, a question, and code.
SMALL = """\
# Small

```{math}
:label: eq:small
a = b
```

```{prf:theorem} Shift
:label: thm:small
For all $c$, by {eq}`eq:small`.
```

```{quiz}
Why, by {prf:ref}`thm:small`?

- [ ] One.

  It is not.

- [x] Two.

  It is {numref}`ex:small`.
```

```{exercise} Do
:label: ex:small
:difficulty: 1
:minutes: 5
Do.
```

````{solution-start} ex:small
````

A {term}`query`.

````{solution-end}
````

```{code-cell} ipython3
:tags: [hide-input]
print("computed " + "once")
```
"""
BIBLIOGRAPHY = """\
@article{vaswani2017attention,
  author = {Vaswani, Ashish and Shazeer, Noam and Parmar, Niki},
  title = {Attention}, journal = {A}, year = {2017}, url = {https://arxiv.org/abs/1706.03762}
}
"""


def make_book(root, **chapters):
    """A book in `root` with these chapters, given as text without front matter."""
    pages = root / "book"
    pages.mkdir(parents=True)
    (root / "_config.yml").write_text((REPOSITORY / "_config.yml").read_text("utf-8"), "utf-8")
    (pages / "_static").symlink_to(REPOSITORY / "book/_static")
    (root / "tools/page").mkdir(parents=True)
    (root / "tools/page/static").symlink_to(REPOSITORY / "tools/page/static")
    (pages / "_templates").symlink_to(REPOSITORY / "book/_templates")
    names = [*chapters, "notation", "references"]
    (root / "_toc.yml").write_text(TOC + "".join(f"- file: book/{n}\n" for n in names), "utf-8")
    texts = {
        "intro.md": "---\ndescription: Begin.\n---\n\n# A tiny book\n\nText.\n",
        "notation.md": NOTATION,
        "references.md": "---\ndescription: Papers.\n---\n\n# Papers\n\n```{bibliography}\n```\n",
        "references.bib": BIBLIOGRAPHY,
        **{f"{name}.md": FRONT + text for name, text in chapters.items()},
    }
    for name, text in texts.items():
        (pages / name).parent.mkdir(exist_ok=True)
        (pages / name).write_text(text, encoding="utf-8")
    return root


def build(root, *options, **environment):
    """What Jupyter Book prints while it builds the site of the book in `root`."""
    command = [Path(sys.executable).with_name("jupyter-book"), "build", ".", *options]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "NO_COLOR": "1", **environment}
    ran = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    return ran.stdout + ran.stderr


def ran(code, printed, *tags):
    """A code cell, and what it has printed."""
    outputs = [new_output("stream", name="stdout", text=printed)]
    return new_code_cell(code, outputs=outputs, execution_count=1, metadata={"tags": [*tags]})


def store(path, *cells):
    """Write a notebook of these cells, whose outputs are not stale."""
    path.parent.mkdir(exist_ok=True)
    notebook = new_notebook(cells=[*cells])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    notebook.metadata.attention_digest = digest(own_code(notebook))
    nbformat.write(notebook, path)
