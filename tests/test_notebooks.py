"""What nbval does not check: that each cell was run, that figures are text, that all is current.

nbval re-runs the notebooks and compares outputs, but skips cells that were never run, and pictures
that are not text.
"""

import configparser
import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from attention_src import timing
from attention_src.exercises.keep import PARTS
from tools.book import notebook as notebooks
from tools.book.chapters import VERSION, Book
from tools.book.freshness import own_cells

ROOT = Path(__file__).parents[1]
CHAPTERS = Book(ROOT).chapters

each_notebook = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.slug)


def read(chapter):
    return nbformat.read(chapter.notebook, as_version=4)


def code_cells(chapter):
    return [cell for cell in read(chapter).cells if cell.cell_type == "code"]


def outputs(chapter):
    return [output for cell in code_cells(chapter) for output in cell.outputs]


@pytest.mark.slow
def test_committed_notebooks_are_what_the_chapters_give(capsys):
    status = notebooks.main(["--check"])
    assert status == 0, capsys.readouterr().out


@each_notebook
def test_every_code_cell_was_run_in_order(chapter):
    counts = [cell.execution_count for cell in code_cells(chapter)]
    assert counts == list(range(1, len(counts) + 1))


@each_notebook
def test_no_cell_failed(chapter):
    assert [o.ename for o in outputs(chapter) if o.output_type == "error"] == []


@each_notebook
def test_nothing_is_hidden_from_nbval(chapter):
    for cell in code_cells(chapter):
        assert not {"nbval-skip", "nbval-ignore-output"} & set(cell.metadata.get("tags", []))
        assert "NBVAL" not in cell.source


@each_notebook
def test_the_setup_cell_is_silent_where_all_is_there(chapter):
    (setup,) = (c for c in code_cells(chapter) if "generated" in c.metadata.get("tags", []))
    assert setup.outputs == []


@each_notebook
def test_badge_and_setup_cell_name_the_release_and_no_branch(chapter):
    badge, setup = read(chapter).cells[:2]
    assert re.findall(r"/blob/([^/]+)/", badge.source) == [f"v{VERSION}"]
    assert re.findall(r"\bgit\+[^@\"]+@?([^\"]*)\"", setup.source) == [f"v{VERSION}"]
    assert f'if installed != "{VERSION}":' in setup.source


def test_the_citation_names_the_release():
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall("^version: (.*)$", cited, re.M) == [VERSION]


@each_notebook
def test_every_figure_can_be_compared_and_says_what_it_shows(chapter):
    for output in outputs(chapter):
        kinds = {kind for kind in output.get("data", {}) if kind.startswith("image/")}
        assert kinds <= {"image/svg+xml"}, "nbval compares neither PNG nor JPEG"
        if kinds:
            alt = output.data["text/plain"]
            assert len(alt) > 20 and not alt.startswith("<"), f"no alt text: {alt!r}"


@each_notebook
def test_outputs_name_no_place_of_this_machine(chapter):
    text = json.dumps(outputs(chapter))
    for place in (str(ROOT), str(Path.home()) + "/", "/tmp/", "ipykernel_", "site-packages"):
        assert place not in text


@each_notebook
def test_exercises_are_committed_unsolved(chapter):
    cells = own_cells(read(chapter))
    defined = set()
    for cell in cells:
        bodies = re.findall(r"^def (\w+)\((.*?)\n(?=\S|\Z)", cell.source + "\n", re.M | re.S)
        stubs = {name for name, body in bodies if "raise NotImplementedError" in body}
        assert cell.source.count("raise NotImplementedError") == len(stubs)
        assert {name for name, _ in bodies if name.startswith("my_")} <= stubs
        defined |= stubs
        checked = re.findall(rf"^check_\w+\((my_\w+|{'|'.join(PARTS)})\b", cell.source, re.M)
        assert set(checked) <= defined
        if checked:
            said = "".join(output.get("text", "") for output in cell.outputs)
            assert said.count("not started") == len(checked)


@each_notebook
def test_every_exercise_has_a_solution_below(chapter):
    text = "\n".join(c.source for c in read(chapter).cells if c.cell_type == "markdown")
    exercises = re.findall(r"^### Exercise ([\d.]+)", text, re.M)
    assert sorted(set(re.findall(r"<summary>Solution to Exercise ([\d.]+)<", text))) == sorted(
        exercises
    )


