"""python -m attention_src.judge file.py:function [--kind K] [--json].

The exit code is 0 if it is right, 1 if it is wrong, 2 if it was not judged.

The file runs in a process of its own, with a limit of time and memory.
"""

import argparse
import json
import sys
from pathlib import Path

from attention_src import commands
from attention_src.judge.alone import judge_alone
from attention_src.judge.judging import KINDS


def main() -> int:
    """Judge what the arguments name.

    Returns: the exit code of its report
    Raises:
        ValueError: there is no such file
    """
    parser = argparse.ArgumentParser("python -m attention_src.judge", description=__doc__)
    parser.add_argument("what", help="file.py:function, or file.py")
    parser.add_argument("--kind", choices=KINDS, help="what it is; by default guessed")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument(
        "--seconds", type=commands.size(3600), default=120, help="by the clock; by default 120"
    )
    parser.add_argument("--memory", type=commands.size(1024), default=8, help="GiB; by default 8")
    given = parser.parse_args()
    path, colon, name = given.what.rpartition(":")
    path, name = (path, name) if colon and not name.endswith(".py") else (given.what, "")
    if not Path(path).is_file():
        raise ValueError(f"there is no file {path}")
    said = judge_alone(path, name, given.kind, given.seconds, given.memory)
    print(json.dumps(said, ensure_ascii=False) if given.json else said["words"])
    return said["exit_code"]


if __name__ == "__main__":
    sys.exit(commands.run(main))
