"""Stored outputs are compared as a reader compares them: no more strictly, and no less."""

import subprocess
import sys

import pytest
from tiny import REPOSITORY, ran, store

from tools.ci import compare_outputs

FIGURE = (
    '<svg aria-label="A line from 0.50 up." viewBox="0 0 324 187.2">'
    '<defs><path id="f9b9fb89a-0" d="M 0 0 L 0 3.5 " style="stroke: #767676"/></defs>'
    '<use href="#f9b9fb89a-0" x="110.550521" y="151.4" style="fill: #d55e00"/>'
    '<g transform="translate(63.62 0.75) scale(0.1 -0.1)"><path d="M 39.9 81.41 L 321 81.41 "/></g>'
    "</svg>"
)


@pytest.mark.parametrize(
    ("stored", "found"),
    [
        ("mean 0.587 of 3", "mean 0.588 of 3"),
        ("97% of 8", "98% of 8"),
        ("at 100 to 100 %", "at  99 to 100 %"),
        ("| 9.99 |", "| 10.00 |"),
        ("9.9e-08", "1.0e-07"),
        ("[1.e-05 2.e-05]", "[2.e-05 2.e-05]"),
        ("-0.00", "0.00"),
        ("1,999.9 ms", "2,000.0 ms"),
    ],
)
def test_the_last_digit_of_a_rounded_number_may_turn(stored, found):
    assert compare_outputs.same(stored, found)
    assert compare_outputs.same(found, stored)


@pytest.mark.parametrize(
    ("stored", "found"),
    [
        ("mean 0.587", "mean 0.589"),
        ("mean 0.587", "mean 0.5870"),
        ("0.01", "-0.01"),
        ("7 of 8", "8 of 8"),
        ("97 %", "97 pairs"),
        ("97 to 100 %", "95 to 100 %"),
        ("[2, 13]", "[2, 14]"),
        ("float16", "float17"),
        ("1.7B", "1.8B"),
        ("it is 1.", "it is 2."),
        ("torch 2.13.0", "torch 2.14.0"),
        ("0.5 0.6", "0.5"),
        ("a  0.50", "a 0.50"),
        ("0.50\n0.50", "0.50 0.50"),
    ],
)
def test_anything_else_in_a_text_is_compared_exactly(stored, found):
    assert not compare_outputs.same(stored, found)
    assert not compare_outputs.same(found, stored)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("110.550521", "110.84"),
        ("63.62", "63.9"),
        ("#d55e00", "#d35f02"),
        ("f9b9fb89a", "f0123abcd"),
        ("0.50 up", "0.51 up"),
    ],
)
def test_what_nobody_sees_in_a_figure_may_differ(old, new):
    assert compare_outputs.same(FIGURE, FIGURE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("110.550521", "110.9"),
        ("0.1 -0.1", "0.2 -0.1"),
        ("L 321 81.41 ", "L 321 81.41 L 330 81.41 "),
        ("L 0 3.5", "M 0 3.5"),
        ("#d55e00", "#d55e03"),
        ('href="#f9b9fb89a-0"', 'href="#f9b9fb89a-1"'),
        ("0.50 up", "0.52 up"),
        ("A line", "A curve"),
        ("</defs>", "</defs>words"),
        ('y="151.4"', 'y="151.4" opacity="0.5"'),
        ("187.2", "187.3"),
    ],
)
def test_what_is_seen_in_a_figure_is_compared(old, new):
    assert old in FIGURE
    assert not compare_outputs.same(FIGURE, FIGURE.replace(old, new))
    assert not compare_outputs.same(FIGURE.replace(old, new), FIGURE)


def test_timings_are_left_out_and_another_number_of_outputs_is_seen():
    stored = [{"output_type": "stream", "name": "stdout", "text": "x 0.10 s TIME 5"}]
    found = [{"output_type": "stream", "name": "stdout", "text": "x 0.11 s TIME 9"}]

    def timeless(text):
        return text.split("TIME")[0]

    assert compare_outputs.as_stored(found, stored, timeless) == stored
    assert compare_outputs.as_stored(found, stored, str) == found
    assert compare_outputs.as_stored(found * 2, stored, timeless) == found * 2


@pytest.mark.slow
@pytest.mark.parametrize(("number", "passes"), [("0.588", True), ("0.5871", False)])
def test_nbval_takes_a_last_digit_and_no_other(tmp_path, number, passes):
    notebook = tmp_path / "tiny.ipynb"
    store(notebook, ran(f'print("mean", {number})', "mean 0.587\n"))
    words = f"-q --rootdir {tmp_path} --nbval --nbval-current-env -p tools.ci.compare_outputs"
    command = [sys.executable, "-m", "pytest", *words.split(), str(notebook)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == (0 if passes else 1), done.stdout + done.stderr
