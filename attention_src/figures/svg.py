"""Write a figure as a small SVG: the same bytes on each run, safe to inline in a page."""

import hashlib
import html
import io
import re
from typing import Any

import matplotlib
from matplotlib.figure import Figure

SETTINGS: Any = {
    "svg.fonttype": "path",  # letters become shapes, so that no font is needed to show them
    "svg.hashsalt": "attention_src",  # ids are hashes; without a fixed salt they change on each run
}


def to_svg(fig: Figure, alt: str) -> str:
    """Write a figure as an SVG string: the same bytes on each run.

    Args:
        fig: from `figure`
        alt: what the figure shows, in words; becomes the SVG's aria-label
    Returns: a string that begins with "<svg"
    Raises:
        ValueError: alt is empty
    """
    if not isinstance(alt, str) or not alt.strip():
        raise ValueError(f"alt={alt!r}: say in a sentence what the figure shows")
    buffer = io.StringIO()
    with matplotlib.rc_context(SETTINGS):
        fig.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return _slim(buffer.getvalue(), alt)


def _slim(svg: str, alt: str) -> str:
    """Drop the invisible parts of matplotlib's SVG, and make it safe to inline in a page."""
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.S)
    # matplotlib's style rule for `*` would apply to the whole page: it goes on the root instead.
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, flags=re.S)
    svg = re.sub(r' d="[^"]*"', lambda match: _round_path(match[0]), svg)
    svg = re.sub(r"\s*\n\s*", "\n", svg)
    svg = _rename_ids(svg)
    while (bare := re.sub(r"<g>\s*</g>\n?", "", svg)) != svg:
        svg = bare

    width, height = svg.split('viewBox="0 0 ')[1].split('"')[0].split()
    root = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'role="img" aria-label="{html.escape(alt)}" viewBox="0 0 {width} {height}" '
        f'width="{width}pt" height="{height}pt" '
        f'style="max-width:100%;height:auto;stroke-linejoin:round;stroke-linecap:butt">'
    )
    return root + svg[svg.index(">") + 1 :]


def _round_path(attribute: str) -> str:
    """Round coordinates to a hundredth of a point, far below what can be seen."""
    number = re.compile(r"-?\d+\.\d+")
    short = number.sub(lambda match: f"{float(match[0]):.2f}".rstrip("0").rstrip("."), attribute)
    return re.sub(r"\s+", " ", short)


def _rename_ids(svg: str) -> str:
    """Drop unused ids and make the others unique to this figure: a page holds many figures."""
    used = list(dict.fromkeys(re.findall(r'(?:href="|url\()#([^")]+)', svg)))
    prefix = "f" + hashlib.sha256(svg.encode()).hexdigest()[:8]
    names = {old: f"{prefix}-{number}" for number, old in enumerate(used)}
    svg = re.sub(r' id="([^"]+)"', lambda m: f' id="{names[m[1]]}"' if m[1] in names else "", svg)
    return re.sub(r'(href="|url\()#([^")]+)', lambda m: f"{m[1]}#{names[m[2]]}", svg)
