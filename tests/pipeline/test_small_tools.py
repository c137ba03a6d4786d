"""The quiz's syntax, the set-up cell, the check of the address, a list of bugs."""

import re
import subprocess
import sys
from types import SimpleNamespace

import pytest
from tiny import REPOSITORY, make_book

from tools.book import quiz, setup_cell
from tools.book.chapters import VERSION, Book
from tools.ci import breaks

GOOD = "Why?\n\n- [ ] One.\n\n  Because.\n\n- [x] Two\n  lines.\n\n  So it is.\n\n  Twice.\n"


def test_quiz():
    parsed = quiz.parse(GOOD)
    assert parsed.question == "Why?"
    assert [(o.right, o.text, o.why) for o in parsed.options] == [
        (False, "One.", "Because."),
        (True, "Two lines.", "So it is.\n\nTwice."),
    ]


@pytest.mark.parametrize(
    "body, message",
    [
        ("- [x] a\n\n  b\n\n- [ ] c\n\n  d", "begins with its question"),
        ("Why?\n\n- [x] a\n\n  b", "two options or more"),
        ("Why?\n\n- [ ] a\n\n  b\n\n- [ ] c\n\n  d", "needs a right option"),
        ("Why?\n\n- [x] a\n\n  b\n\n- [ ] c", "say why under the option 'c'"),
        ("Why?\n\n- [x] a\n\nb\n\n- [ ] c\n\n  d", "indent what follows an option by two"),
    ],
)
def test_a_quiz_that_is_not_complete(body, message):
    with pytest.raises(ValueError, match=message):
        quiz.parse(body)


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    return Book(make_book(tmp_path_factory.mktemp("small"), tiny="# Tiny\n"))


def test_addresses_follow_from_one_line(book):
    assert book.repository.endswith(book.owner_and_name)
    (chapter,) = book.chapters
    at = f"{book.owner_and_name}/blob/v{VERSION}/notebooks/tiny.ipynb"
    assert book.colab(chapter).endswith(at)
    assert f'"git+{book.repository}@v{VERSION}"' in setup_cell.first_code(book, chapter)


@pytest.mark.parametrize("there", [VERSION, "0.0.1", None])
def test_the_setup_cell_replaces_another_release(there, book, monkeypatch, capsys):
    """It installs what it names, unless just that is there: from a release or from a checkout."""
    asked = []
    found = [SimpleNamespace(version=there)] if there else []
    monkeypatch.setattr("importlib.metadata.distributions", lambda name: found)
    monkeypatch.setattr("subprocess.run", lambda command, check: asked.append(command[-1]))
    exec(setup_cell.first_code(book, book.chapters[0]), {})
    said = capsys.readouterr().out
    if there == VERSION:
        assert not asked and not said
    else:
        assert asked == [f"git+{book.repository}@v{VERSION}"]
        assert said.rstrip().endswith(f"release {VERSION} (so far: {there or 'none'})")


def test_the_setup_cell_brings_triton_where_it_is_needed_and_leaves_torch_alone(book):
    code = setup_cell.first_code(book, book.chapters[0])
    assert '"--no-deps"' in code
    assert not re.search("torch|numpy|google|triton", code.split("\n", 1)[1])
    needing = SimpleNamespace(source="tiny.md", front={"needs": ["triton"]})
    code = setup_cell.first_code(book, needing)
    compile(code, "cell", "exec")  # plain Python, no magics
    assert re.search(r'if sys.platform == "linux" and .*"triton==[\d.]+"\)$', code, re.DOTALL)


@pytest.mark.parametrize(
    "name, tag, said",
    [
        ("{}", f"v{VERSION}", ""),
        ("someone/else", f"v{VERSION}", "set repository.url to https://github.com/someone/else"),
        ("{}", "main", f"makes the tag v{VERSION}, not main"),
    ],
)
def test_the_command_that_checks_the_address(name, tag, said):
    words = [name.format(Book(REPOSITORY).owner_and_name), tag]
    command = [sys.executable, "-m", "tools.check.address", *words]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == bool(said) and said in done.stderr


def test_each_bug_of_the_list_has_its_line_and_its_tests():
    assert len(breaks.read_list()) >= 40
