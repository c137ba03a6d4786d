"""A small book, built as the course is, for tests that need pages of their own."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from built_site import Log

from tools.book import notebook as notebooks

REPOSITORY = Path(__file__).parents[2]
sys.path.insert(0, str(REPOSITORY / "tests/pipeline"))
from tiny import make_book  # noqa: E402

__all__ = ["REPOSITORY", "small_book", "visiting"]


def small_book(root):
    """Write the book, in which each of these files has chapters, run it, and build its site."""
    import learner_book
    import test_keep
    import test_minilm_in_cells
    import test_writes

    asking = (test_keep, test_writes, test_minilm_in_cells)
    chapters = {name: text for file in asking for name, text in file.SMALL_BOOK.items()}
    learner_book.add_end(make_book(root, **learner_book.chapters(), **chapters))
    assert notebooks.main([], root) == 0
    command = [Path(sys.executable).with_name("jupyter-book"), "build", ".", "-q", "-W", "-n"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "CI": "true", "NO_COLOR": "1"}
    ran = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    return root


@contextmanager
def visiting(new_page, base):
    """A function: go("one", init="script", **as new_page) -> that page; page=… goes on in that one.

    page.asked: the files that it asked for. At the end no page may have done what none may do.
    """
    log = Log(base)

    def go(name, *, page=None, init=None, **options):
        if page is None:
            page = new_page(**options)
            log.watch(page)
            page.asked = []
            page.on("request", lambda request: page.asked.append(request.url))
            if init:
                page.add_init_script(init)
        page.goto(f"{base}/book/{name}.html", wait_until="load")
        return page

    yield go
    assert not log.errors, "\n".join(log.errors)
