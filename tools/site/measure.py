"""Weigh the built pages, and score them with Lighthouse if npx is installed.

    python -m tools.site.measure [--lighthouse] [page ...]

Pages are paths of the site (default: all of the book). For each: KB over the wire with gzip on a
first visit, KB when it is the next page after the first page of the book, requests, and requests to
other hosts. With --lighthouse: the median of three mobile runs of each category.
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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.site.server import serving

if TYPE_CHECKING:  # weighing needs it, the command's help does not
    from playwright.sync_api import Browser, BrowserContext

ROOT = Path(__file__).resolve().parents[2]
HTML = Path(os.environ.get("SITE_HTML", ROOT / "_build" / "html"))
FIRST_PAGE = "book/intro.html"
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
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


class Traffic:
    """Counts the requests of one browser context; `bytes` are those transferred, with headers."""

    def __init__(self, context: BrowserContext, base: str):
        self.base, self.bytes, self.requests = base, 0, 0
        self.foreign: list[str] = []  # addresses on other hosts
        self.page = context.new_page()
        session = context.new_cdp_session(self.page)
        session.send("Network.enable")
        session.on("Network.requestWillBeSent", self._asked)
        session.on("Network.loadingFinished", self._loaded)

    def _asked(self, event: dict[str, Any]) -> None:
        url = event["request"]["url"]
        if url.startswith(("http:", "https:")) and not url.startswith(self.base):
            self.foreign.append(url)

    def _loaded(self, event: dict[str, Any]) -> None:
        self.bytes += int(event["encodedDataLength"])
        self.requests += event["encodedDataLength"] > 0

    def visit(self, path: str) -> tuple[int, int]:
        """Bytes and requests of opening one page and scrolling to its end."""
        self.bytes = self.requests = 0
        self.page.goto(f"{self.base}/{path}", wait_until="networkidle")
        self.page.evaluate("scrollTo(0, document.body.scrollHeight)")
        self.page.wait_for_load_state("networkidle")
        return self.bytes, self.requests


def weigh(browser: Browser, base: str, page: str, before: str) -> dict[str, Any]:
    """Bytes of `page` with an empty cache, and for a reader who comes from the page `before`."""
    context = browser.new_context()
    newcomer = Traffic(context, base)
    first, requests = newcomer.visit(page)
    context.close()
    context = browser.new_context()
    reader = Traffic(context, base)
    reader.visit(before)
    next_page, _ = reader.visit(page)
    context.close()
    foreign = newcomer.foreign + reader.foreign
    return {"first": first, "next": next_page, "requests": requests, "foreign": foreign}


def lighthouse(url: str, runs: int = 3) -> dict[str, float] | None:
    """Median score of each category, 0 to 100; None if npx or the browser is missing."""
    npx, browser = shutil.which("npx"), chromium()
    if npx is None or browser is None:
        return None
    scores: dict[str, list[int]] = {name: [] for name in CATEGORIES}
    with tempfile.TemporaryDirectory() as folder:
        for run in range(runs):
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
    book = sorted(p.relative_to(options.html).as_posix() for p in options.html.glob("book/*.html"))
    if chromium() is None:
        sys.exit("No browser: install chromium, or name one in CHROMIUM.")
    from playwright.sync_api import sync_playwright

    with serving(options.html) as base, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        for page in options.pages or book:
            before = next(p for p in (FIRST_PAGE, *book) if p != page)
            weight = weigh(browser, base, page, before)
            print(
                f"{page}: first visit {weight['first'] / 1000:.0f} KB in {weight['requests']} "
                f"requests, next page {weight['next'] / 1000:.0f} KB, "
                f"other hosts: {weight['foreign'] or 'none'}"
            )
            if options.lighthouse:
                scores = lighthouse(f"{base}/{page}")
                print(f"  Lighthouse: {scores or 'SKIPPED: npx is not installed'}")
        browser.close()


if __name__ == "__main__":
    main()
