"""SmolLM2-135M, a real language model, on the course's own attention.

model        the forward pass: read this first
weights      what the file holds, and how the forward pass wants it
parts        norms, projections, the feed-forward part
inputs       token ids and positions, checked
tokenizer    text to ids and back, the format of a chat
caches       a name for every cache
sampling     from logits to the next token
generate     token after token
trace        look into a forward pass, and interfere with it
experiments  what single heads do, what memory costs, how fast it is
"""

from attention_src.models.smollm2.model import FILE, SmolLM2

__all__ = ["FILE", "SmolLM2"]
