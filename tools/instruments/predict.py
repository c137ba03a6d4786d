"""{predict}: a question to answer before the outputs that settle it are shown; {reveal}: prose that
gives the answer away.

    ```{predict} pr:softmax-shift
    We add 100 to each of the four scores. What happens to the weights?

    - [ ] They become sharper.

      Why this is tempting.

    - [x] Nothing.

      Why.
    ```

The outputs of the code cells that follow, up to and including the next {reveal} or up to the next
heading, are veiled until the reader has answered. Without scripts nothing is veiled, and each
option is a <details> with its reply, as in a {quiz}.
"""

from __future__ import annotations

from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from tools import quiz
from tools.instruments.elements import element, make

MOST_OPTIONS = 4
_log = logging.getLogger(__name__)


def parse(label: str, body: str) -> quiz.Quiz:
    """Read a prediction.

    Raises:
        ValueError: something is missing or too much; the message says what
    """
    if not label.startswith("pr:") or " " in label:
        raise ValueError(f"a prediction needs a label that begins with 'pr:'; it is {label!r}")
    question = quiz.parse(body, "a prediction")
    if len(question.options) > MOST_OPTIONS:
        raise ValueError(f"a prediction has {MOST_OPTIONS} options at most")
    return question


class Predict(SphinxDirective):
    """On the site: native <details>, which predict.js makes into a form."""

    has_content = True
    required_arguments, final_argument_whitespace = 1, True

    def run(self) -> list[nodes.Node]:
        label = self.arguments[0]
        try:
            question = parse(label, "\n".join(self.content))
        except ValueError as wrong:
            raise self.error(str(wrong)) from None
        self._keep(label)
        box = make("div", classes="predict", data_label=label)
        box["ids"].append(nodes.make_id(label))
        box += nodes.paragraph("", "Predict", classes=["predict-head"])
        text = quiz.parsed(self, question.question, 0)
        box += make("div", *text, classes="predict-question")
        for option in question.options:
            (words,) = quiz.parsed(self, option.text, option.line)
            summary = make("summary", nodes.inline("", "", *words.children))
            verdict = nodes.strong("", quiz.VERDICT[option.right])
            why = quiz.parsed(self, option.why, option.why_line)
            right = {"data_right": ""} if option.right else {}
            reply = make("div", verdict, *why, classes="predict-why")
            box += make("details", summary, reply, classes="predict-option", **right)
        return [box]

    def _keep(self, label: str) -> None:
        """Remember where the label is used: it must be unique in the course."""
        places: dict[str, str] = self.env.__dict__.setdefault("predictions", {})
        if places.get(label) is not None:
            raise self.error(f"the label {label!r} is used twice; the other is in {places[label]}")
        places[label] = self.env.docname


class Reveal(SphinxDirective):
    """Prose that is veiled with the outputs."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        box = make("div", classes="reveal")
        box += quiz.parsed(self, "\n".join(self.content), 0)
        return [box]


def forget(app: Sphinx, env: object, docname: str) -> None:
    """A page is read again: its labels are free."""
    places = env.__dict__.get("predictions", {})
    for label in [label for label, place in places.items() if place == docname]:
        del places[label]


def merge(app: Sphinx, env: object, docnames: object, other: object) -> None:
    """Labels found by another process."""
    env.__dict__.setdefault("predictions", {}).update(other.__dict__.get("predictions", {}))


def is_kind(node: nodes.Node, kind: str) -> bool:
    return isinstance(node, element) and kind in node["classes"]


def what_follows(box: element) -> Iterator[nodes.Element]:
    """What the veil of a prediction covers: outputs of cells, and the first {reveal}."""
    siblings = box.parent.children[box.parent.index(box) + 1 :]
    for sibling in siblings:
        if isinstance(sibling, nodes.section):
            return
        for node in sibling.findall(nodes.Element):
            if node.get("nb_element") == "cell_code_output" or is_kind(node, "reveal"):
                yield node
        if is_kind(sibling, "reveal"):
            return


def veil(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put a veil around what gives an answer away; predict.js lifts it."""
    if app.builder.format != "html":
        return
    labels: dict[nodes.Element, list[str]] = {}
    for box in list(doctree.findall(lambda node: is_kind(node, "predict"))):
        if not isinstance(box.parent, nodes.section | nodes.document):
            _log.warning("a {predict} may not stand inside a box or a list", location=box)
        covered = list(what_follows(box))
        if not covered:
            _log.warning("no output and no {reveal} follows this {predict}", location=box)
        for node in covered:
            labels.setdefault(node, []).append(box["html"]["data-label"])
    for node in list(doctree.findall(lambda node: is_kind(node, "reveal"))):
        if node not in labels:
            _log.warning("no {predict} stands before this {reveal}", location=node)
    for node, names in labels.items():
        link = nodes.reference("", "Predict first", refuri=f"#{nodes.make_id(names[0])}")
        note = nodes.paragraph("", "", link, classes=["veil-note"])
        cover = make("div", note, classes="veil", data_veil=" ".join(names))
        node.replace_self(cover)
        cover += node


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("tools.instruments.elements")
    app.add_directive("predict", Predict)
    app.add_directive("reveal", Reveal)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("doctree-resolved", veil)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
