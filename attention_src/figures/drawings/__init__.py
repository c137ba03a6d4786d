"""The chapters' drawings, one function each; `draw(name)` shows one.

To add one, write drawings/<name>.py with a function of that name that returns a `Drawing`, and give
it a line in DRAWINGS.
"""

from collections.abc import Callable

from attention_src.figures.drawing import Drawing
from attention_src.figures.drawings.cache import cache
from attention_src.figures.drawings.equation import equation
from attention_src.figures.drawings.layer import layer
from attention_src.figures.drawings.pages import pages
from attention_src.figures.drawings.split_heads import split_heads

DRAWINGS: dict[str, Callable[..., Drawing]] = {
    "cache": cache,
    "equation": equation,
    "layer": layer,
    "pages": pages,
    "split_heads": split_heads,
}
