"""{predict}: a question to answer before its answer is shown; {reveal}: prose that gives it.

    ```{predict} pr:softmax-shift
    We add 100 to each of the four scores. What happens to the weights?

    - [ ] They become sharper.

      Why this is tempting.

    - [x] Nothing.

      Why.
    ```

An answer is stored as the number of its option. Whoever moves options says which numbers they had
when the question was first published, so that every stored answer still means what was chosen:
`:order: 3 1 2` below the first line says that the third option stands first now.

Veiled until the reader has answered: each {reveal} up to the next heading, or up to a question
below a cell, and the outputs, with their captions, of the cells between the question and the last
of these. No other word is, and code stays open. Without scripts nothing is veiled, and each option
is a <details> with its reply, as in a {quiz}. The form has its final size before predict.js runs:
what comes next in it lies in one cell of a grid, unseen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from docutils import nodes
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from tools.book import quiz
from tools.book.chapters import Chapter
from tools.book.directive import Checking, Directive, Page, body_of
from tools.book.elements import is_kind, make
from tools.book.markup import details
from tools.book.parts import Part, parts

SUMMARY = "After you have predicted"
SURE = """\
<div class="predict-sure" role="group" aria-label="How sure are you?">
<span>How sure are you?</span>
<button type="button" value="0">Guess</button>
<button type="button" value="1">Fairly sure</button>
<button type="button" value="2">Sure</button>
<button type="button" value="" class="predict-show">Show me</button>
<span class="predict-hint" role="status">Choose an answer, then say how sure you are.</span>
</div>
"""
SAID = """\
<p class="predict-said"><span role="status"></span>
<button type="button" class="predict-forget" hidden>Forget this answer</button></p>
"""
_log = logging.getLogger(__name__)


def parse(label: str, body: str) -> quiz.Quiz:
    """Read a prediction.

    Raises:
        ValueError: something is missing; the message says what
    """
    if not label.startswith("pr:") or " " in label:
        raise ValueError(f"a prediction needs a label that begins with 'pr:'; it is {label!r}")
    return quiz.parse(body, "a prediction")


def numbers(order: str, count: int) -> list[int]:
    """The number, from 0, that stores an answer, for each option in the order shown.

    Raises:
        ValueError: `order` is not empty, and not each of 1 … count once
    """
    found = order.split() or [str(n + 1) for n in range(count)]
    if sorted(found) != [str(n + 1) for n in range(count)]:
        raise ValueError(f"':order:' has each of 1 to {count} once; it is {order!r}")
    return [int(n) - 1 for n in found]


class Predict(Checking):
    """On the site: native <details>, which predict.js makes into a form."""

    has_content = True
    required_arguments, final_argument_whitespace = 1, True
    option_spec = {"order": str}  # noqa: RUF012  (an attribute that docutils reads)

    def made(self) -> list[nodes.Node]:
        label = self.arguments[0]
        question = parse(label, "\n".join(self.content))
        stored = numbers(self.options.get("order", ""), len(question.options))
        box = make("div", classes="predict", data_label=label)
        box["ids"].append(nodes.make_id(label))
        box += nodes.paragraph("", "Predict", classes=["predict-head"])
        text = quiz.parsed(self, question.question, 0)
        box += make("div", *text, classes="predict-question")
        choices = make(
            "div", classes="predict-options", role="radiogroup", aria_label="Your answer"
        )
        step = make("div", _raw(SURE), classes="predict-step")
        without_script = make("noscript")
        for number, option in zip(stored, question.options, strict=True):
            words, reply = quiz.words_and_reply(self, option)
            fold = make("details", make("summary", words), *reply, classes="predict-fold")
            without_script += _without_ids(fold)
            radio = f'<input type="radio" name="{label}" value="{number}" autocomplete="off">'
            choices += make("label", _raw(radio), words, classes="predict-option")
            mark = {"data_right": ""} if option.right else {}
            step += make("div", *reply, classes="predict-why", tabindex="-1", **mark)
        box += make("div", choices, step, _raw(SAID), classes="predict-form")
        box += without_script
        return [box]


def _without_ids(node: nodes.Element) -> nodes.Element:
    """A copy without ids, which are unique on a page."""
    copy = node.deepcopy()
    for part in copy.findall(nodes.Element):
        part["ids"] = []
    return copy


def _raw(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")


class Reveal(SphinxDirective):
    """Prose that gives the answer."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        box = make("div", classes="reveal")
        box += quiz.parsed(self, "\n".join(self.content), 0)
        return [box]


