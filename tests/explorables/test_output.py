"""What an explorable's output holds, without a browser: one piece, the same each time, for all."""

import base64
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from html import unescape
from pathlib import Path

import pytest

from attention_src.explorables import (
    HERE,
    NAMES,
    bundle,
    content,
    explorable,
    explorable_html,
    sentence,
)

BOOK = Path(__file__).parents[2] / "book"


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


def picture(name):
    """The static picture's texts, read from the image in the output."""
    data = re.search(r'<img src="data:image/svg\+xml;base64,([^"]+)"', explorable_html(name))
    root = ET.fromstring(base64.b64decode(data[1]))
    return [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]


def test_every_explorable_stands_in_a_chapter():
    chapters = "".join(page.read_text("utf-8") for page in BOOK.rglob("*.md"))
    assert set(re.findall(r'explorable\(\s*"(\w+)"', chapters)) == set(NAMES)


def test_the_output_is_the_same_bytes_in_another_process(name):
    code = (
        "import sys; from numpy import array; from attention_src.explorables import *;"
        f"sys.stdout.write(explorable_html({name!r}))"
    )
    env = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONIOENCODING": "utf-8"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, env=env, check=True)
    assert run.stdout.decode("utf-8") == explorable_html(name)


LARGE = {"sentence72": 100_000}  # it brings the weights of 72 heads, and a still of them


def test_the_output_is_small(name):
    assert len(explorable_html(name).encode()) < LARGE.get(name, 65_000)


def test_nothing_is_fetched_from_anywhere(name):
    html = explorable_html(name)
    without_namespace = html.replace('"http://www.w3.org/2000/svg"', "")
    for word in ("http:", "https:", "//cdn", "@import", "url(", "fetch(", "import(", "XMLHttp"):
        assert word not in without_namespace, word
    sources = re.findall(r'(?:src|href)="([^"]*)"', html)
    assert sources and all(source.startswith("data:") for source in sources)


def test_no_id_can_clash(name):
    assert not re.search(r"\bid=|\bid:|Math\.random|Date\b", explorable_html(name))


def test_the_script_is_one_module_that_cannot_end_early(name):
    html = explorable_html(name)
    assert html.count("<script") == html.count("</script") == 1
    script = bundle(name)
    assert script in html
    assert not re.search(r"^(import|export) ", script, re.MULTILINE)
    assert script.count("export function mount") == 0 and "function mount(" in script


def test_the_files_are_real_modules():
    """What one file imports, the other exports: a learner can run them unbundled."""
    for file in HERE.glob("*.js"):
        imports = re.findall(
            r'^import \{([^}]*)\} from "\./(.+)";$', file.read_text(), re.MULTILINE
        )
        for names, other in imports:
            exported = re.findall(
                r"^export (?:function|const) (\w+)", (HERE / other).read_text(), re.MULTILINE
            )
            assert {n.strip() for n in names.split(",") if n.strip()} <= set(exported), file.name


def test_without_scripts_there_is_a_sentence_and_a_described_picture(name):
    page = explorable_html(name)
    body = unescape(page[page.index('<div class="ae-body"') : page.index("<script")])
    assert content(name, {}).sentence in body
    assert len(re.search(r'alt="([^"]{40,})"', body)[1]) < 250
    # Its size is known before it is drawn.
    assert re.search(r'<img [^>]*width="\d+" height="\d+"', body)


def test_a_cell_gets_html_and_one_sentence(name, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append((data, raw)))
    assert explorable(name) is None
    [(data, raw)] = shown
    assert raw is True
    assert data == {
        "text/html": explorable_html(name),
        "text/plain": content(name, {}).sentence,
    }
    assert "\n" not in data["text/plain"]


def test_the_sentence_s_picture_shows_what_was_recorded():
    tokens, weights = sentence.recorded()
    texts = picture("sentence")
    assert texts[:3] == ["from", "to", "weight"]
    assert texts[3::3] == texts[4::3] == tokens
    row = weights[0, tokens.index("it")]
    assert texts[5::3] == [f"{p:.2f}" for p in row]
    assert "thickest goes from “it” to “horse”" in content("sentence", {}).alt


UNKNOWN = f"name is 'maks'; it should be one of {', '.join(NAMES)}"
BAD = [
    ("maks", {}, UNKNOWN),
    ("linear", {"tokens": ["a"]}, r"explorable\('linear'\) takes nothing else; .* given tokens"),
    ("masking", {"tokens": ["a"]}, r"takes state; it was given tokens"),
]


@pytest.mark.parametrize("call", [explorable, explorable_html])
@pytest.mark.parametrize(("name", "given", "message"), BAD)
def test_what_does_not_fit_is_a_clear_error(call, name, given, message):
    with pytest.raises(ValueError, match=message):
        call(name, **given)