@each_notebook
def test_code_fits_the_page(chapter):
    """A line of code has 76 characters at most: so wide is the page on a screen of 1440 pixels."""
    for cell in read(chapter).cells:
        if cell.cell_type == "code" and "generated" in cell.metadata.get("tags", []):
            continue  # the set-up cell is no part of the page
        shown = re.findall(r"^```python\n(.*?)^```", cell.source, re.M | re.S)
        for line in "\n".join(shown if cell.cell_type == "markdown" else [cell.source]).split("\n"):
            assert len(line) <= 76, line


@each_notebook
def test_no_raw_myst_is_left(chapter):
    for cell in read(chapter).cells:
        if cell.cell_type == "markdown":
            text = re.sub(r"^ *(`{3,})\w*\n.*?^ *\1", "", cell.source, flags=re.S | re.M)
            assert not re.search(r"(?<!`)\{[a-z:]+\}`|^\W*[`:]{3,}\{|^\(\S+\)=$", text, re.M)


def test_only_timings_are_kept_from_comparison():
    config = configparser.ConfigParser()
    config.read(Path(__file__).with_name("sanitize.cfg"), encoding="utf-8")
    (section,) = config.sections()
    rule, line = config[section], "[time] dense: 1.234 ms ± 0.056"
    assert re.fullmatch(timing.TIME_PATTERN, line)
    assert re.sub(rule["regex"], rule["replace"], line) == "[time] dense: TIME"
    for other in (
        "dense: 1.234 ms ± 0.056",
        "[time] 1.234 ms ± 0.056",
        "weight 0.123",
        "[time] x: 5",
    ):
        assert re.sub(rule["regex"], rule["replace"], other) == other


SLOW = """
import time
import pytest

def test_quick():
    pass

def test_long():
    end = time.{clock}() + 0.5
    while time.{clock}() < end:
        {what}

@pytest.mark.slow
def test_marked():
    assert False
"""


@pytest.mark.slow
@pytest.mark.parametrize("processes", [[], ["-n", "2"]], ids=["one process", "two"])
@pytest.mark.parametrize("clock", ["thread_time", "monotonic"])
def test_what_computes_long_fails_a_fast_run(tmp_path, clock, processes):
    """Limits are smaller here, and two cells and a test compute or sleep for longer."""
    computes = clock == "thread_time"
    what = "pass" if computes else "time.sleep(0.1)"
    text = (ROOT / "conftest.py").read_text("utf-8")
    limits = '{"test": 2.0, "setup": 10.0, "cell": 5.0, "notebook": 20.0}'
    assert limits in text
    text = text.replace(limits, '{"test": 0.1, "setup": 60, "cell": 0.5, "notebook": 1.0}')
    text = text.replace('"notebook with slow cells": 120.0', '"notebook with slow cells": 1.0')
    compared = "_slowness = (time.process_time() - begin) / LOOP_SECONDS"
    assert compared in text
    text = text.replace(compared, "_slowness = 1.0")  # what computes here takes given seconds
    (tmp_path / "conftest.py").write_text(text, "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n", "utf-8")
    (tmp_path / "test_some.py").write_text(SLOW.format(clock=clock, what=what), "utf-8")
    work = f"import time; end = time.{clock}() + 1.5\nwhile time.{clock}() < end:\n    {what}"
    cells = [
        nbformat.v4.new_code_cell(work, execution_count=i, metadata={"tags": tags})
        for i, tags in enumerate(([], ["slow"]), 1)
    ]
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), tmp_path / "a.ipynb")
    command = [sys.executable, "-m", "pytest", "-q", "--fast", "--nbval", "--nbval-current-env"]
    ran = subprocess.run([*command, *processes], cwd=tmp_path, capture_output=True, text=True)
    assert "4 passed" in ran.stdout, ran.stdout + ran.stderr  # the marked one would fail
    named = re.findall(r"^TOO SLOW (.+): .*, a ([\w ]+) may take", ran.stdout, re.M)
    expected = [("a.ipynb", "notebook with slow cells"), ("a.ipynb::Cell 0", "cell")]
    expected += [("test_some.py::test_long", "test")]
    assert named == (expected if computes else [])
    assert ran.returncode == computes