def is_cell(node: nodes.Node, part: str = "cell_code") -> bool:
    return isinstance(node, nodes.Element) and node.get("nb_element") == part


def covers(cells: Sequence[NotebookNode]) -> list[tuple[int | None, list[str]]]:
    """Which predictions veil the outputs of each code cell, and each {reveal}, in order.

    Args:
        cells: a chapter's; a removed one does not exist
    Returns: for a code cell its place in `cells`, for a {reveal} None; and the labels
    """
    found: list[tuple[int | None, list[str]]] = []
    asked: list[str] = []
    below: list[list[str]] = []  # labels of the cells since the last question or {reveal}
    begun = False  # whether a cell or a {reveal} stands below the question
    for place, part in _in_order(cells):
        if part.kind in ("section", "heading") or (part.kind == "prediction" and begun):
            asked, below, begun = [], [], False
        if part.kind == "prediction":
            asked.append(part.title)
        elif part.kind == "reveal" or place is not None:
            begun = True
            found.append((place, []))
            below.append(found[-1][1])
        if part.kind == "reveal":
            for labels in below:
                labels += asked
            below = []
    return found


def _in_order(cells: Sequence[NotebookNode]) -> Iterator[tuple[int | None, Part]]:
    for place, cell in enumerate(cells):
        if cell.cell_type == "markdown":
            yield from ((None, part) for part in parts(cell.source))
        elif "remove-cell" not in cell.metadata.get("tags", []):
            yield place, Part("code")


def veil(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put a veil around what gives an answer away; predict.js lifts it."""
    page = Chapter(Path(app.srcdir), docname)
    shown = [n for n in doctree.findall() if is_cell(n) or is_kind(n, "reveal")]
    labels: dict[nodes.Element, list[str]] = {}
    for node, (_, names) in zip(shown, covers(page.read().cells), strict=True):
        if names:
            outputs = node.findall(lambda part: is_cell(part, "cell_code_output"))
            labels |= {part: names for part in (outputs if is_cell(node) else [node])}
        elif is_kind(node, "reveal"):
            _log.warning("no {predict} stands before this {reveal}", location=node)
    for box in doctree.findall(lambda node: is_kind(node, "predict")):
        if not isinstance(box.parent, nodes.section | nodes.document):
            _log.warning("a {predict} may not stand inside a box or a list", location=box)
        if not any(box["html"]["data-label"] in names for names in labels.values()):
            _log.warning("no {reveal} follows this {predict}", location=box)
    cover = None
    for node, names in labels.items():  # one veil covers those without anything in between
        beside = cover is not None and cover.next_node(siblings=True, descend=False) is node
        if cover is None or not beside or cover["html"]["data-veil"] != " ".join(names):
            link = nodes.reference("", "Predict first", refuri=f"#{nodes.make_id(names[0])}")
            note = nodes.paragraph("", "", link, classes=["veil-note"])
            cover = make("div", note, classes="veil", data_veil=" ".join(names))
            node.parent.insert(node.parent.index(node), cover)
        node.parent.remove(node)
        cover += node


def _portable(page: Page, d: Directive) -> str:
    return quiz.choices(page, d, parse(d.argument, d.body), "Predict")


def _portable_reveal(page: Page, d: Directive) -> str:
    return details(SUMMARY, body_of(page, d))


FORMS = {"predict": _portable, "reveal": _portable_reveal}


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("tools.book.elements")
    app.add_directive("predict", Predict)
    app.add_directive("reveal", Reveal)
    app.connect("doctree-resolved", veil)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
