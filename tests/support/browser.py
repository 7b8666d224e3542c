"""A real browser for tests of pages: Chromium of the system, driven by Playwright, with axe-core beside it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

#: Names of a Chromium that may be installed.
NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def browser() -> Iterator[Any]:
    """A Chromium without a window. The test skips where there is none, or no Playwright."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="no Playwright: pip install playwright axe-playwright-python"
    )
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("no Chromium on the PATH (Debian: apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


def violations(page: Any) -> list[str]:
    """What axe-core finds wrong with a page that is open: rule, help, and the first places."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="no axe-core: pip install axe-playwright-python"
    )
    found = axe.Axe().run(page).response["violations"]
    return [f"{each['id']}: {each['help']}: {[node['target'] for node in each['nodes'][:3]]}" for each in found]
