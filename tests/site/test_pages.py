"""What the built pages hold, read without a browser: links, equations, alternatives, metadata."""

import json
import re
from collections import Counter
from os.path import normpath
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from bs4 import BeautifulSoup, NavigableString, Tag
from built_site import HTML, ROOT, book_pages, chapter_pages, site_pages, wrong_mathml
from spoilers import answered_above, spoilers

from tools.book.chapters import VERSION, Book
from tools.book.minutes import lessons, time_line
from tools.check import limits

PAGES = site_pages()
BOOK = book_pages()
CHAPTERS = chapter_pages()
LESSONS = [f"{chapter.docname}.html" for chapter in lessons(Book(ROOT))]
# Signs that source text reached the reader: TeX, and the marks of MyST directives and roles.
RAW = re.compile(
    r"\$|\\[a-zA-Z]+|\\[()\[\]]|```|:::|\{(?:[a-z-]+:)?[a-z-]+\}`|\{code-cell\}|^:[a-z_-]+:|katex-error",
    re.MULTILINE,
)


@pytest.fixture(scope="module")
def soups(site):
    return {p: BeautifulSoup((HTML / p).read_text("utf-8"), "html.parser") for p in PAGES}


@pytest.fixture(scope="module")
def ids(soups):
    return {page: [e["id"] for e in soup.find_all(id=True)] for page, soup in soups.items()}


def prose(element):
    """What the page says in prose: code, drawings and what is for screen readers only left out."""
    for child in element.children:
        if type(child) is NavigableString:
            yield child
        elif isinstance(child, Tag) and child.name not in ("pre", "code", "script", "style", "svg"):
            yield from () if "katex-mathml" in child.get("class", ()) else prose(child)


def raw_source(soup):
    text = "\n".join(prose(soup.find("article") or soup.find("main") or soup))
    # The TeX inside MathML would be found by the site's search.
    return [match[0] for match in RAW.finditer(text)] + soup.select(".katex-error, annotation")


def dead_links(page, soups, ids):
    """The internal links of a page that lead nowhere, as text."""
    dead = []
    for tag, attribute in (("a", "href"), ("link", "href"), ("script", "src"), ("img", "src")):
        for element in soups[page].find_all(tag, attrs={attribute: True}):
            address = element[attribute]
            if re.match(r"[a-z]+:", address) or address.startswith("//"):
                continue
            path, anchor = urldefrag(address)
            path = unquote(path.split("?")[0])
            target = (HTML / page).parent.joinpath(path).resolve() if path else HTML / page
            if not target.is_file():
                dead.append(f"{page}: {address}: no such file")
                continue
            name = target.relative_to(HTML.resolve()).as_posix() if path else page
            if anchor and name in ids and unquote(anchor) not in ids[name]:
                dead.append(f"{page}: {address}: no such anchor")
    return dead


def test_the_checks_see_what_is_wrong():
    for text in ("$x$", r"a \frac b", "{term}`key`", ":class: tip", "```"):
        assert raw_source(BeautifulSoup(f"<article><p>{text}</p></article>", "html.parser")), text
    good = "<article><p>fine: a {set} of 3</p><code>$x$</code></article>"
    assert not raw_source(BeautifulSoup(good, "html.parser"))
    math = "<math><msup><mi>e</mi><mi>lse</mi><mo>\u2061</mo></msup></math>"
    assert len(wrong_mathml(BeautifulSoup(math, "html.parser"))) == 1


@pytest.mark.parametrize("page", PAGES)
def test_no_dead_link_and_no_id_twice(page, soups, ids):
    assert not dead_links(page, soups, ids)
    assert not [name for name, count in Counter(ids[page]).items() if count > 1]


@pytest.mark.parametrize("page", BOOK)
def test_no_raw_source_and_valid_mathml(page, soups):
    assert not raw_source(soups[page])
    assert not wrong_mathml(soups[page])


@pytest.mark.parametrize("page", BOOK)
def test_every_drawing_says_what_it_shows_and_follows_the_theme(page, soups):
    article = soups[page].find("article")
    for drawing in article.select("svg:not([aria-hidden=true])"):
        if drawing.find_parent(class_="katex") or drawing.find_parent("svg"):
            continue  # part of an equation, which has MathML; part of a drawing
        assert drawing.get("aria-label", "").strip(), str(drawing)[:200]
    for image in article.find_all("img"):
        assert image.get("alt", "").strip(), str(image)[:200]
    assert "".join(map(str, article.select(".drawing"))).count("#767676") == 0


@pytest.mark.parametrize("page", BOOK)
def test_metadata(page, soups):
    soup = soups[page]
    front = next(p for p in Book(ROOT).pages if f"{p.docname}.html" == page).front
    assert soup.find("meta", attrs={"name": "description"})["content"] == front["description"]
    assert soup.find("meta", property="og:description")["content"] == front["description"]
    assert soup.find("link", rel="canonical")["href"] == f"{Book(ROOT).site}/{page}"
    assert soup.find("html")["lang"] == "en"
    assert len(soup.find_all("h1")) == 1
    assert soup.title.get_text().strip()


