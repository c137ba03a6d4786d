"""Why a cell cannot run in the page: found from its code, and found for each cell that cannot."""

import re
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document

from tools.book.chapters import Book
from tools.book.freshness import REPOSITORY
from tools.page import __main__ as command
from tools.page import needs, reasons

BOOK = Book(REPOSITORY)


def chapter(*sources):
    """A chapter of such cells; each source may begin with its tags: "[setup] a = 1"."""
    made = []
    for source in sources:
        tags, code = re.fullmatch(r"(?:\[(.*?)\] )?(.*)", source, re.DOTALL).groups()
        metadata = {"tags": tags.split()} if tags else {}
        made.append(SimpleNamespace(cell_type="code", source=code, metadata=metadata))
    return SimpleNamespace(read=lambda: SimpleNamespace(cells=made))


def reasons_of(*sources):
    return [cell.reason for cell in needs.cells(chapter(*sources))]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import torch", "needs PyTorch"),
        ("from torch.nn import functional as F", "needs PyTorch"),
        ("def f():\n    import torch", "needs PyTorch"),
        ("from attention_src.softmax import layer", "needs PyTorch"),
        ("from attention_src.softmax.kernel import softmax_forward", "needs Triton"),
        ("from attention_src.models.minilm import MiniLM", ""),
        ("from attention_src.models.minilm import MiniLM\nimport torch", "needs PyTorch"),
        ("from attention_src.models.smollm2 import SmolLM2", "needs SmolLM2"),
        ("from attention_src.models.smollm2.in_numpy import listing", ""),
        ("from attention_src.timing import print_time", "measures time"),
        ("import subprocess", "starts processes"),
        ("from attention_src.explorables import explorable", "moves without Python"),
        ("from attention_src.exercises.keep import keep", ""),
        ("from attention_src.models.minilm.sentences import PLAIN", ""),
        ("from attention_src.softmax.reference import softmax", ""),
        ("from attention_src.figures import figure, show", ""),
        ("import json, numpy as np", ""),
    ],
)
def test_what_is_imported_decides(code, reason):
    assert reasons_of(f"[notebook-only] {code}") == [reason]


def test_a_module_needs_the_models_that_it_opens_and_never_the_package_itself(
    tmp_path, monkeypatch
):
    assert needs.imports("attention_src.softmax.reference") == frozenset()
    assert needs.imports("attention_src.models.minilm") == {"minilm"}
    # One that lies beside the models.
    source = tmp_path / "opened.py"
    source.write_text(
        "from attention_src.models.minilm.sentences import PLAIN\n"
        "from attention_src.models.smollm2 import SmolLM2\n"
    )
    files = {**needs._files(), "attention_src.opened": source}
    monkeypatch.setattr(needs, "_files", lambda: files)
    assert needs.imports("attention_src.opened") == {"smollm2", "torch"}


def test_a_name_carries_what_it_was_made_with():
    model = "[notebook-only] from attention_src.models.smollm2 import SmolLM2\nm = SmolLM2.load()"
    assert (
        reasons_of(model, "[notebook-only] x = m.encode('a')", "[notebook-only] x[0] = 1")
        == ["needs SmolLM2"] * 3
    )
    assert (
        reasons_of(
            "[notebook-only] import torch",
            "[notebook-only] a = {}\na[0] = torch.ones(1)",
            "[notebook-only] print(a)",
        )[2]
        == "needs PyTorch"
    )
    # A name inside a function is another one, and so is one that was made anew in the page.
    other = "[notebook-only] def f(m):\n    return m\n\nprint(f(1))"
    assert reasons_of(model, other)[1] == ""
    assert reasons_of(model, "m = 1", "[notebook-only] print(m)") == ["needs SmolLM2", "", ""]


def test_a_cell_that_runs_minilm_directly_or_not_is_known():
    sources = (
        "import numpy as np",
        "from attention_src.models.minilm import MiniLM\nmodel, n = MiniLM.load(), 1",
        "x = model.embed('a')",
        "print(n)",  # made in a cell that needs it
        "def f():\n    return x\n\nprint(2)",
        "x = np.ones(3)",
        "print(x)",
        "[notebook-only] import torch\ny = model.embed('a'), torch.ones(3)",
    )
    found = needs.cells(chapter(*sources))
    assert [cell.minilm for cell in found] == [False, *[True] * 4, False, False, False]
    assert [cell.reason for cell in found] == [""] * 7 + ["needs PyTorch"]


