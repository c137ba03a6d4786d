"""What "copyist_looks" says and draws: lines as thick as the recorded weights."""

import numpy as np
import pytest
from drawn import figures, points

from attention_src.models.copyist import recorded, words

WORDS = words(attends=True)
STATES = [{"length": len(word), "step": i} for word in WORDS for i in range(len(word))]


@pytest.fixture(scope="module")
def every():
    return figures("copyist_looks", STATES)


def test_lines_are_as_thick_as_weights(every):
    for one in every:
        n, step = one.now["length"], one.now["step"]
        weights = list(WORDS.values())[n - 2]["weights"][step]
        assert one.now["weights"] == weights and sum(weights) == pytest.approx(100, abs=0.6)
        for seen in one.seen:
            thick = [float(seen[f"look{j}"]["stroke-width"]) for j in range(n)]
            assert thick == pytest.approx(np.maximum(0.14 * np.array(weights), 0.4), abs=0.006)
            assert f"look{n}" not in seen
            below = [points(seen[f"look{j}"])[0][0] for j in range(n)]
            assert below == pytest.approx([float(seen[f"row0-letter{step}"]["x"])] * n, abs=0.05)


def test_what_is_said(every):
    shares = [run["whole"] for run in recorded(task="copy", attends=True, steps=700)]
    for one in every:
        n, step = one.now["length"], one.now["step"]
        word, found = list(WORDS.items())[n - 2]
        row = found["weights"][step]
        j = int(np.argmax(row))
        letter = found["written"][0][step]
        assert one.said.startswith(f"Writing “{letter}” at step {step}: ")
        said = int(one.said.split(": ")[1].split(" %")[0])
        assert abs(said - row[j]) <= 0.5001
        assert f"on the “{word[j]}” of place {j}." in one.said
        a, b, c = (f"{each[n - 2]:.0f}" for each in shares)
        assert one.said.endswith(f"the three copied {a}, {b} and {c} %.")
