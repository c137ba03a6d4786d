"""Python in the page: the parts that a reader's browser runs, made from pinned, hash-checked files.

pyodide.py    gets Pyodide (npm) and NumPy for it (vendor/), checks their hashes, compiles, caches
course.py     the NumPy part of attention_src, as a zip
build.py      Sphinx: writes them and the models into _static, and tells the pages where they are
needs.py      why a cell cannot run in the page, as its tag says
slice.py      which cells must run before a cell: asked in the page, at each press
reasons.py    Sphinx: says so below such a cell
worker/       what runs in the browser, beside the page: cells, MiniLM, and a model that writes
product/      the product of matrices for NumPy there, in C and as WebAssembly
standins/     modules for what Python in the page has not
static/       the scripts of the pages: run-here.js, writes.js, learner/
models/       MiniLM and SmolLM2 as files that a browser fetches
"""
