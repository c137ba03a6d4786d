"""The portable forms of exercises and questions, of a bug that happened, and of a claim."""

from __future__ import annotations

from collections.abc import Callable

from tools import quiz
from tools.instruments import claims, exercises, happened, predict
from tools.notebook.directive import Directive, Page, body_of, number_of
from tools.notebook.markup import details, html
from tools.notebook.veil import Veil


def _exercise(page: Page, d: Directive) -> str:
    title = f": {page.inline(d.argument, d.line)}" if d.argument else ""
    try:
        cost = exercises.cost(d.options)
    except ValueError as wrong:
        raise page.error(d.line, str(wrong)) from None
    number = number_of(page, d, "an exercise")
    return f"### Exercise{number}{title}\n\n*{cost}.*\n\n{body_of(page, d)}".rstrip()


def _solution_title(page: Page, d: Directive) -> str:
    return f"Solution to Exercise {page.numbered(d.argument, d.line)}"


def _solution(page: Page, d: Directive) -> str:
    return details(_solution_title(page, d), body_of(page, d))


def _solution_start(page: Page, d: Directive) -> str:
    return page.open_solution(_solution_title(page, d), d.line)


def _solution_end(page: Page, d: Directive) -> str:
    return page.close_solution(d.line)


def _quiz(page: Page, d: Directive) -> str:
    try:
        parsed = quiz.parse(d.body)
    except ValueError as wrong:
        raise page.error(d.line, str(wrong)) from None
    page.questions += 1
    return _choices(page, d, parsed, f"Question {page.questions}")


def _choices(page: Page, d: Directive, parsed: quiz.Quiz, name: str) -> str:
    """A question, and its options with their replies folded in."""
    parts = [f"**{name}.** {page.block(parsed.question, d.body_line)}"]
    for option in parsed.options:
        summary = html(page.inline(option.text, d.body_line + option.line))
        why = page.block(option.why, d.body_line + option.why_line)
        parts.append(details(summary, f"**{quiz.VERDICT[option.right]}** {why}"))
    return "\n\n".join(parts)


def _predict(page: Page, d: Directive) -> str:
    try:
        parsed = predict.parse(d.argument, d.body)
    except ValueError as wrong:
        raise page.error(d.line, str(wrong)) from None
    return _choices(page, d, parsed, "Predict")


def _reveal(page: Page, d: Directive) -> str:
    """Its prose: all that stands below a question's first cell or {reveal} is folded."""
    if page.veil is not Veil.BELOW:
        raise page.error(d.line, "no {predict} stands before this {reveal}")
    return body_of(page, d)


def _happened_start(page: Page, d: Directive) -> str:
    try:
        bug = happened.read(d.argument, d.content)
    except ValueError as wrong:
        raise page.error(d.line, str(wrong)) from None
    page.open_box(d.line)
    title = page.inline(d.argument, d.line)
    return f"---\n\n**It happened. {title}**\n\n*{bug.when},* [{bug.source}]({bug.link})"


def _happened_end(page: Page, d: Directive) -> str:
    page.close_box(d.line)
    return "---"


def _claim(page: Page, d: Directive) -> str:
    try:
        claim = claims.read(d.argument, d.content)
    except ValueError as wrong:
        raise page.error(d.line, str(wrong)) from None
    return f"*[Claim {claim.id}]({page.inline.url(claims.LEDGER, claim.anchor)}): {claim.verdict}.*"


FORMS: dict[str, Callable[[Page, Directive], str]] = {
    "exercise": _exercise,
    "exercise-start": _exercise,
    "solution": _solution,
    "solution-start": _solution_start,
    "solution-end": _solution_end,
    "quiz": _quiz,
    "predict": _predict,
    "reveal": _reveal,
    "happened-start": _happened_start,
    "happened-end": _happened_end,
    "claim": _claim,
}
