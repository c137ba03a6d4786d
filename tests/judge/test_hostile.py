"""Input that was not meant to be judged: a clear word, exit code 2, and soon."""

import json
import re
import subprocess
import sys

import pytest
from hostile import HOSTILE

from attention_src.judge.alone import judge_alone

ENDLESS = ("never returns", "never returns once defined", "sleeps", "eats memory")
SOON, PATIENT = (
    8,
    60,
)  # seconds by the clock: for what never ends, and for what ends on a busy machine
IN_ONE_PROCESS = """
import json, pathlib, sys
from attention_src.judge import judge_source
texts = json.loads(pathlib.Path(sys.argv[1]).read_text())
said = {name: json.loads(judge_source(text).to_json()) for name, text in texts.items()}
pathlib.Path(sys.argv[2]).write_text(json.dumps(said))
"""


def check(name, said):
    assert said["verdict"] != "right" and said["exit_code"] in (1, 2), name
    assert re.search(HOSTILE[name][1], said["words"]), (name, said["words"])
    assert len(said["words"]) < 2000, name


@pytest.mark.slow
@pytest.mark.parametrize("name", (*ENDLESS, "ends Python"))
def test_what_ends_only_with_its_process_gets_a_clear_word(name, tmp_path):
    path = tmp_path / "theirs.py"
    path.write_text(HOSTILE[name][0])
    check(name, judge_alone(f"{path}", seconds=SOON if name in ENDLESS else PATIENT, memory=2))


@pytest.mark.slow
def test_hostile_code_gets_a_clear_word(tmp_path):
    names = [name for name in HOSTILE if name not in (*ENDLESS, "ends Python")]
    texts, answers = tmp_path / "texts", tmp_path / "answers"
    texts.write_text(json.dumps({name: HOSTILE[name][0] for name in names}))
    done = subprocess.run(
        [sys.executable, "-c", IN_ONE_PROCESS, f"{texts}", f"{answers}"],
        capture_output=True,
        text=True,
        timeout=PATIENT * len(names),
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    said = json.loads(answers.read_text())
    for name in names:
        check(name, said[name])


def test_a_clear_word_for_what_raises(tmp_path):
    path = tmp_path / "theirs.py"
    path.write_text(HOSTILE["raises"][0])
    command = [sys.executable, "-m", "attention_src.judge", f"{path}", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENT)
    assert done.returncode == 2 and "not today" in json.loads(done.stdout)["words"]
