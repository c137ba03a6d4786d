"""Weigh the built pages, and score them with Lighthouse if npx is installed.

    python -m tools.site.weigh [--lighthouse] [page ...]

Pages are paths of the site (default: all of the book). For each: KB over the wire with gzip on a
first visit, KB when it is the next page after the first page of the book, requests, elements, and
requests to other hosts. With --lighthouse: the median of three mobile runs of each category.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.site.server import serving

if TYPE_CHECKING:  # weighing needs it, the command's help does not
    from playwright.sync_api import BrowserContext

ROOT = Path(__file__).resolve().parents[2]
HTML = Path(os.environ.get("SITE_HTML", ROOT / "_build" / "html"))
FIRST_PAGE = "book/intro.html"
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
RUNS = 3
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
LIGHTHOUSE = "lighthouse@12.8.2"


def chromium() -> str | None:
    """The browser: $CHROMIUM, or the first usual name that is installed; None if there is none."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def driver_lacks() -> str:
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


@dataclass
class Visit:
    """What was requested while one page was opened and scrolled to its end."""

    bytes: dict[str, int] = field(
        default_factory=dict
    )  # of each address: transferred, with headers
    foreign: list[str] = field(default_factory=list)  # addresses on other hosts
    elements: int = 0  # in the page at last

    def after(self, before: Visit) -> int:
        """The bytes for a reader who comes from another page: what that one loaded is cached."""
        return sum(size for address, size in self.bytes.items() if address not in before.bytes)


def visits(context: BrowserContext, base: str, *pages: str) -> list[Visit]:
    """Open pages one after the other, the first with the cache emptied."""
    page = context.new_page()
    page.set_default_navigation_timeout(120_000)  # a busy machine takes longer
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.clearBrowserCache")
    addresses: dict[str, str] = {}
    made: list[Visit] = []

    def asked(event: dict[str, Any]) -> None:
        url = addresses[event["requestId"]] = event["request"]["url"]
        if url.startswith(("http:", "https:")) and not url.startswith(base):
            made[-1].foreign.append(url)

    def loaded(event: dict[str, Any]) -> None:
        size, address = int(event["encodedDataLength"]), addresses.get(event["requestId"])
        if size and address:
            made[-1].bytes[address] = made[-1].bytes.get(address, 0) + size

    session.on("Network.requestWillBeSent", asked)
    session.on("Network.loadingFinished", loaded)
    for path in pages:
        made.append(Visit())
        page.goto(f"{base}/{path}", wait_until="networkidle")
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        page.wait_for_load_state("networkidle")
        made[-1].elements = page.evaluate("document.querySelectorAll('*').length")
    page.close()
    return made


def lighthouse(url: str) -> dict[str, float] | None:
    """Median score of each category, 0 to 100; None if npx or the browser is missing."""
    npx, browser = shutil.which("npx"), chromium()
    if npx is None or browser is None:
        return None
    scores: dict[str, list[int]] = {name: [] for name in CATEGORIES}
    with tempfile.TemporaryDirectory() as folder:
        for run in range(RUNS):
            report = Path(folder, f"{run}.json")
            subprocess.run(
                [
                    *(npx, "--yes", LIGHTHOUSE, url, "--quiet"),
                    *("--output=json", f"--output-path={report}"),
                    f"--chrome-flags={' '.join(('--headless=new', *FLAGS))}",
                    f"--only-categories={','.join(CATEGORIES)}",
                ],
                env={**os.environ, "CHROME_PATH": browser},
                check=True,
            )
            result = json.loads(report.read_text("utf-8"))["categories"]
            for name in CATEGORIES:
                scores[name].append(round(100 * result[name]["score"]))
    return {name: statistics.median(values) for name, values in scores.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pages", nargs="*", help='such as "book/softmax.html"')
    parser.add_argument("--lighthouse", action="store_true", help="also run Lighthouse (minutes)")
    parser.add_argument("--html", default=HTML, type=Path, help="folder of the built site")
    options = parser.parse_args(arguments)
    book = sorted(
        p.relative_to(options.html).as_posix() for p in options.html.glob("book/**/*.html")
    )
    if chromium() is None:
        sys.exit("No browser: install chromium, or name one in CHROMIUM.")
    from playwright.sync_api import sync_playwright

    with serving(options.html) as base, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        context = browser.new_context()
        for page in options.pages or book:
            before = next(p for p in (FIRST_PAGE, *book) if p != page)
            (visit,), (earlier,) = visits(context, base, page), visits(context, base, before)
            print(
                f"{page}: first visit {sum(visit.bytes.values()) / 1000:.0f} KB in "
                f"{len(visit.bytes)} requests, next page {visit.after(earlier) / 1000:.0f} KB, "
                f"{visit.elements:,} elements, "
                f"other hosts: {visit.foreign + earlier.foreign or 'none'}"
            )
            if options.lighthouse:
                scores = lighthouse(f"{base}/{page}")
                print(f"  Lighthouse: {scores or 'SKIPPED: npx is not installed'}")
        browser.close()


if __name__ == "__main__":
    main()
