"""SmolLM2-135M, a real language model, on the course's own attention.

forward      the forward pass: read this first
in_numpy     the whole model in NumPy alone, from the file's blocks: what a page runs
model        the class SmolLM2: load, logits, generate, trace
config       sizes, and the order of rotary pairs
weights      weights, from the file to the forward pass's layout
int4         matrices in the file's own 4-bit blocks
one_token    one new token by those matrices, in a few compiled calls a layer
operations   norms, projections, the feed-forward part
checks       token ids and positions, checked
tokenizer    text to ids and back, the format of a chat
caches       caches by name
sampling     from logits to the next token
generate     token after token
trace        record a forward pass, or change it
learner      the same forward pass on NumPy functions that you wrote
experiments  what each mistake does, whose parts it runs on, how many threads are fastest
"""

from typing import TYPE_CHECKING, Any

from attention_src.models.smollm2.config import FILE

if TYPE_CHECKING:
    from attention_src.models.smollm2.model import SmolLM2

__all__ = ["FILE", "SmolLM2"]


def __getattr__(name: str) -> Any:
    """SmolLM2 when it is asked for: it needs PyTorch, and in_numpy does not."""
    if name != "SmolLM2":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from attention_src.models.smollm2.model import SmolLM2

    return SmolLM2
