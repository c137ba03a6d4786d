"""Debian's Firefox in place of Chromium (`pytest tests/site --firefox`), and what it lacks there.

Playwright speaks to an unpatched Firefox by WebDriver BiDi, which emulates less than what it speaks
to Chromium. What is not emulated is ignored without a word; so a test that asks for it is skipped,
with the reason, and none passes for nothing.
"""

import json
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

SHIM = Path(__file__).with_suffix(".cjs")
CHANNEL = "moz-firefox"  # Playwright's own: it is not documented, and may go; 1.65.2 has it
DARK, CALM = "ui.systemUsesDarkTheme", "ui.prefersReducedMotion"  # in place of emulation
PREFERENCES = {
    "fission.bfcacheInParent": False,  # Playwright waits in vain for a page that comes back whole
    "browser.sessionhistory.max_total_viewers": 0,
    "dom.ipc.processPrelaunch.enabled": False,  # no processes for pages that nobody opens
}
# What a page or a context may be asked for, and by which name a skipped test calls it.
LACKS = {
    "media": "paper",
    "color_scheme": "colours that change while a page is open",
    "reduced_motion": "motion that changes while a page is open",
    "java_script_enabled": "a page without scripts",
    "has_touch": "touch",
    "is_mobile": "a phone",
    "new_cdp_session": "Chromium's own protocol",
}


def in_firefox(config):
    return config.getoption("firefox", False)  # where pytest began elsewhere, it has no such option


def firefox():
    """The browser: $FIREFOX, or firefox-esr if it is installed; None if there is none."""
    return os.environ.get("FIREFOX") or shutil.which("firefox-esr")


def skip(name):
    pytest.skip(f"Firefox, driven by WebDriver BiDi, does not emulate {LACKS[name]}")


class Firefoxes:
    """One Firefox for each pair of preferences (dark, calm), started when first asked for."""

    def __init__(self, launch):
        self.launch, self.started = launch, {}

    def new_context(self, *, color_scheme="light", reduced_motion="no-preference", **options):
        for name in LACKS.keys() & options.keys():
            skip(name)
        wishes = (color_scheme == "dark", reduced_motion == "reduce")
        if wishes not in self.started:
            own = dict(zip((DARK, CALM), map(int, wishes), strict=True))
            self.started[wishes] = self.launch(firefox_user_prefs=PREFERENCES | own)
        context = self.started[wishes].new_context(**options)
        context.set_default_timeout(120_000)
        return context

    def close(self):
        for each in self.started.values():
            each.close()


@contextmanager
def firefoxes():
    from playwright.sync_api import BrowserContext, Page, sync_playwright

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Page, "emulate_media", lambda page, **asked: skip(next(iter(asked))))
        patch.setattr(Page, "pdf", lambda *_, **__: skip("media"))
        patch.setattr(BrowserContext, "new_cdp_session", lambda *_: skip("new_cdp_session"))
        patch.setenv("NODE_OPTIONS", f"--require {json.dumps(str(SHIM))}")
        with sync_playwright() as playwright:

            def launch(**options):
                path = {"channel": CHANNEL, "executable_path": firefox()}
                # 10 minutes: on a machine at its limit it took more than 3.
                return playwright.firefox.launch(**path, timeout=600_000, **options)

            started = Firefoxes(launch)
            yield started
            started.close()
