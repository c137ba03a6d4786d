"""Parts a MyST directive into argument, options and body, whichever directive it is."""

from __future__ import annotations

from myst_parser.parsers.directives import DirectiveParsingResult, parse_directive_text


class _AnyDirective:
    """Makes myst-parser accept any option, and the first line as the argument."""

    option_spec = {"any": str}  # noqa: RUF012  (an attribute that myst-parser reads)
    has_content = True
    required_arguments, optional_arguments, final_argument_whitespace = 0, 1, True


def directive_text(argument: str, content: str) -> DirectiveParsingResult:
    """What follows the name of a directive, and what is below it."""
    return parse_directive_text(_AnyDirective, argument, content, validate_options=False)  # type: ignore[arg-type]
