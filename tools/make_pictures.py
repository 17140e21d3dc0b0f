"""The pictures of the README, from bundled data: the first screen of the demo's report, and the map of three releases.

    make pictures        # needs Chromium or Chrome for the first one

The page is the one `make demo` writes; the map is that of the case study, drawn as on every page. Ink that follows the
page there is grey here, which can be read on white and on black.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

import glasshouse as gh
from glasshouse.show.report.drawing import svg_of
from glasshouse.show.report.pdf import browser

FOLDER = Path(__file__).parent.parent / "docs" / "pictures"
WIDTH, HEIGHT = 1024, 760
INK, LINES = "#57606a", "#c8ced6"
TITLE = "A made-up health survey"


def first_screen(path: Path) -> None:
    """The report of the demo as a reader first sees it."""
    verdict = gh.assess(gh.data.load("health").pair(), policy="research", random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        verdict.to_html(page, title=TITLE)
        taken = Path(folder) / "taken.png"
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}/user"]
        size = [f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={taken}"]
        subprocess.run([str(browser()), *options, *size, page.as_uri()], check=True, capture_output=True, timeout=120)
        path.write_bytes(taken.read_bytes())


def the_map(path: Path) -> None:
    """Risk and utility of three releases of the case study."""
    case = gh.data.load("case_study")
    found = gh.compare(case.pair(), dict(case.releases), random_state=0)
    drawn = svg_of(found.plot("map", shown=found.content()))
    drawn = drawn.replace("currentColor", INK).replace("var(--line)", LINES)
    path.write_text(re.sub(r"\s*\n\s*", "\n", drawn) + "\n", "utf-8")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    the_map(FOLDER / "map.svg")
    first_screen(FOLDER / "report.png")
    for made in sorted(FOLDER.iterdir()):
        print(f"{made.name}: {made.stat().st_size / 1024:.0f} KB")
