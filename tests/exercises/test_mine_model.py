"""What learners write by the end of Part II runs a real language model."""

import numpy as np
import pytest
import torch
from worked import run_exercise

from attention_src.exercises.equation import check_attention
from attention_src.exercises.mine import parts
from attention_src.exercises.multihead import check_merge_heads, check_split_heads
from attention_src.models.smollm2 import SmolLM2, forward

SOLUTIONS = [
    ("equation", "ex:equation-line", check_attention, "my_attention"),
    ("multihead", "ex:multihead-split", check_split_heads, "split_heads"),
    ("multihead", "ex:multihead-merge", check_merge_heads, "merge_heads"),
]


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """The worked solutions, kept as a learner keeps them."""
    monkeypatch.setenv("MY_ATTENTION", str(tmp_path))
    for chapter, label, check, name in SOLUTIONS:
        solution = run_exercise(chapter, label)[name]
        assert check(solution)
        part = check.__name__.removeprefix("check_")
        imports = "import numpy as np\n\n\n"
        (tmp_path / f"{part}.py").write_text(
            imports + source(chapter, name) + f"\n{part} = {name}\n"
        )
    return parts()


def source(chapter, name):
    """The solution's text, as the chapter prints it."""
    from worked import BOOK

    page = (BOOK / f"{chapter}.md").read_text(encoding="utf-8")
    return f"def {name}(" + page.split(f"```python\ndef {name}(")[1].split("```")[0]


def test_smollm2_runs_on_kept_functions(mine, monkeypatch):
    model = SmolLM2.load()
    ids = model.encode("Keys are compared with queries, and values are blended.")
    expected = model.logits(ids)
    calls = []

    def attend(q, k, v, *, mask, causal, impl):
        assert mask is None and causal
        q, k, v = (x.numpy() for x in (q, k, v))
        k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
        calls.append(q.shape)
        o = mine["attention"](q, k, v, np.tri(q.shape[-2], dtype=bool))
        return torch.from_numpy(mine["split_heads"](mine["merge_heads"](o), q.shape[1]))

    monkeypatch.setattr(forward, "attend", attend)
    found = model.logits(ids)
    assert len(calls) == model.config.n_layers
    assert (found - expected).abs().max() < 2e-3
    assert torch.equal(found.argmax(-1), expected.argmax(-1))
