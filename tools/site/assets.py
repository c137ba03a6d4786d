"""Sphinx extension: a page loads one style sheet and a few deferred scripts, all from this site.

The theme and the extensions bring 14 style sheets and 20 scripts, including a megabyte of icons.
Here the style sheets become one, `_static/site.css`, and what no page needs is left out. A style sheet or script that is in none of the lists below stops the build.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.fileutil import copy_asset

# Later ones override earlier ones. The * stands for a hash.
STYLES = (
    "basic.css",
    "styles/pydata-sphinx-theme.css",
    "pygments.css",
    "styles/sphinx-book-theme.css",
    "copybutton.css",
    "mystnb.*.css",
    "exercise.css",
    "proof.css",
    "vendor/katex/katex.min.css",
    "course.css",
    "drawings.css",
    "run-here.css",
    "learner/learner.css",
)
# No page has the grids, cards and tabs of sphinx-design.
UNUSED_STYLES = ("sphinx-thebe.css", "togglebutton.css", "sphinx-design.min.css")

OWN_FILES = ("book/_static", "tools/page/static")
# What opens a lesson's lab in the contents; the theme gives it no name.
TOGGLE = '<summary><span class="toctree-toggle"'

SCRIPTS = (
    "documentation_options.js",
    "doctools.js",
    "sphinx_highlight.js",
    "clipboard.min.js",
    "copybutton.js",
    "scripts/sphinx-book-theme.js",
    "scripts/pydata-sphinx-theme.js",
    "course.js",
)
# A page on which a stranger's code may run. It may ask this site for things, and no other.
SEALED = 'id="judge"'
# What only some pages need: a mark in their text, and the scripts.
LEARNER = tuple(f"learner/{name}.js" for name in ("store", "typed", "predict", "visit", "again"))
SOME_SCRIPTS = {
    'class="predict"': LEARNER,
    'id="what-to-keep"': LEARNER,
    'class="cell_input': LEARNER[:2],
    'class="ledger-filter"': ("learner/claims.js",),
    'id="progress"': ("learner/store.js", "learner/progress.js"),
    'class="model-writes"': ("writes.js",),
    SEALED: (*LEARNER[:2], "run-editor.js", "run-here.js", "judge.js"),
}
# Folds are native <details> (site/folds_and_links.py), code runs in a notebook or by our own
# worker, not by thebe, and no page has tabs that follow each other.
UNUSED_SCRIPTS = ("togglebutton.js", "sphinx-thebe.js", "design-tabs.js")
# The theme gives a tab stop to each of these that is wider than its box: it measures one, marks it,
# measures the next, so the whole page is laid out once for each, and again after every change of
# the page. course.js measures all before it marks any.
THEME_SCRIPT = "scripts/pydata-sphinx-theme.js"
MEASURED = (
    '["pre",".nboutput > .output_area",".cell_output > .output",".jp-RenderedHTMLCommon",'
    '".pst-scrollable-table-container"].join(", ")'
)
NOTHING = '":not(*)"'
# Inline scripts that set up scripts we do not load; each is recognised by a string in it.
UNUSED_INLINE = ("toggle", "THEBE_JS_URL", "DOCUMENTATION_OPTIONS.")


def name_of(asset: Any) -> str:
    """ "course.css" for Sphinx's record of _static/course.css; "" for an inline script."""
    return str(getattr(asset, "filename", asset) or "").removeprefix("_static/")


def known(name: str, patterns: Iterable[str]) -> bool:
    """Whether a file name matches one of the patterns."""
    return any(Path(name).match(pattern) for pattern in patterns)


def choose(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Check what the extensions ask a page to load; give the template our lists instead."""
    for style in context["css_files"]:
        if not known(name_of(style), STYLES + UNUSED_STYLES):
            raise ExtensionError(f"tools/site/assets.py does not know the style {name_of(style)!r}")
    for script in context["script_files"]:
        name, body = name_of(script), getattr(script, "attributes", {}).get("body") or ""
        inline = not name and any(mark in body for mark in UNUSED_INLINE)
        if not inline and not known(name, SCRIPTS + UNUSED_SCRIPTS):
            raise ExtensionError(f"tools/site/assets.py does not know the script {name or body!r}")
    context["css_files"], context["script_files"] = [], []
    body = context.get("body", "")
    some = [name for mark, names in SOME_SCRIPTS.items() if mark in body for name in names]
    context["course_scripts"] = [*SCRIPTS, *dict.fromkeys(some)]
    context["later_scripts"] = [name for name in LEARNER if name not in some]
    context["sealed"] = SEALED in body
    context["has_math"] = 'class="katex-html' in body


def site_css(out: Path) -> str:
    """One style sheet from STYLES. Their comments go: 5 KB that each first visit would load."""
    kept: list[str] = []
    for pattern in STYLES:
        for path in sorted((out / "_static").glob(pattern)):
            # Addresses are relative to _static/site.css now.
            folder = path.parent.relative_to(out / "_static").as_posix()
            kept.append(
                re.sub(r"url\((?!data:|#|[\"'])", f"url({folder}/", path.read_text("utf-8"))
            )
    css = re.sub(r"/\*.*?\*/|@charset[^;]*;", "", "".join(kept), flags=re.DOTALL)
    # The theme's icon fonts: our templates draw their few icons themselves.
    return re.sub(r"@font-face *\{[^}]*Font ?Awesome[^}]*\}", "", css)


def stop_measuring(out: Path) -> None:
    """Leave the tab stops of wide boxes to course.js."""
    script = out / "_static" / THEME_SCRIPT
    text = script.read_text("utf-8").replace(MEASURED, NOTHING)
    if NOTHING not in text:
        raise ExtensionError(f"tools/site/assets.py: {THEME_SCRIPT} no longer holds {MEASURED}")
    script.write_text(text, "utf-8")


def write_css(app: Sphinx, error: Exception | None) -> None:
    """Write site.css; pages name its hash, so that no browser keeps a stale one."""
    if error or app.builder.format != "html":
        return
    out = Path(app.outdir)
    # Sphinx copies our files only if some page changed too.
    for folder in OWN_FILES:
        copy_asset(str(Path(app.srcdir, folder)), str(out / "_static"))
    stop_measuring(out)
    css = site_css(out)
    (out / "_static/site.css").write_text(css, "utf-8")
    digest = hashlib.sha256(css.encode()).hexdigest()[:8]
    for page in out.rglob("*.html"):
        old = page.read_text("utf-8")
        new = re.sub(r"site\.css(\?v=\w+)?", f"site.css?v={digest}", old)
        new = new.replace(TOGGLE, TOGGLE.replace("<summary>", '<summary aria-label="Its lab">'))
        if new != old:
            page.write_text(new, "utf-8")
    for unused in [*(out / "_static").rglob("*.map"), out / "_static/scripts/fontawesome.js"]:
        unused.unlink(missing_ok=True)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("html-page-context", choose, priority=950)
    app.connect("build-finished", write_css, priority=900)  # after the theme has written its own
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
