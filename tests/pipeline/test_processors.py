"""The variables of make elsewhere really switch what they should, on a processor that can."""

import os

import pytest

from tools.ci import processors

SAYS = {
    "Sandybridge": "OpenBLAS Sandybridge, NumPy X86_V2, torch DEFAULT",
    "Haswell": "OpenBLAS Haswell, NumPy X86_V3, torch AVX2",
    "Zen": "OpenBLAS Haswell, NumPy X86_V3, torch AVX2, oneMKL with CNR COMPATIBLE",
    "SkylakeX": "OpenBLAS SkylakeX, NumPy X86_V3 X86_V4, torch AVX512",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", processors.PROCESSORS)
def test_the_libraries_choose_as_on_that_processor(name):
    if not processors.can_pretend(name):
        pytest.skip(f"this processor has no {processors.NEEDS[name]}")
    environment = {**os.environ, **processors.PROCESSORS[name], "OPENBLAS_CORETYPE": name}
    assert processors.chosen(environment).startswith(SAYS[name])


def test_the_sum_of_all_runs_is_the_last_line_and_others_are_left_out(monkeypatch, capsys):
    tried = []

    def run(environment, *_):
        tried.append(environment["OPENBLAS_CORETYPE"])
        return processors.Counter(passed=3, failed=len(tried) - 1)

    monkeypatch.setattr(processors, "can_pretend", lambda name: name != "SkylakeX")
    monkeypatch.setattr(processors, "chosen", lambda environment: "")
    monkeypatch.setattr(processors, "run", run)
    assert processors.main(["Zen", "SkylakeX", "Haswell"]) == 1
    assert tried == ["Zen", "Haswell"]
    said = capsys.readouterr().out
    assert "SkylakeX: not tried" in said and said.endswith("\n6 passed, 1 failed, 1 skipped\n")
