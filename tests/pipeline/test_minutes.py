"""What a chapter asks of its reader: how it is counted, and what rewritten chapters keep to."""

import itertools

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from tiny import make_book

from tools.book import minutes, parts
from tools.book.chapters import Book
from tools.book.freshness import REPOSITORY
from tools.book.predict import parse
from tools.check import __main__ as command
from tools.check import computed, limits, prose_numbers

BOOK = Book(REPOSITORY)
CHAPTERS = {chapter.slug: chapter for chapter in minutes.lessons(BOOK)}
REPLIES = "- [ ] One two.\n\n  Three.\n\n- [x] Four five.\n\n  Six.\n"
PREDICT = f"````{{predict}} pr:a\nSeven?\n\n{REPLIES}````\n\n"
CELL = "```{{code-cell}} ipython3\n{}\n```\n\n"
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
    + "```{exercise} T\n:label: ex:a\n:difficulty: 1\n:minutes: 42\n\nDo.\n```\n\n"
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


def test_minutes_are_the_formula(page):
    b = minutes.reading(page)
    assert b.minutes == pytest.approx(b.words / 130 + 3 / 12 + 1 + 2 / 2)
    assert minutes.reading_minutes(page) == 2
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


def test_the_minutes_of_exercises_are_a_sum(tmp_path):
    exercise = "```{{exercise}} T\n:label: ex:{}\n:difficulty: 1\n:minutes: {}\n\nDo.\n```\n\n"
    text = exercise.format("a", 10) + exercise.format("b", 25)
    (chapter,) = Book(make_book(tmp_path, sum="# T\n\n" + text)).chapters
    assert chapter.exercise_minutes == 35


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


FOLDED_CELL = "```{{code-cell}} ipython3\n:tags: [hide-input]\n{}\n```\n"


def stored(chapter, *cells):
    chapter.notebook.parent.mkdir(exist_ok=True)
    nbformat.write(new_notebook(cells=list(cells)), chapter.notebook)


def printed(text, **metadata):
    output = new_output("stream", name="stdout", text=text)
    return new_code_cell("print(x)", outputs=[output], metadata=metadata)


@pytest.mark.parametrize(
    "text, count",
    [("below 1e-15: True", 1), ("a  True\nb  True \n", 2), ("[ True False]\nTrue", 0)],
)
def test_an_output_that_only_says_true_is_found(page, text, count):
    stored(page, printed(text), printed(text, tags=["remove-cell"]))
    assert limits.says_true(page) == count


def test_what_a_lesson_prints_is_counted(page):
    table = "a 0.5 1,024 12\nb 0.25 0.5\nlonger 0.75\n"
    stored(
        page,
        *(printed(table), printed(" "), printed("0.1 " * 20, tags=["take-away"])),
        *(printed("0.1 " * 20, tags=["remove-cell"]), printed("one")),
    )
    assert limits.blocks(page) == [table, "one"]
    assert limits.numbers_in_a_table(page) == 4


@pytest.mark.parametrize(
    ("cell", "faults"),
    [
        ("# The drawing\ndraw('a')", ["# The drawing"]),
        ("# The drawing\na = 1\n\ndraw('a')", []),
        ("draw('a')", ["draw('a')"]),
    ],
)
def test_a_fold_of_one_line_is_found(cell, faults, tmp_path):
    book = Book(make_book(tmp_path, page="# P\n\n" + FOLDED_CELL.format(cell)))
    assert limits.folds_of_one_line(book.chapters[0]) == faults


def test_a_given_number_without_a_source_is_found(tmp_path):
    words = "{given}`1`, {given}`2 <a paper>`, {given}`3 <our runs>`, {given}`4 <measured in page>`"
    book = Book(make_book(tmp_path, page=f"# P\n\n{words}\n\n" + CELL.format("print(1)")))
    assert limits.without_source(book.chapters[0]) == ["1", "3"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("What comes out? Think before you read on.", ["before you read on"]),
        ("Guess first, then run.", ["Guess first"]),
        ("One reads it before one runs it.", []),
    ],
)
def test_a_question_without_a_form_is_found(words, found, tmp_path):
    book = Book(make_book(tmp_path, page=f"# P\n\n{words}\n\n" + CELL.format("print(1)")))
    assert limits.pauses(book.chapters[0]) == found


def test_a_visible_claim_is_found(page):
    stored(page, new_markdown_cell("*[Claim 000-09](x): holds.*"), printed("ok"))
    assert limits.visible_claims(page) == ["Claim 000-09"]
    assert list(limits.faults(page)) == [
        "2 pictures; at least 4",
        "1 claims that readers see; at most 0: Claim 000-09",
    ]


def test_the_command(page, tmp_path, capsys, monkeypatch):
    book = Book(tmp_path)
    assert command.main([], book) == 1
    assert {line.split(":")[0] for line in capsys.readouterr().out.splitlines()[:-1]} == {
        page.source
    }
    for module, name in ((computed, "outputs_are_old"), (prose_numbers, "undecided")):
        monkeypatch.setattr(module, name, lambda _: [])
    monkeypatch.setattr(prose_numbers, "unfounded", lambda _: [])
    assert command.main(["page"], book) == 0
    monkeypatch.setattr(limits, "LESSONS", ("page",))
    assert command.main(["page"], book) == 1
    assert "page: 2 pictures; at least 4\n" in capsys.readouterr().out


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


@pytest.mark.parametrize("slug", limits.LESSONS)
def test_a_rewritten_chapter_keeps_to_the_rules(slug):
    assert not list(limits.faults(CHAPTERS[slug]))


@pytest.mark.parametrize("lab", minutes.labs(BOOK), ids=lambda lab: lab.slug)
def test_a_lab_has_its_lesson_and_ends(lab):
    lesson = CHAPTERS[lab.slug.removeprefix("labs/")]
    assert not list(limits.faults(lab)) and lesson.slug in limits.LESSONS
    number = list(CHAPTERS).index(lesson.slug) + 1
    titles = [title for title, _ in minutes.sections(lab)][1:]
    parts = [title for title in titles if title not in limits.NOT_COUNTED]
    assert [t.split()[0] for t in parts] == [f"{number}.{i + 1}" for i in range(len(parts))]


def test_a_lesson_that_exceeds_its_limits_is_found(page, monkeypatch):
    monkeypatch.setattr(limits, "LESSONS", ("page",))
    assert "1 predictions; at least 2" in list(limits.faults(page))


def test_rewritten_chapters_are_chapters_in_their_order():
    assert [slug for slug in CHAPTERS if slug in limits.LESSONS] == list(limits.LESSONS)


@pytest.mark.parametrize("slug", sorted(c.slug for c in BOOK.pages))
def test_nobody_types_a_reading_time(slug):
    page = next(page for page in BOOK.pages if page.slug == slug)
    known = {"description", "jupytext", "kernelspec", "needs", "running_seconds"}
    assert set(page.front) <= known


def test_readme_says_how_long_the_course_takes():
    hours = minutes.hours(BOOK)
    said = (
        f"The {len(CHAPTERS)} chapters take about {hours['reading']} hours to read, their labs "
        f"{hours['labs']} hours more, and their exercises about {hours['exercises']}."
    )
    assert said in (REPOSITORY / "README.md").read_text("utf-8")