def test_a_cell_that_only_helps_another_has_its_reason():
    helper = "[notebook-only] def f(x):\n    return 2 * x"
    assert (
        reasons_of(helper, "[notebook-only] import torch\nf(torch.ones(1))")[0] == "needs PyTorch"
    )
    assert reasons_of(helper + "\n\nprint(f(1))", "[notebook-only] import torch\nf(torch)")[0] == ""
    imported = "[notebook-only] import json, torch"
    assert reasons_of(imported, "[notebook-only] print(json.dumps(1))")[1] == "needs PyTorch"


def test_of_several_reasons_the_first_is_told():
    several = frozenset({"torch", "triton", "time", "jaxtyping"})
    assert needs.first_reason(several) == "needs Triton"
    assert needs.first_reason(frozenset()) == ""


@pytest.mark.parametrize("page", BOOK.chapters, ids=lambda page: page.slug)
def test_every_shown_cell_runs_or_says_why(page):
    """A cell without a reason needs no tag: it can run in the page."""
    for cell in needs.cells(page):
        if cell.shown:
            assert cell.runs != bool(cell.reason), cell.source


@pytest.mark.parametrize("page", BOOK.chapters, ids=lambda page: page.slug)
def test_what_runs_uses_nothing_that_only_other_cells_make(page):
    made_elsewhere, here = {}, set()
    for cell in needs.cells(page):
        used, made = needs.names(cell.source)
        if cell.runs or "setup" in cell.tags:
            assert not (used - here - made) & set(made_elsewhere), cell.source
            here |= made
        else:
            made_elsewhere.update(dict.fromkeys(made, cell))


def test_the_line_links_to_the_notebook_where_that_helps():
    link = reasons.notebook(BOOK, BOOK.chapters[1])
    assert "colab" in link and BOOK.chapters[1].notebook_name in link
    assert reasons.line("needs Triton", link) == f'<p class="run-why">needs Triton: {link}</p>'
    assert "<a" not in reasons.line("moves without Python", link)
    minilm = reasons.model_line(link)
    assert minilm.startswith(reasons.CELL) and minilm.endswith(f">needs MiniLM: {link}</p>")


def test_a_cell_that_is_not_found_on_its_page_is_told(monkeypatch):
    page = next(p for p in BOOK.chapters if p.slug == "gpu")
    without = [c for c in needs.cells(page) if c.shown and not c.runs]
    warnings = []
    warn = SimpleNamespace(warning=lambda text, *args, **where: warnings.append(text % args))
    monkeypatch.setattr(reasons, "_log", warn)
    monkeypatch.setattr(reasons, "chapter_of", lambda app, name: page)
    app = SimpleNamespace(
        env=SimpleNamespace(docname="gpu"), builder=SimpleNamespace(format="html"), srcdir=BOOK.root
    )

    def lines_of(sources):
        doctree = new_document("gpu.md")
        for source in sources:
            cell = nodes.container(nb_element="cell_code_source")
            doctree += cell
            cell += nodes.literal_block(source, source)
        reasons.add_reasons(app, doctree)
        return len(list(doctree.findall(nodes.raw)))

    sources = [c.source for c in without]
    assert lines_of(sources) == len(without) and not warnings
    assert lines_of([*sources[1:], sources[0] + " "]) == len(without) and not warnings
    assert lines_of([sources[0] + "  # changed", *sources[1:]]) == len(without) - 1
    assert len(warnings) == 1 and sources[0].splitlines()[0] in warnings[0]


def test_the_command_counts(capsys):
    assert command.main(["--count", "retrieval", "gpu"]) == 0
    _, *rows = capsys.readouterr().out.splitlines()
    counts = {line.split()[0]: [int(n) for n in line.split()[1:3]] for line in rows}
    assert set(counts) == {"retrieval", "gpu", "all"}
    assert counts["all"] == [sum(c) for c in zip(counts["retrieval"], counts["gpu"], strict=True)]
    cells = [c for c in needs.cells(next(p for p in BOOK.chapters if p.slug == "gpu")) if c.shown]
    assert sum(counts["gpu"]) == len(cells)
