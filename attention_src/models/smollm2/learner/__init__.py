"""SmolLM2 on functions of your own: `SmolLM2.load(parts=...)`.

forward   the forward pass in named parts: read this first
dispatch  which part is whose, and which does the work of which
checks    what a part's answer must be
defaults  each part in NumPy, for those that you did not write
cache     keys and values in storage that append_and_read fills
sampling  the next token by the part sample
"""
