"""Draw the stills again: python -m attention_src.explorables"""

from attention_src.commands import run
from attention_src.explorables.stills import write_stills

if __name__ == "__main__":
    raise SystemExit(run(write_stills))
