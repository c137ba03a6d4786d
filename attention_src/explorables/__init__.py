"""Explorables: figures that the reader can change, alive without kernel and without network.

    explorable("softmax")   scores to drag, a temperature, five rules, the weights they give
    explorable("masking")   a mask to paint, and the weights that renormalise under it

Each is one HTML output that carries all it needs: style, script, and a picture with a sentence for
places that run no scripts, such as GitHub's viewer. The scripts are the .js files beside this one,
written to be read. They are plain ES modules and native controls: a chart library would weigh ten
times as much as all of them. Their numbers equal `attention_src`'s; a browser test compares them.
"""

import base64
import html
import json
import re
from pathlib import Path

from attention_src.explorables.pictures import EXPLORABLES

HERE = Path(__file__).parent


def explorable(name: str) -> None:
    """Show an explorable as the output of a notebook's cell.

    Args:
        name: "softmax" or "masking"
    Raises:
        ValueError: there is no explorable of that name
    """
    from IPython.display import display

    page = explorable_html(name)
    display({"text/html": page, "text/plain": EXPLORABLES[name].sentence}, raw=True)


def explorable_html(name: str) -> str:
    """The HTML of an explorable: the same bytes each time, with no address of another host.

    Args:
        name: "softmax" or "masking"
    Raises:
        ValueError: there is no explorable of that name
    """
    if name not in EXPLORABLES:
        raise ValueError(f"name is {name!r}; it should be one of {', '.join(sorted(EXPLORABLES))}")
    chosen = EXPLORABLES[name]
    given = html.escape(json.dumps(chosen.given, ensure_ascii=False))
    picture = base64.b64encode(chosen.picture().encode()).decode()
    width, height = chosen.size
    return (
        f'<div class="attention-explorable" data-explorable="{name}" data-given="{given}">\n'
        f"<style>\n{_read('explorable.css')}</style>\n"
        '<div class="ae-body" role="group" aria-label="Interactive figure: '
        f'{name}">\n<img src="data:image/svg+xml;base64,{picture}" width="{width}" '
        f'height="{height}" alt="{html.escape(chosen.alt)}">\n'
        f"<p>{html.escape(chosen.sentence)}</p>\n</div>\n"
        f'<script type="module">\n{bundle(name)}</script>\n</div>\n'
    )


def bundle(name: str) -> str:
    """The explorable's script and all that it imports, as one module.

    Imported files come first; imports are dropped and exports made local, in one scope.
    """
    files: list[str] = []

    def add(file: str) -> None:
        for imported in re.findall(r'^import [^;]* from "\./(.+)";$', _read(file), re.MULTILINE):
            add(imported)
        if file not in files:
            files.append(file)

    add(f"{name}.js")
    code = "\n".join(_read(file) for file in files)
    code = re.sub(r"^import [^;]*;\n", "", code, flags=re.MULTILINE)
    return re.sub(r"^export ", "", code, flags=re.MULTILINE)


def _read(file: str) -> str:
    return (HERE / file).read_text(encoding="utf-8")
