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
    import test_minilm_in_cells
    from learner_book import CHAPTERS, PROGRESS

    make_book(root, **CHAPTERS, **test_minilm_in_cells.SMALL_BOOK)
    (root / "book/progress.md").write_text(PROGRESS, "utf-8")
    with (root / "_toc.yml").open("a") as toc:
        toc.write("- file: book/progress\n")
    assert notebooks.main([], root) == 0
    command = [Path(sys.executable).with_name("jupyter-book"), "build", ".", "-q", "-W", "-n"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "CI": "true", "NO_COLOR": "1"}
    ran = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    return root


@contextmanager
def visiting(new_page, base):
    """A function: go("one", **as new_page) -> that page; page=… goes on in that one.

    page.asked: the files that it asked for. At the end no page may have done what none may do.
    """
    log = Log(base)

    def go(name, *, page=None, **options):
        if page is None:
            page = new_page(**options)
            log.watch(page)
            page.asked = []
            page.on("request", lambda request: page.asked.append(request.url))
        page.goto(f"{base}/book/{name}.html", wait_until="load")
        return page

    yield go
    assert not log.errors, "\n".join(log.errors)
