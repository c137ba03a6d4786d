"""How numbers are written in prose, in outputs and in code, and when two of them are the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_SUPER = "[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+"
# 4,096 and 4 096 with a narrow blank; 0.59; .5; 1e-5
_PLAIN = r"(?:\d{1,3}(?:[,\u202f\u2009]\d{3})+(?!\d)|\d+)(?:\.\d+)?"
_NUMBER = re.compile(
    rf"""
    (?P<sign>(?<![\w)\]])[−+-])?
    (?P<plain>{_PLAIN})
    (?P<e>e[+−-]?\d+)?
    (?:\s?(?P<percent>%|percent|per\ cent)
      | (?:\s?[×·]\s?10(?:(?P<ten>{_SUPER})|\^(?P<caret>[−-]?\d+)))
      | (?P<power>{_SUPER}) | \^(?P<hat>[−-]?\d+)
      | (?P<suffix>[kMBGT])\b | \s(?P<word>thousand|million|billion|trillion)\b )?
    """,
    re.X,
)
# A number whose neighbours say that it is a name, not a count.
_NAMED_BEFORE = re.compile(
    r"""(?:[A-Za-z_\#@.]            # L3H5, float16, #18407
        | [A-Za-z]\w*[-–]          # GPT-2, SmolLM2-135M
        | \b(?:[Ss]ections?|[Ff]igs?\.|[Ff]igures?|[Tt]ables?|[Ee]qs?\.|[Ee]quations?|[Aa]lgorithms?
             |[Aa]ppendix|[Tt]heorems?|[Ll]emmas?|[Cc]hapters?|[Pp]arts?|[Pp]ages?|pp?\.|[Ee]xercises?
             |[Qq]uestions?|[Ii]ssues?|[Ll]abs?|versions?|arXiv:?|Python|PyTorch|NumPy|CUDA|Triton
             |torch|transformers|§)[\s\u00a0]
        | \b(?:[Ss]ections|[Ff]igures|[Tt]ables|[Ee]quations)\s[\d.]+\sand\s
        )$""",
    re.X,
)
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
)
_DATE = re.compile(
    rf"\b(?:\d{{1,2}}\s)?{_MONTH}(?:\s\d{{1,2}},?)?(?:\s\d{{4}})?\b"
    r"|\b(?:19|20)\d\d-\d\d(?:-\d\d)?\b"
    r"|\barXiv:?\s?\d{4}\.\d{4,5}(?:v\d+)?|\b\d{4}\.\d{5}(?:v\d+)?\b|\bv?\d+\.\d+\.\d+\w*"
)
_COUNTED = "tokens|keys|queries|scores|words|rows|columns|steps|pairs|heads|texts|times|bytes|bits"
_YEAR = re.compile(rf"(?<![\d.,−-])(?:19[5-9]\d|20[0-3]\d)(?![\d%]|,\d|\.\d)(?!\s(?:{_COUNTED})\b)")
_HEDGE = re.compile(
    r"\b(?P<above>more than|over|above|at least|beyond)\s$"
    r"|\b(?P<below>less than|under|below|at most|nearly|almost|fewer than)\s$"
    r"|(?:\b(?P<about>about|around|roughly|some|near|approximately)\s|[~≈]\s?)$",
    re.I,
)
_DIMENSIONS = re.compile(r"[-–]?[Dd]\b|[xX×]\d")  # 2-D, 4d, 3x3
_LARGE = {"k": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "T": 1e12}
_LARGE |= {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_EXEMPT = {Decimal(0), Decimal(1), Decimal(2)}


@dataclass(frozen=True)
class Written:
    """A number in the prose.

    text: as it is written
    at: its place in the text
    value: what is written
    low, high: what rounds to it; both ends belong to it
    hedged: whether "about", "more than" or the like comes before it
    signed: whether its sign is written
    scales: what a found number may be multiplied with: 100 for a percentage
    """

    text: str
    at: int
    value: float
    low: float
    high: float
    hedged: bool
    signed: bool
    scales: tuple[float, ...] = (1.0,)

    def is_among(self, outputs: Iterable[float], literals: Iterable[float]) -> bool:
        """Whether an output, rounded as this number is, or a number in code is this number."""
        exact = (self.low, self.high) if self.hedged else (self.value, self.value)
        return self._within(self.low, self.high, outputs) or self._within(*exact, literals)

    def _within(self, low: float, high: float, found: Iterable[float]) -> bool:
        slack = 1e-9 * max(abs(low), abs(high))
        sizes = (x * scale for x in found for scale in self.scales)
        return any(low - slack <= (y if self.signed else abs(y)) <= high + slack for y in sizes)


def in_prose(text: str) -> Iterator[Written]:
    """The numbers in prose that must be found; names, dates, years and 0, 1, 2 are left out."""
    text = _DATE.sub(lambda m: " " * len(m[0]), text)
    text = _YEAR.sub(lambda m: " " * len(m[0]), text)
    end = 0
    for match in _NUMBER.finditer(text):
        if match.start() < end:
            continue
        start = match.start("plain")
        before = text[max(0, start - 24) : start].replace("\n", " ")
        end = match.end()
        if _NAMED_BEFORE.search(before) or _DIMENSIONS.match(text, end):
            continue
        written = _written(match, text)
        if written is not None:
            yield written


def _written(match: re.Match[str], text: str) -> Written | None:
    plain = re.sub(r"[,\u202f\u2009]", "", match["plain"])
    value = Decimal(plain + (match["e"] or "").replace("−", "-"))
    decimals = max(0, -int(value.as_tuple().exponent))
    unit = Decimal(1).scaleb(int(value.as_tuple().exponent))  # of the last digit
    scales: tuple[float, ...] = (1.0,)
    exponent = match["ten"] or match["caret"]
    power = match["power"] or match["hat"]
    if exponent:
        factor = Decimal(10) ** int(exponent.translate(_SUPERSCRIPTS).replace("−", "-"))
        value, unit = value * factor, unit * factor
    elif power:
        value = value ** int(power.translate(_SUPERSCRIPTS).replace("−", "-"))
        unit = value if match["plain"] == "10" else Decimal(1)
    elif match["percent"]:
        scales = (1.0, 100.0)
        if value in (0, 100):
            return None
    elif large := match["suffix"] or match["word"]:
        scales = (1.0, 1.0 / _LARGE[large])
    elif value in _EXEMPT and not decimals:
        return None
    sign = match["sign"]
    # A hyphen between two numbers is a range; before a single one, it is a minus.
    signed = sign in ("−", "-")
    if signed:
        value = -value
    hedge = _HEDGE.search(text[max(0, match.start() - 24) : match.start()].replace("\n", " "))
    low, high = map(float, _rounds_to(value, unit, hedge))
    number, at = match[0].strip(), match.start()
    return Written(number, at, float(value), low, high, hedge is not None, signed, scales)


def _rounds_to(
    value: Decimal, unit: Decimal, hedge: re.Match[str] | None
) -> tuple[Decimal, Decimal]:
    """The interval that a written number stands for: half a unit of its last digit each way.

    After "about", zeros at the end are not digits: about 4,000 is 3,500 to 4,500. After "more than"
    the interval lies above, one unit long; after "less than" it lies below.
    """
    if hedge is None:
        return value - unit / 2, value + unit / 2
    zeros = value.normalize().as_tuple().exponent
    unit = max(unit, Decimal(1).scaleb(int(zeros))) if value else unit
    nearly = unit * Decimal("0.999")  # the far end does not belong to it
    if hedge["above"]:
        return value, value + nearly
    if hedge["below"]:
        return value - nearly, value
    return value - unit / 2, value + unit / 2


def in_output(text: str) -> Iterator[float]:
    """The numbers of an output; those of names too, L3H5 has 3 and 5."""
    for match in re.finditer(rf"[−+-]?{_PLAIN}(?:e[+−-]?\d+)?|(?<!\d)\.\d+|\d+\.(?!\d)", text):
        plain = re.sub(r"[,\u202f\u2009]", "", match[0]).replace("−", "-")
        yield float(plain)


_ARITHMETIC = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)


def in_code(tree: ast.AST) -> Iterator[float]:
    """The numbers written in Python code, products and powers of them too: 3 * 10**4."""
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and all(isinstance(x, _ARITHMETIC) for x in ast.walk(node)):
            try:
                value = eval(compile(ast.Expression(node), "<page>", "eval"))
                if type(value) in (int, float):
                    yield float(value)
            except (ArithmeticError, TypeError, ValueError):
                pass  # 1 / 0, on purpose
