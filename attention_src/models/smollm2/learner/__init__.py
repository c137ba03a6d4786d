"""SmolLM2 on functions of your own: `SmolLM2.load(parts=...)`.

forward   the forward pass in named parts: read this first
parts     which part is whose, and which does the work of which
answers   what a part's answer must be
ours      each part in NumPy, for those that you did not write
cache     keys and values in storage that append_and_read fills
sampling  the next token by the part sample
"""
