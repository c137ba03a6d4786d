"""One script from several: an explorable's file and all that it imports, without comments.

And its style, without comments as well.
"""

import re
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:const|function) (\w+))", re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
BLANK = re.compile(r"\s+")
# What is kept as it stands. A string between backquotes may not hold another one.
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|`(?:[^`\\]|\\.)*`', re.DOTALL)
REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
WORD = re.compile(r"[\w$]+|[^\w\s]")
BEFORE_REGEX = {"", "return", *"(,=:[!&|?{};>"}  # after any other token, / divides
# A line cannot end before or after these, so that a new one says nothing to JavaScript.
OPEN, CLOSED = set(",;({[=&|?:<>*"), set(",;)}].?:&|=*<>")


@cache
def bundle(name: str) -> str:
    """A script and all that it imports, as one module without comments and blanks.

    Each file becomes a function that returns what it exports, so that names of two files cannot
    meet.

    Args:
        name: of a .js file in this folder, without its ending
    Returns: JavaScript without import and export statements
    """
    parts = []
    for file in scripts(name):
        code = (HERE / f"{file}.js").read_text(encoding="utf-8")
        exports = ",".join(EXPORT.findall(code))
        body = EXPORT.sub("", IMPORT.sub(r"const {\1} = $\2;\n", code))
        parts.append(strip(f"const ${file} = (() => {{\n{body}\nreturn {{{exports}}};\n}})();\n"))
    return "\n".join(parts) + "\n"


def scripts(name: str) -> list[str]:
    """A script and all that it imports, imported ones first.

    Args:
        name: of a .js file in this folder, without its ending
    Returns: names of files, each once
    """
    files: list[str] = []

    def add(file: str) -> None:
        for _, imported in IMPORT.findall((HERE / f"{file}.js").read_text(encoding="utf-8")):
            add(imported)
        if file not in files:
            files.append(file)

    add(name)
    return files


def strip(code: str) -> str:
    """JavaScript without comments, and without the blanks that it does not need.

    Args:
        code: a script in which each statement ends with a semicolon or a brace
    Returns: the same program; strings and regular expressions are kept as they stand
    """
    out: list[str] = []
    gap = ""  # what stood since the last token: "", " " or "\n"
    for token in _tokens(code):
        if token.isspace():
            gap = "\n" if "\n" in token or gap == "\n" else " "
            continue
        before = out[-1] if out else ""
        if token in (")", "]", "}") and before == ",":
            out.pop()  # a list may end with a comma; nobody needs it
        elif gap and _apart(before, token, gap):
            out.append(gap)
        out.append(token)
        gap = ""
    return "".join(out)


def strip_style(rules: str) -> str:
    """CSS without comments, and without the blanks around its braces and semicolons.

    Args:
        rules: a style sheet that holds no brace or semicolon within a string
    Returns: the same rules
    """
    rules = re.sub(r"/\*.*?\*/", "", rules, flags=re.DOTALL)
    return re.sub(r"\s*([{};])\s*", r"\1", rules).strip() + "\n"


def _tokens(code: str) -> list[str]:
    """All of a script: words, signs, strings, regular expressions, and blanks for comments."""
    tokens: list[str] = []
    last, at = "", 0  # the last token that is not blank
    while at < len(code):
        kinds = [COMMENT, BLANK, STRING, *([REGEX] if last in BEFORE_REGEX else []), WORD]
        found = next(match for kind in kinds if (match := kind.match(code, at)))
        tokens.append(" " if found.re is COMMENT else found[0])
        last = last if found.re in (COMMENT, BLANK) else found[0]
        at = found.end()
    return tokens


def _apart(before: str, token: str, gap: str) -> bool:
    """Must something stand between two tokens where a gap was?"""
    if not before:
        return False
    if gap == "\n" and before not in OPEN and token[0] not in CLOSED:
        return True
    words = before[-1].isalnum() or before[-1] in "_$", token[0].isalnum() or token[0] in "_$"
    return all(words) or (before in ("+", "-", "/") and token[0] in "+-/")
