"""The reader of what was measured on a GPU, against the files."""

import json

import pytest

from attention_src.costs.measured import FOLDER, measured


@pytest.mark.parametrize("topic", ["softmax", "rope", "flash", "kvcache", "ssm"])
def test_it_reads_what_the_file_says(topic):
    kept = json.loads((FOLDER / f"nvidia-h200-{topic}.json").read_text(encoding="utf-8"))
    found = measured(topic)
    assert found.source == "NVIDIA H200, 2026-11-26" and found.rows == kept["rows"]
    for row in kept["rows"]:
        labels = {name: x for name, x in row.items() if x is not None and type(x) is not float}
        for name in row.keys() - labels.keys():
            if row[name] is not None:
                assert found.value(name, **labels) == row[name]


def test_a_missing_file_is_named():
    with pytest.raises(ValueError, match=r"'nvidia-h200-linear' was not measured.*h200-ssm"):
        measured("linear")
    with pytest.raises(ValueError, match="'abacus-flash' was not measured"):
        measured("flash", "abacus")


def test_a_missing_number_is_named():
    ssm = measured("ssm")
    with pytest.raises(ValueError, match="one row should have them, but 2 do"):
        ssm.value("ms", impl="triton")
    with pytest.raises(ValueError, match="but 0 do"):
        ssm.value("ms", impl="triton", direction="sideways")
    with pytest.raises(ValueError, match="field is 'joules'"):
        ssm.value("joules", impl="triton", direction="forward")
    dense = dict(impl="sdpa math", direction="backward", d=64, causal=False, n=16384)
    with pytest.raises(ValueError, match=r"field is 'ms'.*OutOfMemoryError"):
        measured("flash").value("ms", **dense)
