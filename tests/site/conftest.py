"""A real browser over the built site: Chromium, or with --firefox Firefox (see firefox.py).

    site        address of _build/html, served on loopback with gzip
    pages       every page of the site, as paths ("book/softmax.html")
    small_site  address of a small book, for tests that need pages of their own
    browser     Chromium: one for each file, since after 900 pages it was seen to draw no more
    new_page    new_page(theme="dark", width=390) -> an empty playwright Page
    open_page   open_page("book/softmax.html", theme="dark", width=390) -> one with that page

When a test ends, each page that it opened must have logged no error, must have asked no other host
for anything, and must have been refused nothing. So every browser test is a test of that too.
"""

import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from built_site import HTML, Log, site_pages
from firefox import firefox, firefoxes, in_firefox

from tools.site.server import serving

# On a busy machine a first visit can be in the system's face (font-display: optional), whose lines
# are longer; then the second has ours from the cache.
OTHER_FACE = """async () => {
  await document.fonts.ready;
  const pen = document.createElement('canvas').getContext('2d');
  const width = (faces) => { pen.font = `100px ${faces}`; return pen.measureText('mild').width };
  const own = [...document.fonts].some((face) => face.family.includes('Course Serif'));
  return own && width("'Course Serif', monospace") === width('monospace');
}"""


def pytest_addoption(parser):
    parser.addoption("--firefox", action="store_true", help="only tests of a browser, in Firefox")


def pytest_collection_modifyitems(config, items):
    here, other = Path(__file__).parent, in_firefox(config)
    left_out = []
    for item in items:
        drives = here in item.path.parents and "browser" in item.fixturenames
        if not drives if other else item.path.name == "test_firefox.py":
            left_out.append(item)
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="session")
def site():
    if not (HTML / "index.html").is_file():
        pytest.fail(f"{HTML} is not built: run `make book` first", pytrace=False)
    with serving(HTML) as base:
        yield base


@pytest.fixture(scope="session")
def pages(site):
    return site_pages()


@pytest.fixture(scope="session")
def small_book(tmp_path_factory):
    """The folder of a small book; a build takes a quarter of a minute, so there is one for all."""
    import small_book

    return small_book.small_book(tmp_path_factory.mktemp("book"))


@pytest.fixture(scope="session")
def small_site(small_book):
    """Its address."""
    with serving(small_book / "_build/html") as base:
        yield base


def how_long(fixture_name, config):
    """A browser is kept for a file; Firefox, which takes seconds to start, for all of them."""
    return "session" if in_firefox(config) else "module"


@pytest.fixture(scope=how_long)
def browser(pytestconfig):
    other = in_firefox(pytestconfig)
    path = firefox() if other else chromium()
    missing = driver_lacks()
    if path is None or missing:
        install = "firefox-esr" if other else "chromium"
        what = missing or f"Install {install}, or name one in {'FIREFOX' if other else 'CHROMIUM'}."
        reason = f"NO BROWSER: the site was NOT tested. {what}"
        if os.environ.get("REQUIRE_BROWSER") == "1":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    with firefoxes() if other else chromiums(path) as started:
        yield started


def chromium():
    """The browser: $CHROMIUM, or the first usual name that is installed; None if there is none."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def driver_lacks():
    """Why Playwright's driver cannot start here, and what helps; empty if it can.

    The driver is a node that comes with the wheel; it needs libatomic, which Debian's chromium
    does not always bring along.
    """
    from playwright._impl._driver import compute_driver_executable

    node, _ = compute_driver_executable()
    started = subprocess.run([node, "--version"], capture_output=True, text=True)
    if started.returncode == 0:
        return ""
    return f"Playwright's node does not start ({started.stderr.strip()}): apt install libatomic1"


@contextmanager
def chromiums(path):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--disable-gpu"])
        yield started
        started.close()


@pytest.fixture
def new_page(browser):
    """A function: new_page(*, theme="light", width=1280, height=900, **options of a context).

    Pages of a test that are asked for with the same options share what their browser keeps.
    """
    contexts = {}

    def make(*, theme="light", width=1280, height=900, reduced_motion="no-preference", **options):
        options |= {"color_scheme": theme, "reduced_motion": reduced_motion}
        asked = repr(options)
        if asked not in contexts:
            contexts[asked] = browser.new_context(**options)
        page = contexts[asked].new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.set_default_timeout(120_000)  # a busy machine is not a bug
        return page

    yield make
    for context in contexts.values():
        context.close()


@pytest.fixture
def open_page(new_page, site):
    """A function: open_page(path, **as new_page)."""
    log = Log(site)

    def visit(path, **options):
        page = new_page(**options)
        log.watch(page)
        page.goto(f"{site}/{path}", wait_until="load")
        for _ in range(5):
            if not page.evaluate(OTHER_FACE):
                break
            page.reload()
        return page

    yield visit
    assert not log.errors, "\n".join(log.errors)
