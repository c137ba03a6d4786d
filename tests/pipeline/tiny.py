"""Tiny books to try the pipeline on."""

from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
CASES = sorted((Path(__file__).parent / "cases").glob("*.md"))

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

Attention weight
  What a key gets.
```
"""
CLAIMS = """\
[000-09]
verdict = "special case"
page = "documents"
taught = "notation"
found = ['8.0', 'KeyError']
claim = 'It is 8.'
remark = 'If one adds $x$.'
"""
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0L9 9"/></svg>\n'
BIBLIOGRAPHY = """\
@article{vaswani2017attention,
  author = {Vaswani, Ashish and Shazeer, Noam and Parmar, Niki},
  title = {Attention}, journal = {A}, year = {2017}, url = {https://arxiv.org/abs/1706.03762}
}
@article{martins2016sparsemax,
  author = {Martins, Andr{\\'e} and Astudillo, Ram{\\'o}n},
  title = {Sparsemax}, journal = {B}, year = {2016}, url = {https://arxiv.org/abs/1602.02068}
}
"""


def source_and_portable(case):
    """What a file in cases/ holds: MyST, and the portable form it should get."""
    source, portable = case.read_text(encoding="utf-8").split("=== portable ===\n")
    return source.strip("\n"), portable.strip("\n")


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
        "picture.svg": PICTURE,
        "claims.toml": CLAIMS,
        **{f"{name}.md": FRONT + text for name, text in chapters.items()},
    }
    for name, text in texts.items():
        (pages / name).parent.mkdir(exist_ok=True)
        (pages / name).write_text(text, encoding="utf-8")
    return root


def all_cases():
    """One chapter that holds every construct."""
    return "# All cases\n\n" + "\n\n".join(source_and_portable(case)[0] for case in CASES) + "\n"
