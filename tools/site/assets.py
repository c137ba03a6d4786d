"""Sphinx extension: a page loads one style sheet and a few deferred scripts, all from this site.

The theme and the extensions bring 14 style sheets and 20 scripts. Here the style sheets become one,
`_static/site.css`, and what no page needs is left out. What is in no list below stops the build.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.fileutil import copy_asset

# Later ones override earlier ones. The * stands for a hash.
STYLES = (
    *(
        "basic.css",
        "styles/pydata-sphinx-theme.css",
        "pygments.css",
        "styles/sphinx-book-theme.css",
    ),
    *("copybutton.css", "mystnb.*.css", "exercise.css", "proof.css", "vendor/katex/katex.min.css"),
    *("course.css", "drawings.css", "run-here.css", "learner/learner.css"),
)
THEME_SCRIPT = "scripts/pydata-sphinx-theme.js"
SCRIPTS = (
    *("documentation_options.js", "doctools.js", "sphinx_highlight.js", "clipboard.min.js"),
    *("copybutton.js", "scripts/sphinx-book-theme.js", THEME_SCRIPT, "course.js"),
)
# Folds are native <details>, code runs in a notebook or by our own worker, and no page has the
# grids and tabs of sphinx-design.
UNUSED = (
    *("sphinx-thebe.css", "togglebutton.css", "sphinx-design.min.css"),
    *("togglebutton.js", "sphinx-thebe.js", "design-tabs.js"),
)
# Inline scripts that set up scripts we do not load; each is recognised by a string in it.
UNUSED_INLINE = ("toggle", "THEBE_JS_URL", "DOCUMENTATION_OPTIONS.")

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
# The theme gives a tab stop to each of these that is wider than its box: it measures one, marks it,
# measures the next, so the whole page is laid out once for each, and again after every change of
# the page. course.js measures all before it marks any.
MEASURED = (
    '["pre",".nboutput > .output_area",".cell_output > .output",".jp-RenderedHTMLCommon",'
    '".pst-scrollable-table-container"].join(", ")'
)
NOTHING = '":not(*)"'
# What opens a lesson's lab in the contents; the theme gives it no name.
TOGGLE = '<summary><span class="toctree-toggle"'


def choose(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Check what the extensions ask a page to load; give the template our lists instead."""
    for asset in [*context["css_files"], *context["script_files"]]:
        name = str(getattr(asset, "filename", asset) or "").removeprefix("_static/")
        inline = "" if name else asset.attributes.get("body") or ""
        known = any(Path(name).match(pattern) for pattern in (*STYLES, *SCRIPTS, *UNUSED))
        if not known and not any(mark in inline for mark in UNUSED_INLINE):
            raise ExtensionError(f"tools/site/assets.py does not know {name or inline!r}")
    context["css_files"], context["script_files"] = [], []
    body = context.get("body", "")
    some = [name for mark, names in SOME_SCRIPTS.items() if mark in body for name in names]
    context["course_scripts"] = [*SCRIPTS, *dict.fromkeys(some)]
    context["later_scripts"] = [name for name in LEARNER if name not in some]
    context["sealed"] = SEALED in body
    context["has_math"] = 'class="katex-html' in body


def site_css(static: Path) -> str:
    """One style sheet from STYLES, without comments."""
    kept = ""
    for path in (path for pattern in STYLES for path in sorted(static.glob(pattern))):
        folder = path.parent.relative_to(static).as_posix()  # addresses began there
        kept += re.sub(r"url\((?!data:|#|[\"'])", f"url({folder}/", path.read_text("utf-8"))
    kept = re.sub(r"/\*.*?\*/|@charset[^;]*;", "", kept, flags=re.DOTALL)
    # The theme's icon fonts: our templates draw their few icons themselves.
    return re.sub(r"@font-face *\{[^}]*Font ?Awesome[^}]*\}", "", kept)


def stop_measuring(script: Path) -> None:
    """Leave the tab stops of wide boxes to course.js."""
    text = script.read_text("utf-8").replace(MEASURED, NOTHING)
    if NOTHING not in text:
        raise ExtensionError(f"tools/site/assets.py: {THEME_SCRIPT} no longer holds {MEASURED}")
    script.write_text(text, "utf-8")


def write_css(app: Sphinx, error: Exception | None) -> None:
    """Write site.css; pages name its hash, so that no browser keeps a stale one."""
    if error or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    # Sphinx copies our files only if some page changed too.
    for folder in app.config.html_static_path:
        copy_asset(str(Path(app.srcdir, folder)), str(static))
    stop_measuring(static / THEME_SCRIPT)
    css = site_css(static)
    (static / "site.css").write_text(css, "utf-8")
    digest = hashlib.sha256(css.encode()).hexdigest()[:8]
    for page in Path(app.outdir).rglob("*.html"):
        text = re.sub(r"site\.css(\?v=\w+)?", f"site.css?v={digest}", page.read_text("utf-8"))
        text = text.replace(TOGGLE, TOGGLE.replace("<summary>", '<summary aria-label="Its lab">'))
        page.write_text(text, "utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("html-page-context", choose, priority=950)
    app.connect("build-finished", write_css, priority=900)  # after the theme has written its own
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
