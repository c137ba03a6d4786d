"""One script from several: an explorable's file and all that it imports, as they are written."""

import re
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:const|function) (\w+))", re.MULTILINE)


@cache
def bundle(name: str) -> str:
    """A script and all that it imports, as one module.

    Each file becomes a function that returns what it exports, so that names of two files cannot
    meet.

    Args:
        name: of a .js file in this folder, without its ending
    Returns: JavaScript without import and export statements
    """
    parts = []
    for file in scripts(name):
        code = (HERE / f"{file}.js").read_text(encoding="utf-8")
        exports = ", ".join(EXPORT.findall(code))
        body = EXPORT.sub("", IMPORT.sub(r"const {\1} = $\2;\n", code))
        parts.append(f"const ${file} = (() => {{\n{body}return {{ {exports} }};\n}})();\n")
    return "\n".join(parts)


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
