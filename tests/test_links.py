"""Links, labels, terms and citations in README, CONTRIBUTING and book/ lead somewhere.

A matter of seconds, without Sphinx; the browser tests follow the links of the built pages.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "book").glob("*.md"))]
BOOK = "\n".join(page.read_text(encoding="utf-8") for page in PAGES[2:])

LABELS = {
    *re.findall(r"^\s*\(([\w:.-]+)\)=\s*$", BOOK, re.M),
    *re.findall(r"^\s*:(?:label|name): *(\S+)", BOOK, re.M),
    *re.findall(r"^\s*\$\$ *\(([\w:.-]+)\)", BOOK, re.M),
    *re.findall(r"^\s+name: *(\S+:\S+)", BOOK, re.M),  # figures that a cell draws
}
CITATIONS = set(
    re.findall(r"^@\w+\{([^,\s]+),", (ROOT / "book/references.bib").read_text("utf-8"), re.M)
)


def without_code(text):
    """Blank out fenced code and code spans that are not roles; lines keep their numbers."""
    fenced = re.compile(
        r"^(\s*)(`{3,})(?!\{)[^\n]*\n.*?^\1\2`*\s*$|^(`{3,})\{code.*?^\3\s*$", re.M | re.S
    )
    text = fenced.sub(lambda m: "\n" * m[0].count("\n"), text)
    spans = re.compile(r"(\{[a-z:]+\})?(`+)(?!`).+?(?<!`)\2(?!`)")
    return spans.sub(lambda m: m[0] if m[1] else "", text)


def glossary():
    for block in re.findall(r"^(`{3,})\{glossary\}\n(.*?)^\1", BOOK, re.M | re.S):
        yield from (line.strip().lower() for line in re.findall(r"^\S.*$", block[1], re.M))


def slugs(text):
    """The anchors that GitHub gives to headings."""
    for heading in re.findall(r"^#+ (.+)$", text, re.M):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def link_problem(page, text, target):
    """What is wrong with a Markdown link, or None."""
    if re.match(r"[a-z]+:", target):
        return None  # another host: not fetched
    path, _, anchor = target.partition("#")
    place = page if not path else page.parent / path
    if not place.exists():
        return f"{target}: no such file"
    in_book = page.parent.name == "book"
    if in_book and path and anchor:
        return f"{target}: Sphinx cannot follow this; link to the label, (#{anchor})"
    if anchor and place.suffix == ".md":
        known = LABELS if in_book else set(slugs(place.read_text("utf-8")))
        if anchor not in known:
            return f"{target}: no such anchor"
    return None


def role_problem(page, role, body):
    """What is wrong with a role that refers to something, or None."""
    titled = re.fullmatch(r".*<([^<>]+)>", body, re.S)
    target = titled[1] if titled else body
    if role in ("ref", "numref", "eq", "prf:ref") and target not in LABELS:
        return f"{{{role}}} {target}: no such label"
    if role == "doc" and not (page.parent / f"{target.removesuffix('.md')}.md").exists():
        return f"{{doc}} {target}: no such page"
    if role == "term" and " ".join(target.lower().split()) not in set(glossary()):
        return f"{{term}} {target}: not in the glossary of book/notation.md"
    if role.startswith("cite"):
        unknown = {key.strip() for key in body.split(",")} - CITATIONS
        return (
            f"{{{role}}} {', '.join(sorted(unknown))}: not in references.bib" if unknown else None
        )
    return None


def problems(page, text):
    text = without_code(text)
    found = [
        (m.start(), link_problem(page, text, m[1])) for m in re.finditer(r"\]\(([^()\s]+)\)", text)
    ]
    found += [
        (m.start(), role_problem(page, m[1], m[2]))
        for m in re.finditer(r"\{([a-z:]+)\}`([^`]+)`", text)
    ]
    return [f"line {text.count(chr(10), 0, at) + 1}: {what}" for at, what in found if what]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    assert problems(page, page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text, what",
    [
        ("[x](no_such_file.md)", "no such file"),
        ("[x](softmax.md#ch:softmax)", "link to the label"),
        ("[](#no-such-anchor)", "no such anchor"),
        ("{eq}`eq:none`", "no such label"),
        ("{numref}`Figure {number} <fig:none>`", "no such label"),
        ("{doc}`none`", "no such page"),
        ("{term}`words <nonsense>`", "not in the glossary"),
        ("{term}`key` and {ref}`none`, {term}`key`", "{ref} none: no such label"),
        ("{cite:p}`vaswani2017attention, none2020`", "none2020: not in references.bib"),
    ],
)
def test_broken_links_are_found(text, what):
    (problem,) = problems(ROOT / "book/softmax.md", f"First line.\n\n- {text}\n")
    assert problem.startswith("line 3: ") and what in problem


def test_code_is_not_read_as_links():
    text = "`[x](none.md)`\n\n```python\na[0](none)\n[x](none.md)\n```\n"
    assert problems(ROOT / "README.md", text) == []
