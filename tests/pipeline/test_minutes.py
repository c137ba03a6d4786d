"""What a chapter asks of its reader: how it is counted, and what all chapters keep to."""

import itertools

import pytest
from tiny import make_book, ran, store

from tools.book import minutes, parts
from tools.book.chapters import Book
from tools.book.freshness import REPOSITORY
from tools.book.predict import parse
from tools.check import __main__ as command
from tools.check import limits

BOOK = Book(REPOSITORY)
CHAPTERS = {chapter.slug: chapter for chapter in minutes.lessons(BOOK)}
REPLIES = "- [ ] One two.\n\n  Three.\n\n- [x] Four five.\n\n  Six.\n"
PREDICT = f"````{{predict}} pr:a\nSeven?\n\n{REPLIES}````\n\n"
CELL = "```{{code-cell}} ipython3\n{}\n```\n\n"
EXERCISE = "```{{exercise}} T\n:label: ex:{}\n:difficulty: 1\n:minutes: {}\n\nDo.\n```\n\n"
FIGURE = (
    "---\ntags: [hide-input]\nmystnb:\n  figure:\n    caption: Two words.\n    name: fig:a\n---\n"
    'show(fig, alt="A curve.")'
)
PAGE = (
    "# Title of four words\n\n"
    + "Opening words, $x^2$ and `code` and 42.\n\n"
    + CELL.format("a = 1\n\nb = 2")
    + CELL.format(":tags: [hide-input]\nc = 3\nexplorable('one')")
    + CELL.format(":tags: [remove-cell]\nshow(fig, alt='Nobody sees it.')")
    + "## First section\n\n"
    + PREDICT
    + CELL.format(FIGURE)
    + "```{reveal}\nEight nine {term}`ten <query>`.\n```\n\n"
    + "```python\nfive = 5\n```\n\n"
    + "## Exercises\n\nMany words that do not count as reading.\n\n"
    + EXERCISE.format("a", 30)
    + EXERCISE.format("b", 12)
    + CELL.format("def my_answer():\n    raise NotImplementedError")
    + "## Quiz\n\nMore.\n\n## What to keep\n\nKeep these four words.\n"
)


@pytest.fixture
def page(tmp_path):
    return Book(make_book(tmp_path, page=PAGE)).chapters[0]


def test_what_is_counted(page):
    assert minutes.reading(page) == minutes.Budget(
        # Title, opening, heading, question with replies, caption, reveal, the end and its heading.
        words=4 + 4 + 2 + 7 + 2 + 3 + 3 + 4,
        captions=2,
        code=3,
        predictions=1,
        pictures=1,
        explorables=1,
    )


def test_minutes_are_the_formula():
    long = minutes.Budget(words=2400, code=180, predictions=6, pictures=4, explorables=2)
    assert round(long.minutes) == 42  # the example by which the limit was set


def test_in_short_are_the_ends_and_the_pictures(page, monkeypatch):
    sections = (
        ("", minutes.Budget(words=130, code=120)),
        ("Long", minutes.Budget(words=5070, captions=130, predictions=9, pictures=6)),
        ("What to keep", minutes.Budget(words=130)),
    )
    monkeypatch.setattr(minutes, "sections", lambda chapter: sections)
    assert minutes.minutes_in_short(page) == 1 + 1 + 1 + 6 / 2


def test_the_first_line(page, tmp_path):
    assert minutes.time_line(page) == (
        "2 min to read (opening, pictures, summary: 1 min), 42 min of exercises, 2 s to run"
    )
    plain = Book(make_book(tmp_path / "plain", plain="# T\n\n:minutes: 9\n"))
    assert minutes.time_line(plain.chapters[0]) == "1 min to read, 2 s to run"
    assert minutes.time_line(plain.pages[0]) == ""


@pytest.mark.parametrize(
    "text, count",
    [
        ("It is 8, a or L3H5.", 3),
        ("the keys' own half-way mark", 5),
        ("`code` $a b$ {cite:p}`a2020b`", 0),
        ("[a link](page.md#anchor) to {term}`keys <key>` and {term}`query`", 5),
        ("| one | two |\n|---|---|\n| three | four |", 4),
        ("```{admonition} Five six\n:class: dropdown\nseven\n```", 3),
        ("- one\n  - two\n\n> three", 3),
    ],
)
def test_words(text, count):
    assert parts.count_words(text) == count


GIVEN = "{given}`1`, {given}`2 <a paper>`, {given}`3 <our runs>`, {given}`4 <measured in page>`"


