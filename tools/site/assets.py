"""Sphinx extension: a page loads one style sheet and a few deferred scripts, all from this site.

The theme and the extensions bring 14 style sheets (500 KB, most of it for things that no page has)
and 20 scripts, a megabyte of them icons. Here the style sheets become one, `_static/site.css`, with
only the rules whose classes and ids occur on some page or in some script; KaTeX's fonts keep only
the characters in use; scripts that nothing needs are left out. A style sheet or script that this
file does not know stops the build: put it in one of the lists below.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import tinycss2
from sphinx.errors import ExtensionError
from sphinx.util.fileutil import copy_asset

from tools.site import fonts as site_fonts

# In the order in which they override each other. {name}.* stands for a name with a hash in it.
STYLES = (
    "basic.css",
    "styles/pydata-sphinx-theme.css",
    "pygments.css",
    "styles/sphinx-book-theme.css",
    "copybutton.css",
    "mystnb.*.css",
    "exercise.css",
    "proof.css",
    "sphinx-design.min.css",
    "vendor/katex/katex.min.css",
    "course.css",
)
UNUSED_STYLES = ("sphinx-thebe.css", "togglebutton.css")

OWN_FILES = "book/_static"
KATEX_FONTS = "book/_static/vendor/katex/fonts"

SCRIPTS = (
    "documentation_options.js",
    "doctools.js",
    "sphinx_highlight.js",
    "clipboard.min.js",
    "copybutton.js",
    "design-tabs.js",
    "scripts/sphinx-book-theme.js",
    "scripts/pydata-sphinx-theme.js",
    "course.js",
)
# Folds are native <details> (site/page.py), and code is run in a notebook, not on the page.
UNUSED_SCRIPTS = ("togglebutton.js", "sphinx-thebe.js")
# Inline scripts, each recognised by something in its text, that set up what is not loaded.
UNUSED_INLINE = ("toggle", "THEBE_JS_URL", "DOCUMENTATION_OPTIONS.")


def name_of(asset):
    """ "course.css" for Sphinx's record of _static/course.css; "" for an inline script."""
    return str(getattr(asset, "filename", asset) or "").removeprefix("_static/")


def known(name, patterns):
    return any(Path(name).match(pattern) for pattern in patterns)


def choose(app, pagename, templatename, context, doctree):
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
    context["course_scripts"] = SCRIPTS
    context["has_math"] = 'class="katex"' in context.get("body", "")


def page_texts(out):
    """The text of each page."""
    pages = (p for p in sorted(out.rglob("*.html")) if out / "_static" not in p.parents)
    return [page.read_text("utf-8") for page in pages]


def words_in_use(out):
    """Every word of the pages and scripts that could be a class, an id or an attribute's value."""
    scripts = [out / "_static" / name for name in (*SCRIPTS, "searchtools.js")]
    texts = page_texts(out) + [script.read_text("utf-8") for script in scripts]
    return set(re.findall(r"[\w-]+", "\n".join(texts)))


def selector_in_use(selector, words):
    """Does each class and id of one selector (no commas at its top level) occur somewhere?

    What :not(...) and other functions ask for does not count: it may well be absent.
    """
    for before, token in zip([None, *selector], selector, strict=False):
        is_class = token.type == "ident" and before is not None and before == "."
        if is_class and token.value not in words:
            return False
        if token.type == "hash" and token.value not in words:
            return False
    return True


def split_at_commas(tokens):
    part: list = []
    for token in tokens:
        if token == ",":
            yield part
            part = []
        else:
            part.append(token)
    yield part


def purge(rules, words):
    """The rules that can match something, as text."""
    for rule in rules:
        if rule.type == "at-rule" and rule.content is not None and rule.lower_at_keyword in (
            "media", "supports",
        ):  # fmt: skip
            inner = tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
            if kept := "".join(purge(inner, words)):
                yield f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{kept}}}"
        elif rule.type == "qualified-rule":
            parts = [p for p in split_at_commas(rule.prelude) if selector_in_use(p, words)]
            if parts:
                selector = ",".join(tinycss2.serialize(p).strip() for p in parts)
                yield f"{selector}{{{squeeze(tinycss2.serialize(rule.content))}}}"
        elif rule.type == "at-rule" and rule.lower_at_keyword != "charset":
            yield squeeze(rule.serialize())


def squeeze(css):
    return re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)).strip()


def site_css(out):
    """One style sheet from STYLES, without what no page uses."""
    words, kept = words_in_use(out), []
    for pattern in STYLES:
        for path in sorted((out / "_static").glob(pattern)):
            rules = tinycss2.parse_stylesheet(
                path.read_text("utf-8"), skip_comments=True, skip_whitespace=True
            )
            text = "".join(purge(rules, words))
            # Addresses are relative to _static/site.css now.
            folder = path.parent.relative_to(out / "_static").as_posix()
            text = re.sub(r"url\((?!data:|#|[\"'])", f"url({folder}/", text)
            kept.append(text)
    css = "".join(kept).replace("vendor/katex/fonts/", "fonts/")
    # The theme's icon fonts: our templates draw their few icons themselves.
    css = re.sub(r"@font-face *\{[^}]*Font ?Awesome[^}]*\}", "", css)
    return drop_variables(css, {word for word in words if word.startswith("--")})


def drop_variables(css, named):
    """Leave out custom properties (--bs-...) that neither the rules read nor the pages name."""
    value = r"""(?:[^;{}"']|"[^"]*"|'[^']*')*"""
    declaration = re.compile(rf"(?<=[;{{\s])(--[\w-]+)\s*:{value};?")
    read: set[str] = set()

    def keep(match):
        return match[0] if match[1] in read else ""

    before = ""
    while css != before:
        before, read = css, named | set(re.findall(r"var\(\s*(--[\w-]+)", css))
        css = declaration.sub(keep, css)
    return css


def write_css(app, error):
    """Write site.css and the fonts. Its hash goes into each page: no cache serves a stale one."""
    if error or app.builder.format != "html":
        return
    out = Path(app.outdir)
    # Sphinx copies our files only when some page changed as well.
    copy_asset(str(Path(app.srcdir, OWN_FILES)), str(out / "_static"))
    css = site_css(out)
    (out / "_static/site.css").write_text(css, "utf-8")
    characters = site_fonts.characters(page_texts(out))
    site_fonts.cut(Path(app.srcdir, KATEX_FONTS), out / "_static/fonts", *characters)
    digest = hashlib.sha256(css.encode()).hexdigest()[:8]
    for page in out.rglob("*.html"):
        old = page.read_text("utf-8")
        new = re.sub(r"site\.css(\?v=\w+)?", f"site.css?v={digest}", old)
        if new != old:
            page.write_text(new, "utf-8")
    for unused in [*(out / "_static").rglob("*.map"), out / "_static/scripts/fontawesome.js"]:
        unused.unlink(missing_ok=True)


def setup(app):
    app.connect("html-page-context", choose, priority=950)
    app.connect(
        "build-finished", write_css, priority=900
    )  # after the theme has written its colours
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
