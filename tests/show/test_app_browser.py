"""The workbench in a real browser: the whole way, two windows, reload and back, another origin, every width."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from glasshouse.show.app.start import App, opened
from tests.show.bench import bundled, odd
from tests.show.test_browser import CONTRAST
from tests.show.test_pdf import chromium, sheets

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("workbench")]
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
WIDTHS = (390, 1024, 1600)
STEPS = ("files", "columns", "roles", "policy", "run", "verdict", "explore", "compare", "mitigate", "take")
# what a screen reader would call every control; those without a name
NAMELESS = """() => [...document.querySelectorAll('input:not([type=hidden]), select, button, a, [role=img]')]
  .filter(e => ![e, ...e.querySelectorAll('[aria-label]')].some(one => one.getAttribute('aria-label')))
  .filter(e => ![e.textContent, ...[...(e.labels || [])].map(l => l.textContent)]
    .some(said => said && said.trim()))
  .map(e => e.outerHTML.slice(0, 80))"""
TOO_WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    path = chromium()
    if path is None:
        pytest.skip("no Chromium found; install it, or name it in GLASSHOUSE_CHROMIUM")
    with playwright.sync_playwright() as started:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        opened_ = started.chromium.launch(executable_path=path, args=flags)
        yield opened_
        opened_.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("browser")
    bundled(made)
    odd(made)
    return made


@pytest.fixture(scope="module")
def bench() -> Iterator[App]:
    made = opened({}, browser=False)
    yield made
    made.stop()


class Heard:
    """What a page said on the console, and which hosts it asked."""

    def __init__(self, page: Any) -> None:
        self.console: list[str] = []
        self.hosts: set[str] = set()
        page.on("console", lambda message: self.console.append(message.text))
        page.on("pageerror", lambda error: self.console.append(str(error)))
        page.on("request", lambda request: self.hosts.add(request.url.split("/")[2]))


# what has the focus, as a screen reader tells it, and the hint or the name of a field
FOCUSED = """() => {
  const e = document.activeElement;
  if (!e.matches('a, button, input, select')) return '';
  const said = [e.getAttribute('aria-label') || e.textContent.trim(), ...[...(e.labels || [])].map(l => l.textContent)];
  return [...said, e.placeholder, e.name].join(' ');
}"""


def press(page: Any, told: str, typed: str = "", key: str = "Enter") -> None:
    """Go by the Tab key to what is called so, and use it."""
    for _ in range(120):
        page.keyboard.press("Tab")
        if told in page.evaluate(FOCUSED):
            break
    else:
        raise AssertionError(f"no way by the keyboard to {told!r} on {page.url}")
    page.keyboard.type(typed)
    page.keyboard.press(key)


@pytest.fixture(scope="module")
def walked(browser: Any, bench: App, folder: Path) -> Iterator[tuple[Any, Heard]]:
    """A window in which somebody went the whole way with the bundled data, by the keyboard alone."""
    page = browser.new_context(accept_downloads=True).new_page()
    heard = Heard(page)
    page.goto(bench.address)
    page.wait_for_selector("[data-slot]")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the page"
    press(page, "glasshouse.toml", str(folder / "glasshouse.toml"))
    page.wait_for_url("**/columns")
    for told, then in (
        ("These are the columns", "roles"),
        ("These are the roles", "policy"),
        ("This is the policy", "run"),
        ("Assess the release", "verdict"),
        ("Compare", "compare"),
    ):
        press(page, told)
        page.wait_for_url(f"**/{then}", timeout=120_000)
    press(page, "/data/other.csv", str(folder / "A.csv"))
    page.wait_for_selector("td:has-text('A.csv')")
    page.focus("button[aria-label='Remove release 2']")
    press(page, "Compare")
    page.wait_for_url("**/compare#map", timeout=120_000)
    page.wait_for_selector("#map svg")
    press(page, "Mitigate")
    page.wait_for_url("**/mitigate")
    press(page, "choice", key="ArrowDown")
    press(page, "Try it")
    page.wait_for_selector("#tried", timeout=120_000)
    yield page, heard
    page.close()


def home(page: Any) -> str:
    return str(page.url.rsplit("/", 1)[0])


def test_every_page_fits_is_named_and_can_be_read(walked: tuple[Any, Heard]) -> None:
    page, heard = walked
    where = home(page)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for step in STEPS:
            page.goto(f"{where}/{step}")
            if scheme == "light":
                for width in WIDTHS:
                    page.set_viewport_size({"width": width, "height": 900})
                    assert not page.evaluate(TOO_WIDE), f"{step} scrolls sideways at {width}"
                assert page.evaluate(NAMELESS) == [], step
                assert page.locator("h1").count() == 1, step
                page.emulate_media(media="print")
                assert step not in ("columns", "roles") or page.locator("main td >> visible=true").count() > 9, step
                page.emulate_media(media="null")
            assert page.evaluate(CONTRAST) == [], f"{step}, {scheme}"
    page.emulate_media(color_scheme="light")
    assert heard.console == []
    assert heard.hosts == {where.split("/")[2]}, "something was asked of another host"
    assert page.context.cookies() == []


def test_a_card_of_the_verdict_opens_its_evidence(walked: tuple[Any, Heard]) -> None:
    page, _ = walked
    page.goto(f"{home(page)}/verdict")
    for threat in ("identity", "attribute", "membership", "copying"):
        page.click(f".card h3 a[href='#t-{threat}']")
        assert page.locator(f"#t-{threat}").is_visible()
    assert page.locator("#verdict .word").inner_text() == "Do not release"
    page.goto(f"{home(page)}/verdict")  # and on paper it is the one sheet that is signed
    assert sheets(page.pdf(prefer_css_page_size=True)) == 1


def test_curve_count_and_groups_follow_the_slider(walked: tuple[Any, Heard]) -> None:
    page, _ = walked
    page.goto(f"{home(page)}/explore?measure=rapid")
    before = page.locator("#shown output").inner_text()
    page.locator("input[type=range]").focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    page.wait_for_selector("#shown[data-drawn='0.2']")
    assert page.locator("#shown output").inner_text() != before
    assert "at 0.2" in page.locator("#shown svg").first.text_content()
    page.select_option("select[name=column]", "region")
    page.wait_for_selector("#shown h3:has-text('region')")
    assert "at=0.2" in page.url
    page.reload()
    assert page.locator("output[data-of=at]").inner_text() == "0.2"


def test_a_point_on_the_map_leads_to_the_reasons(walked: tuple[Any, Heard]) -> None:
    page, _ = walked
    page.goto(f"{home(page)}/compare")
    assert not page.locator("#why-1").is_visible()
    page.locator("#map .picture a[href='#why-1']").click()
    assert page.locator("#why-1").is_visible()


def test_what_is_taken_away_is_what_was_seen(walked: tuple[Any, Heard], tmp_path: Path) -> None:
    page, _ = walked
    page.goto(f"{home(page)}/take")
    with page.expect_download() as got:
        page.click("section:has(h2:text-is('External')) >> text=Report >> nth=0")
    got.value.save_as(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert got.value.suggested_filename == "report-external.html"
    assert "External version" in text and "Do not release" in text and "<script" not in text
    assert not page.locator("[data-working]").count()


def test_reload_back_cancel_and_two_windows_at_once(browser: Any, bench: App, folder: Path) -> None:
    context = browser.new_context()
    one, other = context.new_page(), context.new_page()
    one.goto(bench.address)
    other.goto(bench.address)
    for page in (one, other):
        page.wait_for_selector("[data-slot]")
    assert home(one) != home(other)
    # both tables at once, with wrong types: neither waits for the other, and neither is lost
    for slot, name in (("original", "odd_original.csv"), ("released", "odd_released.csv")):
        one.set_input_files(f"[data-slot={slot}] input[type=file]", str(folder / name))
    for slot in ("original", "released"):
        one.wait_for_selector(f"[data-slot={slot}] .file")
    one.click("text=Look at the columns")
    one.wait_for_url("**/columns")
    one.set_viewport_size({"width": 1024, "height": 500})
    one.locator("text=They are codes of categories").scroll_into_view_if_needed()
    at = one.evaluate("scrollY")
    one.click("text=They are codes of categories")
    one.wait_for_selector(".said.stays >> text=region is treated as categorical.")
    assert one.evaluate("[scrollY, document.activeElement.className]") == [at, "said stays"], "thrown to the top"
    one.reload()
    assert one.locator("tr:has-text('region') select[name=kind]").input_value() == "categorical"
    one.click("text=These are the columns")
    one.go_back()
    assert one.url.endswith("/columns") and "region" in one.inner_text("table")
    assert other.locator(".file").count() == 0, "the other window has seen a file"
    # the other window goes its own way: a long run, looked at anew, then cancelled
    other.fill("input[placeholder='glasshouse.toml']", str(folder / "glasshouse.toml"))
    other.click("text=Go on with it")
    other.wait_for_url("**/columns")
    other.goto(f"{home(other)}/policy")
    other.check("input[value=full]")
    other.click("text=This is the policy")
    other.click("text=Assess the release")
    other.wait_for_selector("[data-working]")
    other.reload()
    cancel = other.locator("button:text-is('Cancel')")
    place = cancel.bounding_box()
    other.wait_for_timeout(900)
    assert cancel.bounding_box() == place, "the page jumps while it runs"
    one.reload()
    assert "region" in one.inner_text("table"), "one window waits for the other"
    cancel.click()
    other.wait_for_selector("text=Stopped.", timeout=30_000)
    assert other.url.endswith("/run")
    window = bench._server.windows.get(home(one).rsplit("/", 1)[1])
    assert window is not None and window.left_at is None
    at_home = home(one)
    one.goto("about:blank")
    for _ in range(50):
        one.wait_for_timeout(100 if window.left_at is None else 0)
    assert window.left_at is not None, "a window that was left does not say so"
    one.goto(f"{at_home}/roles")
    bench._server.windows._open.pop(window.key)
    window.close()
    one.evaluate("document.dispatchEvent(new Event('visibilitychange', {bubbles: true}))")
    one.wait_for_selector(".said >> text=nothing that is done here has an effect")
    context.close()


class Elsewhere(BaseHTTPRequestHandler):
    """A page of another origin."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title>")

    def log_message(self, format: str, *args: Any) -> None:
        pass


