"""{writes}: SmolLM2 in the page, which writes on functions of the page's own cells.

    ```{writes} three
    :prompt: Once upon a time, there was a little
    ```

`three` is a dict of functions that a cell above makes, by the names of `exercises.keep`. The site
shows a form (tools/page/static/writes.js) where the model's weights could be had; the notebook has
nothing, since there the model is at hand.
"""

from __future__ import annotations

from html import escape

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

# It begins as tools/page/build.py knows it. What a script has to fill is hidden without.
FORM = """<div class="model-writes" data-own="{own}"><form>
<label class="model-prompt">The text begins <input name="prompt" value="{prompt}" \
maxlength="300" autocomplete="off" spellcheck="false"></label>
<label><input type="checkbox" name="yours" checked> on the functions of <code>{own}</code>, as the \
cells above make them</label>
<span class="model-ways"><button class="run-button" disabled>Write</button><button type="button" \
class="run-button" hidden>Stop</button><progress max="1" value="0" aria-label="Fetched" hidden>\
</progress><span class="run-status" role="status"></span></span>
</form><p class="model-text" aria-live="polite"></p><p class="model-warning"></p></div>"""


class Writes(SphinxDirective):
    """A form with a beginning, a button, and room for what the model writes."""

    required_arguments = 1
    option_spec = {"prompt": directives.unchanged_required}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        html = FORM.format(own=self.arguments[0], prompt=escape(self.options["prompt"]))
        return [nodes.raw("", html, format="html")]


FORMS = {"writes": lambda page, d: ""}


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("writes", Writes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
