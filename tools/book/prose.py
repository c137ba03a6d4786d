"""The prose of a MyST page. The rest becomes blanks, so that everything keeps its place."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Directives whose body is not prose.
NOT_PROSE = {"code-cell", "math", "raw"}
# Directives whose argument is a title, which is prose; that of others is a label or a file.
TITLED = re.compile(r"admonition|exercise|happened-start|prf:.*")
_FENCE = re.compile(r"^[ >]*(?:[-*+] |\d+\. )?\s*(?P<fence>`{3,}|:{3,})(?P<info>[^`]*)$")
_DIRECTIVE = re.compile(r"\{([\w:.+-]+)\}(.*)", re.S)
PYTHON = re.compile(r"(?:python|py|ipython3?)\b")
_OPTION = re.compile(r"^[ >]*:[\w-]+:")
_WRONG = re.compile(r"^\s*- \[ \] ")

# What is not prose in a paragraph; the first group that matches is blanked whole, except that a
# link keeps its text, and a role with a target its title.
_INLINE = re.compile(
    r"""
      (?P<comment><!--.*?-->)
    | (?P<math>\$\$.+?\$\$ | (?<!\\)\$(?!\s)[^$]+?(?<![\s\\])\$(?!\d)
        | \\begin\{(?P<env>\w+\*?)\}.+?\\end\{(?P=env)\})
    | \{(?P<role>[\w:.+-]+)\}`(?P<body>[^`]+)`
    | (?P<code>(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))
    | (?P<target>^\([\w:.-]+\)=)
    | (?P<to>\]\([^\s()]*(?:\([^\s()]*\)[^\s()]*)*\))
    | (?P<attributes>\{[.\#:][^}\n]*\})
    | (?P<url>https?://[^\s)>]+)
    | (?P<tag></?[a-zA-Z][^>\n]*>)
    | (?P<shape>\[(?=[^\]]*\d)[\w\s,.…×·*+\-/=…√²^{}]*,[\w\s,.…×·*+\-/=√²^{}]*\](?!\())
    | (?P<item>^[ >]*\d+[.)]\s)
    | (?P<lab>(?:\b[Ll]ab\ |^\#\#\ )\d+\.\d+)
    """,
    re.X | re.S | re.M,
)
# Results that mathematics states: \approx 0.139, \approx 4 \times 10^{-18}.
_APPROXIMATELY = re.compile(
    r"\\approx\s*(?P<number>-?[\d.,{}]*\d)(?:\s*\\(?:times|cdot)\s*10\^\{?(?P<ten>-?\d+)\}?)?"
)
_TITLE_OF_ROLE = re.compile(r"^(.*?)\s*<[^<>]+>$", re.S)
_COMMENT_LINE = re.compile(r"(?m)^%.*$")


def prose(text: str) -> str:
    """The page with all but its prose blanked: of the same length, with the same lines."""
    text = "\n".join(_blocks(text.split("\n")))
    text = _COMMENT_LINE.sub(_blank, text)
    return _INLINE.sub(_inline, text)


def _blocks(lines: list[str]) -> Iterator[str]:
    """The lines, with front matter, code, options and fences blanked."""
    start = 0
    if lines[0] == "---" and "---" in lines[1:]:
        start = lines.index("---", 1) + 1
        for line in lines[:start]:
            yield line if line.startswith("description:") else _blank_text(line)
    open_fences: list[str] = []
    skipping = options = wrong = False
    for line in lines[start:]:
        match = _FENCE.match(line)
        kept = 0  # where on this line its prose begins
        if match and _closes(match, open_fences):
            open_fences.pop()
            skipping = options = False
            kept = len(line)
        elif skipping:
            kept = len(line)
        elif match:
            open_fences.append(match["fence"])
            directive = _DIRECTIVE.fullmatch(match["info"].strip())
            skipping = directive is None or directive[1] in NOT_PROSE
            options = not skipping
            titled = directive and TITLED.fullmatch(directive[1])
            kept = line.index("}") + 1 if titled else len(line)
        elif options and _OPTION.match(line):
            kept = len(line)
        else:
            options = False
            # The text of a wrong option may be wrong; it ends at the first blank line.
            wrong = bool(_WRONG.match(line)) or (wrong and bool(line.strip()))
            kept = len(line) if wrong else 0
        yield " " * kept + line[kept:]


def _closes(match: re.Match[str], open_fences: list[str]) -> bool:
    if not open_fences or match["info"].strip():
        return False
    return match["fence"].startswith(open_fences[-1])


def _inline(match: re.Match[str]) -> str:
    if match["math"]:
        return _results(match[0])
    if match["role"]:
        title = _TITLE_OF_ROLE.match(match["body"])
        if title and match["role"] != "given":  # what stands there is who says so
            return "  " + title[1] + _blank_text(match[0][len(title[1]) + 2 :])
    # What stands behind a hyphen belongs to the word before it: {term}`entmax`-1.5 is a name.
    joined = match.string[match.end() : match.end() + 1] in ("-", "–")
    return _blank(match)[:-1] + "x" if joined else _blank(match)


def _results(tex: str) -> str:
    """Mathematics with all but the results of its approximations blanked."""
    kept = _blank_text(tex)
    for match in _APPROXIMATELY.finditer(tex):
        number = match["number"].replace("{,}", ",").replace("-", "−")
        number += f"e{match['ten']}" if match["ten"] else ""
        start, stop = match.span()
        kept = kept[:start] + number.rjust(stop - start) + kept[stop:]
    return kept


def _blank(match: re.Match[str]) -> str:
    return _blank_text(match[0])


def _blank_text(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
