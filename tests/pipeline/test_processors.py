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


def test_a_processor_that_this_one_cannot_be_is_left_out(monkeypatch, capsys):
    monkeypatch.setattr(processors, "NEEDS", dict.fromkeys(processors.PROCESSORS, "no such flag"))
    monkeypatch.setattr(processors, "run", lambda *_: pytest.fail("it was run"))
    assert processors.main([]) == 0
    said = capsys.readouterr().out
    assert "Haswell: not tried" in said and "0 passed, 0 failed, 4 skipped" in said


def test_the_sum_of_all_runs_is_the_last_line(monkeypatch, capsys):
    tried = []

    def run(environment):
        tried.append(environment["OPENBLAS_CORETYPE"])
        return processors.Counter(passed=3, failed=len(tried) - 1)

    monkeypatch.setattr(processors, "can_pretend", lambda name: True)
    monkeypatch.setattr(processors, "chosen", lambda environment: "")
    monkeypatch.setattr(processors, "run", run)
    assert processors.main(["Zen", "Haswell"]) == 1
    assert tried == ["Zen", "Haswell"]
    assert capsys.readouterr().out.endswith("\n6 passed, 1 failed, 0 skipped\n")
