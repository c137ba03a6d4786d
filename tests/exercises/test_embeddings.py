"""The relations of the open exercise."""

import re

import numpy as np
from worked import BOOK

from attention_src.models.minilm import MiniLM


def test_the_relations_of_the_open_exercise():
    page = (BOOK / "labs/embeddings.md").read_text(encoding="utf-8")
    model = MiniLM.load()
    ids = model.tokenizer.get_vocab()
    words = [w for w in sorted(ids, key=ids.get) if ids[w] >= 1996]
    words = [w for w in words if w.isascii() and w.isalpha() and len(w) > 1]
    vectors = model.token_embeddings[[ids[w] for w in words]]
    unit = vectors / np.linalg.norm(vectors, axis=1)[:, None]
    names = {"np": np, "place": {w: i for i, w in enumerate(words)}, "unit": unit}
    for function in ("analogies", "hits", "three_columns"):
        exec(
            re.search(rf"^def {function}\b.*?\n(?=[^\s)])", page, re.DOTALL | re.MULTILINE)[0],
            names,
        )
    text = page.split("{solution-start} ex:embeddings-relation")[1]
    exec(text.split("```python\n")[1].split("```")[0], names)
    assert len(names["report"]) == 3
