"""Take the pictures of the workbench, docs/app/*.png: ``make app-pictures`` (it needs Chromium).

They are committed, because a build of the documentation cannot count on a browser. Take them anew when pages of the
workbench have changed.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import glasshouse as gh
from glasshouse.show.app.start import opened
from glasshouse.show.report import pdf

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "app"
SIZE = {"width": 1024, "height": 760}
SETTINGS = """original = "original.csv"
released = "C.csv"
holdout = "holdout.csv"
keys = ["age_group", "sex", "education", "region"]
target = "income"
policy = "research"
"""
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


def tables(folder: Path) -> Path:
    """The bundled case study as files, and settings about its near copy."""
    study = gh.data.load("case_study")
    for name, table in {"original": study.original, "holdout": study.holdout, **study.releases}.items():
        table.write_csv(folder / f"{name}.csv")
    (folder / "glasshouse.toml").write_text(SETTINGS, encoding="utf-8")
    return folder


def press(page: Any, told: str, then: str) -> None:
    """Use the button that is called so, and wait for the page it leads to."""
    page.get_by_role("button", name=told).first.click()
    page.wait_for_url(f"**/{then}", timeout=180_000)


def take(page: Any, folder: Path) -> None:
    """The way through the workbench, with a picture of three pages."""
    page.wait_for_selector("[data-slot]")
    page.get_by_placeholder("glasshouse.toml").fill(str(folder / "glasshouse.toml"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/columns")
    press(page, "These are the columns", "roles")
    press(page, "These are the roles", "policy")
    press(page, "This is the policy", "run")
    press(page, "Assess the release", "verdict")
    page.screenshot(path=FOLDER / "verdict.png")
    where = page.url.rsplit("/", 1)[0]
    page.goto(f"{where}/explore")
    page.select_option("select[name=measure]", "rapid")
    page.wait_for_selector("svg")
    page.select_option("select[name=column]", "region")
    page.wait_for_timeout(3_000)
    page.screenshot(path=FOLDER / "explore.png")
    page.goto(f"{where}/compare")
    page.get_by_placeholder("/data/other.csv").fill(str(folder / "B.csv"))
    page.keyboard.press("Enter")
    page.wait_for_selector("td:has-text('B.csv')")
    press(page, "Compare", "compare#map")
    page.wait_for_selector("#map svg")
    page.evaluate("document.querySelector('#map').scrollIntoView()")
    page.wait_for_timeout(2_000)  # until the page has come to rest
    page.screenshot(path=FOLDER / "compare.png")


def main() -> None:
    path = pdf.browser()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        bench = opened({}, browser=False)
        browser = started.chromium.launch(executable_path=path, args=FLAGS)
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(bench.address)
        take(page, tables(Path(folder)))
        browser.close()
        bench.stop()


if __name__ == "__main__":
    main()
