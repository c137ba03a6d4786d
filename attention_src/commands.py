"""What the package's commands share: a mistake is one line and status 2, never a traceback."""

import argparse
import contextlib
import os
import sys
from collections.abc import Callable


def run(main: Callable[[], int | None]) -> int:
    """Run a command.

    What may go wrong outside the program ends it: wrong arguments, a missing package or file, too
    little memory or disk. Any other error is a bug, and keeps its traceback.

    Args:
        main: the command; returns its exit status, None = 0
    Returns: the exit status: main's; 2 after an error, which is printed; 1 if whoever read the
        output has left, which is nobody's mistake, so nothing is printed; 130 after Ctrl-C
    Raises:
        RuntimeError: main's, if it is not about memory; so are all errors not named above
    """
    try:
        status = main() or 0
        sys.stdout.flush()  # a full disk shows here at the latest
        return status
    except BrokenPipeError:
        return 1
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        where = error.filename or "standard output"  # opening names its file, writing does not
        return _said(f"{where}: {error.strerror}" if error.strerror else error)
    except UnicodeEncodeError as error:
        return _said(f"standard output takes {error.encoding} only; set PYTHONIOENCODING=utf-8")
    except (ValueError, ImportError) as error:
        return _said(error)
    except (MemoryError, RuntimeError) as error:  # torch has no narrower one for memory on a CPU
        if not isinstance(error, MemoryError) and "memory" not in str(error):
            raise
        return _said(f"there is not enough memory: {str(error).partition(chr(10))[0]}")
    finally:
        _end_output()


def size(most: int) -> Callable[[str], int]:
    """A type for argparse: whole numbers from 1 on.

    Args:
        most: the largest that is allowed
    Returns: a function from the text to the number
    Raises:
        ArgumentTypeError: the function does, for any other text
    """

    def read(text: str) -> int:
        if not text.isdecimal() or len(text) > len(str(most)) or not 1 <= int(text) <= most:
            shown = f"{text!r:.40}"
            raise argparse.ArgumentTypeError(f"{shown} should be a whole number from 1 to {most}")
        return int(text)

    return read


def _said(error: object) -> int:
    print(error, file=sys.stderr)
    return 2


def _end_output() -> None:
    """What cannot be written is dropped; Python would try again when it ends, and complain."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
