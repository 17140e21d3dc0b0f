"""The page in a real browser: desktop, phone and print; a quiet console, no request, every section in sight."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import glasshouse as gh
from tests.show.test_pdf import chromium, sheets

pytestmark = pytest.mark.browser
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
SECTIONS = ("verdict", "threats", "people", "utility", "copying", "data", "methods")
SIZES = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}

MEASURES = [
    "disco",
    "rapid",
    "uniques",
    "k_anonymity",
    "identical",
    "dcr",
    "domias",
    "pmse",
    "total_variation",
    "wasserstein",
    "tail_fidelity",
    "association",
]
POLICY = gh.Policy.from_dict(
    {
        "name": "mine",
        "others": "declared",
        "rule": [{"measure": "disco", "statistic": "excess", "warn": 0.05, "fail": 0.2, "why": "a reason"}],
    }
)

# running text, soft text and chips against the ground they stand on, by the WCAG formula; below 4.5 is poor
CONTRAST = """() => {
  const rgb = s => (s.match(/[\\d.]+/g) || []).map(Number);
  const linear = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const lum = c => .2126 * linear(c[0]) + .7152 * linear(c[1]) + .0722 * linear(c[2]);
  const ground = e => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const ratio = e => {
    const a = lum(rgb(getComputedStyle(e).color)), b = lum(ground(e));
    return (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  };
  return [...document.querySelectorAll('p, td, th, .chip, .label, .figs, .gone, summary .nm, h2, h3, nav a')]
    .filter(e => e.textContent.trim() && e.offsetParent && ratio(e) < 4.5)
    .map(e => [ratio(e), e.className, e.textContent.trim().slice(0, 30)]).slice(0, 5);
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    path = chromium()
    if path is None:
        pytest.skip("no Chromium found; install it, or name it in GLASSHOUSE_CHROMIUM")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of the case study's three releases."""
    folder = tmp_path_factory.mktemp("reports")
    example = gh.data.load("case_study")
    ru = gh.RUMap.from_scores(
        risk={"disco": [0.1, 0.3, 0.9]}, utility={"pmse": [0.5, 0.7, 0.9]}, releases=["A", "B", "C"], scale="minmax"
    )
    paths = {}
    for release in ("A", "B", "C"):
        paths[release] = folder / f"{release}.html"
        gh.assess(example.pair(release), measures=MEASURES, policy=POLICY).to_html(
            paths[release], ru_map=ru if release == "B" else None
        )
    return paths


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("release", ["A", "B", "C"])
def test_the_page_opens_quietly_and_fits(browser: Any, reports: dict[str, Path], release: str, size: str) -> None:
    heard: list[str] = []
    page = browser.new_page(viewport=SIZES[size])
    page.on("console", lambda message: heard.append(message.text))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on(
        "request", lambda request: heard.append(request.url) if not request.url.startswith(("file:", "data:")) else None
    )
    page.goto(reports[release].as_uri())
    assert heard == []
    assert page.locator("#verdict").is_visible() and not page.locator("#methods").is_visible()
    page.check("#whole")
    for section in (*SECTIONS, *(["map"] if release == "B" else [])):
        box = page.locator(f"#{section}").bounding_box()
        assert box is not None and box["height"] > 40 and box["width"] > 200, section
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), (
        "the page scrolls sideways"
    )
    assert page.evaluate(
        "[...document.querySelectorAll('.strip .track > svg')].every(s => s.getBoundingClientRect().width > 80)"
    )
    page.close()


def test_jump_links_open_the_fold_and_lead_below_the_bar(browser: Any, reports: dict[str, Path]) -> None:
    page = browser.new_page(viewport=SIZES["desktop"])
    page.goto(reports["C"].as_uri())
    assert not page.locator("#utility").is_visible()
    page.click("nav a[href='#utility']")
    page.wait_for_timeout(900)
    top = page.locator("#utility").bounding_box()["y"]
    assert page.locator("#utility").is_visible() and 0 <= top <= 200
    page.locator("article h3 a").first.click()  # from the title of a threat to its attacks
    assert page.locator("#t-identity").is_visible()
    page.locator("article .by a").first.click()  # from the card of a threat to the measure, two folds deep
    page.wait_for_timeout(900)
    fold = page.locator("details:target")
    fold.locator("summary").click()
    assert fold.locator(".body").is_visible()
    page.close()


def test_it_prints(browser: Any, reports: dict[str, Path], tmp_path: Path) -> None:
    page = browser.new_page()
    page.goto(reports["C"].as_uri())
    first = page.pdf(path=tmp_path / "first.pdf", format="A4")
    page.emulate_media(media="print")
    assert not page.locator(".bar").is_visible() and page.locator("#verdict").is_visible()
    assert page.locator("#signatures").is_visible() and not page.locator("#methods").is_visible()
    page.emulate_media(media="screen")
    assert not page.locator("#signatures").is_visible()
    page.check("#whole")
    printed = page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert printed[:4] == b"%PDF" and len(printed) < 3_000_000
    assert sheets(first) == 1 and sheets(printed) > 5
    page.emulate_media(media="print")
    # every line of the methods is printed open
    assert page.locator("#m-disco .body").is_visible()
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(browser: Any, reports: dict[str, Path], scheme: str) -> None:
    """Contrast of running text, soft text and chips, by the WCAG formula."""
    page = browser.new_page(viewport=SIZES["desktop"], color_scheme=scheme)
    page.goto(reports["C"].as_uri())
    page.check("#whole")
    poor = page.evaluate(CONTRAST)
    assert poor == []
    page.close()