TRIES = """async (home) => {
  const tried = {};
  for (const [name, options] of Object.entries({
    read: {}, opaque: {mode: 'no-cors'}, change: {method: 'POST', mode: 'no-cors', body: 'table=original'},
    upload: {method: 'PUT', body: 'x'},
  })) {
    const path = {change: 'files/example', upload: 'upload/x.csv'}[name] || 'state';
    try { tried[name] = await (await fetch(`${home}/${path}`, options)).text(); } catch { tried[name] = ''; }
  }
  tried.script = await new Promise((done) => {
    const script = document.createElement('script');
    script.src = new URL('/assets/app.js', home); script.onload = () => done('ran'); script.onerror = () => done('');
    document.head.append(script);
  });
  tried.frame = await new Promise((done) => {
    const frame = document.createElement('iframe');
    frame.src = `${home}/files`;
    frame.onload = () => { try { done(frame.contentDocument.body.innerText); } catch { done(''); } };
    document.body.append(frame);
  });
  return tried;
}"""


def test_a_page_of_another_origin_reads_and_changes_nothing(browser: Any, bench: App) -> None:
    """It even knows the address of the window, which it cannot."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    context = browser.new_context()
    mine, theirs = context.new_page(), context.new_page()
    mine.goto(bench.address)
    mine.wait_for_selector("[data-slot]")
    for host in ("127.0.0.1", "localhost"):
        theirs.goto(f"http://{host}:{server.server_address[1]}/")
        tried = theirs.evaluate(TRIES, home(mine))
        assert tried == dict.fromkeys(tried, ""), tried
        theirs.set_content(f"<form method=post action='{home(mine)}/files/example'><button>go</button></form>")
        theirs.click("button")
        assert "another" in theirs.inner_text("body")
    mine.reload()
    assert mine.locator(".file").count() == 0
    context.close()
    server.shutdown()
