"""The site shows the stored outputs, runs nothing, warns of nothing, and refuses what is stale."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tiny import REPOSITORY, all_cases, make_book

from tools.notebook import build as notebooks

WITH_CODE = """

```{code-cell} ipython3
:tags: [hide-input]
print("computed " + "once")
```

````{solution-start} ex:case
:class: dropdown
````

```{code-cell} ipython3
print("inside the " + "solution")
```

````{solution-end}
````
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    # The last solution of the cases has no code; this one has.
    cases = re.sub(r"````\{solution-start\}.*?\{solution-end\}\n````", "", all_cases(), flags=re.S)
    root = make_book(tmp_path_factory.mktemp("site"), cases=cases + WITH_CODE)
    assert notebooks.main([], root) == 0
    # A mark that no execution would print: what the site shows must come from the notebook.
    path = root / "notebooks/cases.ipynb"
    text = path.read_text("utf-8")
    assert text.count('"computed once') == 1
    path.write_text(text.replace('"computed once', '"stored, not computed'), "utf-8")
    return root


def build(root, **environment):
    jupyter_book = Path(sys.executable).with_name("jupyter-book")
    command = [jupyter_book, "build", ".", "-W", "-n", "--keep-going"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "NO_COLOR": "1", **environment}
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def page(made):
    ran = build(made, CI="true")
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    assert "WARNING" not in ran.stdout + ran.stderr
    assert "Executing notebook" not in ran.stdout + ran.stderr
    return (made / "_build/html/book/cases.html").read_text("utf-8")


def test_stored_outputs_are_shown(page):
    assert "stored, not computed" in page
    assert "computed once" not in page


def test_tags_and_solutions_survive(page):
    assert "tag_hide-input" in page
    solution = page[page.index("inside the solution") - 20_000 :]
    assert "Solution to" in solution


def test_the_quiz_is_native(page):
    assert page.count('<details class="quiz-option quiz-wrong">') == 2
    assert page.count('<details class="quiz-option quiz-right">') == 2
    assert 'id="question-1"' in page and 'id="question-2"' in page


def test_numbers_in_notebook_and_page_agree(made, page):
    notebook = (made / "notebooks/cases.ipynb").read_text("utf-8")
    equations = re.findall(r'<span class="eqno">\((\d+)\)', page)
    assert equations and equations == re.findall(r"\\tag\{(\d+)\}", notebook)
    for text in ("Fig. 1", "Table 1", "Table 2", "Theorem 1", "Definition 1", "Exercise 2"):
        assert text in re.sub(r"<[^>]+>", "", page) and text in notebook


def test_links_of_the_notebook_lead_to_anchors_of_the_page(made, page):
    notebook = (made / "notebooks/cases.ipynb").read_text("utf-8")
    anchors = set(re.findall(r"/book/cases\.html#([^)\"\\]+)\)", notebook))
    assert len(anchors) > 5
    assert anchors <= set(re.findall(r'id="([^"]+)"', page))


def test_a_changed_notebook_reaches_the_page(made, page, tmp_path):
    root = shutil.copytree(made, tmp_path / "again", symlinks=True)
    path = root / "notebooks/cases.ipynb"
    path.write_text(path.read_text("utf-8").replace("stored, not", "changed, not"), "utf-8")
    ran = build(root, CI="true")
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    assert "changed, not computed" in (root / "_build/html/book/cases.html").read_text("utf-8")


@pytest.fixture
def stale(made, tmp_path):
    root = shutil.copytree(made, tmp_path / "stale", symlinks=True)
    source = root / "book/cases.md"
    source.write_text(source.read_text("utf-8").replace('"once"', '"twice"'), "utf-8")
    return root


def test_a_stale_chapter_stops_ci(stale):
    ran = build(stale, CI="true")
    assert ran.returncode != 0
    message = "notebooks/cases.ipynb is stale (book/cases.md changed): run make notebooks"
    assert message in ran.stdout + ran.stderr


def test_a_missing_notebook_stops_ci(made, tmp_path):
    root = shutil.copytree(made, tmp_path / "missing", symlinks=True)
    (root / "notebooks/cases.ipynb").unlink()
    ran = build(root, CI="true")
    assert ran.returncode != 0
    assert "notebooks/cases.ipynb is missing: run make notebooks" in ran.stdout + ran.stderr


def test_a_stale_chapter_is_executed_on_an_authors_machine(stale):
    ran = build(stale, CI="")
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    assert "(executed for this build)" in ran.stdout
    assert "computed twice" in (stale / "_build/html/book/cases.html").read_text("utf-8")


def test_where_only_the_site_can_be_built_a_stale_chapter_stops(made, monkeypatch):
    from importlib import metadata

    from tools.site import outputs as book_outputs

    def not_installed(name):
        raise metadata.PackageNotFoundError(name)

    assert book_outputs.can_execute()
    monkeypatch.setattr(book_outputs, "distribution", not_installed)
    assert not book_outputs.can_execute()
