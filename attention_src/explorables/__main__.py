"""Draw the stills again: python -m attention_src.explorables"""

from attention_src.explorables.stills import write_stills

if __name__ == "__main__":
    write_stills()