def test_each_rule_can_say_no(tmp_path, monkeypatch):
    folds = [CELL.format(f":tags: [hide-input]\n{code}") for code in ("# It\ng()", "a = 1\ng()")]
    text = f"# P\n\nGuess first: it is {GIVEN}\n\n" + CELL.format("f()") + "".join(folds)
    (page,) = Book(make_book(tmp_path, page=text)).chapters
    monkeypatch.setattr(limits, "LESSONS", ("page",))
    table = "a 0.5 1,024 12\nb 0.25 0.5\nlonger 0.75\n"
    store(
        page.notebook,
        *(ran("f()", "below 1e-15: True"), ran("f()", "a  True\nb  True \n")),
        ran("f()", "[ True False]\nTrue, Claim 000-09"),
        ran("f()", "is: True\n" + table * 9, "remove-cell"),
        *(ran("f()", table), ran("f()", " "), ran("f()", table * 9, "take-away")),
    )
    assert list(limits.faults(page)) == [
        "0 pictures; at least 4",
        "0 explorables; at least 1",
        "3 lines of outputs that only say True and not what was measured; at most 0",
        "1 claims that readers see; at most 0: Claim 000-09",
        "0 predictions; at least 2",
        "2 given numbers whose source nobody can look up; at most 0: 1, 3",
        "1 folds of one line; at most 0: # It",
        "1 places that say to think before reading on, and ask nothing; at most 0: Guess first",
    ]
    assert len(limits.blocks(page)) == 4 and limits.numbers_in_a_table(page) == 4


def test_the_command_says_what_is_wrong_and_then_fails(page, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "wrong", lambda page: [f"{page.slug}: 99 is in no output"])
    assert command.main([], Book(tmp_path)) == 1
    assert capsys.readouterr().out.startswith("page: 99 is in no output\nA number in the prose")
    monkeypatch.setattr(command, "wrong", lambda page: [])
    assert command.main(["page"], Book(tmp_path)) == 0


@pytest.mark.parametrize("chapter", BOOK.chapters, ids=lambda chapter: chapter.slug)
def test_nothing_is_wrong_with_a_page(chapter):
    """As python -m tools.check says: its outputs, its numbers, its claims, its limits."""
    assert not list(command.wrong(chapter))


def places(chapter):
    """Where the right option of each prediction stands, and of how many."""
    cells = [cell.source for cell in chapter.read().cells if cell.cell_type == "markdown"]
    asked = [part for text in cells for part in parts.parts(text) if part.kind == "prediction"]
    read = [parse(part.title, part.body).options for part in asked]
    return [([option.right for option in options].index(True), len(options)) for options in read]


PLACES = {slug: places(chapter) for slug, chapter in CHAPTERS.items()}


def test_the_right_option_stands_in_each_place_about_equally_often():
    """Whoever always presses the same place is right by chance, and no more often."""
    three = [right for places in PLACES.values() for right, options in places if options == 3]
    assert len(three) > 60  # a lesson asks two or three
    for place in range(3):
        assert 0.27 < three.count(place) / len(three) < 0.40, f"place {place + 1}"


def test_the_right_option_moves_about():
    for slug, places in PLACES.items():
        runs = [len(list(run)) for _, run in itertools.groupby(right for right, _ in places)]
        assert max(runs) <= 3, f"{slug}: more than three in a row have it in the same place"


@pytest.mark.parametrize("lab", minutes.labs(BOOK), ids=lambda lab: lab.slug)
def test_a_lab_has_its_lesson_and_ends(lab):
    lesson = CHAPTERS[lab.slug.removeprefix("labs/")]
    assert lesson.slug in limits.LESSONS
    number = list(CHAPTERS).index(lesson.slug) + 1
    titles = [title for title, _ in minutes.sections(lab)][1:]
    parts = [title for title in titles if title not in limits.NOT_COUNTED]
    assert [t.split()[0] for t in parts] == [f"{number}.{i + 1}" for i in range(len(parts))]


def test_rewritten_chapters_are_chapters_in_their_order():
    assert [slug for slug in CHAPTERS if slug in limits.LESSONS] == list(limits.LESSONS)


def test_nobody_types_a_reading_time():
    known = {"description", "jupytext", "kernelspec", "needs", "running_seconds"}
    assert {key for page in BOOK.pages for key in page.front} <= known


def test_readme_says_how_long_the_course_takes():
    hours = minutes.hours(BOOK)
    said = (
        f"The {len(CHAPTERS)} chapters take about {hours['reading']} hours to read, their labs "
        f"{hours['labs']} hours more, and their exercises about {hours['exercises']}."
    )
    assert said in (REPOSITORY / "README.md").read_text("utf-8")