@pytest.mark.parametrize("page", LESSONS)
def test_quizzes(page, soups):
    """What they do is in test_reading."""
    options = soups[page].select("details.quiz-option")
    assert len(options) >= 6, "a chapter has three questions or more, of two options or more"
    assert not [option for option in options if option.has_attr("open")]
    for option in options:
        answer = option.select_one("summary + .quiz-why").get_text(" ").strip()
        assert answer.startswith("Right." if "quiz-right" in option["class"] else "Not quite.")


def test_previous_and_next_lead_through_the_book(soups):
    for button, way in (("a.right-next", BOOK), ("a.left-prev", BOOK[::-1])):
        links = [(page, soups[page].select_one(button)) for page in way]
        ahead = [link and normpath(Path(page).parent / link["href"]) for page, link in links]
        assert ahead == [*way[1:], None]


@pytest.mark.parametrize("page", BOOK)
def test_numbers_of_equations_and_figures(page, soups):
    """They count up; a reference shows the number of the equation that it leads to."""
    for kind in (".eqno", "figcaption .caption-number"):
        shown = [e.get_text().strip("Fig. ()#") for e in soups[page].select(kind)]
        chapters = {number.rpartition(".")[0] for number in shown}
        last = [int(number.rpartition(".")[2]) for number in shown]
        assert len(chapters) <= 1 and last == [last[0] + n for n in range(len(last))]
    for link in soups[page].select('a[href*="#equation-"]:not(.headerlink)'):
        path, anchor = urldefrag(link["href"])
        target = (HTML / page).parent.joinpath(path).resolve() if path else HTML.resolve() / page
        equation = soups[target.relative_to(HTML.resolve()).as_posix()].find(id=anchor)
        number = equation.select_one(".eqno").get_text().rstrip("#")
        assert link.get_text() == number


@pytest.mark.parametrize("page", CHAPTERS)
def test_no_prediction_is_given_away(page, soups):
    assert not list(spoilers(soups[page]))


@pytest.mark.parametrize("slug", limits.LESSONS)
def test_no_answer_stands_above_its_question(slug, soups):
    assert not list(answered_above(soups[f"book/{slug}.html"]))


def test_the_search_for_spoilers_finds_them():
    page = """<article><p>41 and 47 are old news.</p>
    <div class="predict" data-label="pr:a"><div class="predict-question">How many?</div>
    <div class="predict-form"><label class="predict-option">47</label>
    <label class="predict-option">48</label><div class="predict-why" data-right="">x</div>
    <div class="predict-why">y</div></div></div>
    <p>Not 41, but 43.</p>
    <div class="cell"><pre class="cell_input">44</pre>
    <div class="veil" data-veil="pr:a"><pre class="output">43 41 44 47 48</pre></div></div>
    <div class="cell"><pre class="output">41</pre><figcaption>Again 43.</figcaption></div>
    <p>It was 41 and 44 and 48, 2 times.</p></article>"""
    soup = BeautifulSoup(page, "html.parser")
    assert [line.split(" in ")[0] for line in spoilers(soup)] == [
        *("pr:a: 43", "pr:a: 43", "pr:a: 48"),
    ]
    assert list(answered_above(soup)) == ["pr:a: 47"]


@pytest.mark.parametrize("page", CHAPTERS)
def test_the_head_of_a_chapter(page, soups):
    """How long it takes, the button for Colab, and the notebook to download."""
    chapter = next(p for p in Book(ROOT).chapters if f"{p.docname}.html" == page)
    line = soups[page].select_one("h1 + .time-line, h1 + .question + .time-line")
    assert line.get_text() == time_line(chapter) != ""
    links = [a["href"] for a in soups[page].select(".article-header-buttons a")]
    assert Book(ROOT).colab(chapter) in links
    assert Book(ROOT).colab(chapter).endswith(f"/blob/v{VERSION}/notebooks/{chapter.slug}.ipynb")
    download = next(href for href in links if href.endswith(".ipynb") and "://" not in href)
    served = (HTML / page).parent.joinpath(download).resolve()
    assert json.loads(served.read_text("utf-8")) == json.loads(chapter.notebook.read_text("utf-8"))


@pytest.mark.parametrize("page", BOOK)
def test_what_an_explorable_brings_stands_once(page, soups):
    shown = soups[page].select(".attention-explorable")
    brought = [part.get_text() for one in shown for part in one.select("style, script")]
    assert len(brought) == len(set(brought))
    assert len(brought) >= len({one["data-explorable"] for one in shown})


def test_one_style_sheet_and_deferred_scripts(soups):
    for page in BOOK:
        sheets = soups[page].select("link[rel~=stylesheet]")
        assert [Path(s["href"].split("?")[0]).name for s in sheets] == ["site.css"], page
        assert all(s.has_attr("defer") for s in soups[page].select("head script[src]")), page
