"""The {quiz} directive: one question, and for each option the reason why it is right or wrong.

    ```{quiz}
    Which axis does softmax run over?

    - [ ] The queries.

      Then each key would share one unit of attention among the queries.

    - [x] The keys.

      Each query has one unit of attention to spend.
    ```

Each option is a <details>: it opens by mouse, keyboard or screen reader, without a script.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tools.book.directive import Checking, Directive, Page
from tools.book.elements import make
from tools.book.markup import details, html

_OPTION = re.compile(r"(?m)^- \[([ xX])\] +")
VERDICT = {True: "Right.", False: "Not quite."}


@dataclass
class Option:
    """One answer to choose."""

    right: bool
    text: str
    why: str
    line: int  # of the option, counted from the first line of the directive's body
    why_line: int


@dataclass
class Quiz:
    """A question and its options."""

    question: str
    options: list[Option]


def parse(body: str, what: str = "a quiz") -> Quiz:
    """Read a quiz; `what` names it in messages.

    Raises:
        ValueError: something is missing; the message says what
    """
    marks = list(_OPTION.finditer(body))
    ends = [*(mark.start() for mark in marks), len(body)]
    question = body[: ends[0]].strip()
    options = [_option(body, mark, end) for mark, end in zip(marks, ends[1:], strict=True)]
    if not question:
        raise ValueError(f"{what} begins with its question")
    if len(options) < 2:
        raise ValueError(f"{what} needs two options or more: '- [ ] wrong', '- [x] right'")
    if not any(option.right for option in options):
        raise ValueError(f"{what} needs a right option: '- [x] …'")
    for option in options:
        if not option.why:
            raise ValueError(f"say why under the option {option.text!r}, indented by two")
    return Quiz(question, options)


def _option(body: str, mark: re.Match[str], end: int) -> Option:
    """An option ends at the first blank line; what follows, indented, is its reason."""
    text, _, why = body[mark.end() : end].partition("\n\n")
    if re.search(r"(?m)^(?!  |$)", why):
        raise ValueError(f"indent what follows an option by two: {why!r}")
    line = body.count("\n", 0, mark.start())
    why_line = line + text.count("\n") + 2
    reason = re.sub(r"(?m)^  ", "", why).strip("\n")
    return Option(mark[1] != " ", " ".join(text.split()), reason, line, why_line)


class QuizDirective(Checking):
    """On the site: a numbered section of native <details>."""

    has_content = True

    def made(self) -> list[nodes.Node]:
        quiz = parse("\n".join(self.content))
        number = self.env.new_serialno("quiz") + 1
        box = nodes.container(classes=["quiz"], ids=[f"question-{number}"])
        box += nodes.rubric(text=f"Question {number}", classes=["quiz-number"])
        box += parsed(self, quiz.question, 0)
        for option in quiz.options:
            kind = "right" if option.right else "wrong"
            words, reply = words_and_reply(self, option)
            why = make("div", *reply, classes="quiz-why")
            summary = make("summary", words)
            box += make("details", summary, why, classes=f"quiz-option quiz-{kind}")
        return [box]


def words_and_reply(
    directive: SphinxDirective, option: Option
) -> tuple[nodes.inline, list[nodes.Node]]:
    """An option's words, without their paragraph, which <summary> may not hold, and its reply."""
    (paragraph,) = parsed(directive, option.text, option.line)
    reply = parsed(directive, option.why, option.why_line)
    verdict = nodes.strong("", VERDICT[option.right])
    return nodes.inline("", "", *paragraph.children), [verdict, *reply]


def parsed(directive: SphinxDirective, text: str, line: int) -> list[nodes.Element]:
    """Blocks of a directive's body; `line` is that of the first one, counted from the body's."""
    parent = nodes.Element()
    directive.state.nested_parse(text.split("\n"), directive.content_offset + line, parent)  # type: ignore[arg-type]
    return [child for child in parent.children if isinstance(child, nodes.Element)]


def choices(page: Page, d: Directive, read: Quiz, name: str) -> str:
    """The notebook's form of a question, and of its options with their replies folded in."""
    parts = [f"**{name}.** {page.block(read.question, d.body_line)}"]
    for option in read.options:
        summary = html(page.inline(option.text, d.body_line + option.line))
        why = page.block(option.why, d.body_line + option.why_line)
        parts.append(details(summary, f"**{VERDICT[option.right]}** {why}"))
    return "\n\n".join(parts)


def _portable(page: Page, d: Directive) -> str:
    page.questions += 1
    return choices(page, d, parse(d.body), f"Question {page.questions}")


FORMS = {"quiz": _portable}


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("tools.book.elements")
    app.add_directive("quiz", QuizDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
