"""SmolLM2 in NumPy alone, from the blocks of its file: what runs in a page, and in a notebook.

listing  the forward pass, every step of it: read this first
weights  the model, from the bytes of its file
blocks   matrices in the file's blocks, multiplied as they are
bpe      text to token ids and back
own      the listing on functions of your own
write    a text, token by token
"""
