"""The report on paper: one sheet to sign, the whole of it on demand, and a PDF that nobody else reads along."""

from __future__ import annotations

import copy
import os
import re
import signal
import stat
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.core.errors import InputError
from glasshouse.show.cli import main
from glasshouse.show.report import html, pdf
from tests.fakes import fake, four_threats, tables
from tests.show.pages import check_page
from tests.show.test_hostile import LABELS, NAMES, hostile


def chromium() -> str | None:
    try:
        return pdf.browser()
    except pdf.NotPrinted:
        return None


needs_chromium = pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine")


def sheets(made: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", made))


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return int(stopped.value.code or 0)


@pytest.fixture(scope="module")
def assessed() -> Any:
    return gh.assess(gh.data.load("case_study").pair("C"), measures="fast", policy="research")


@pytest.fixture
def playing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A program in place of the browser that notes what it was given and does what a test says."""

    def made(body: str) -> Path:
        program = tmp_path / "browser"
        program.write_text(f"#!{sys.executable}\nimport os, sys, time\n{body}\n")
        program.chmod(0o755)
        monkeypatch.setenv("GLASSHOUSE_CHROMIUM", str(program))
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
        (tmp_path / "temporary").mkdir(exist_ok=True)
        return program

    return made


# -- the first page ----------------------------------------------------------------------------------------------------


def test_the_first_page_says_all_that_is_signed(assessed: Any) -> None:
    text = assessed.to_html()
    first = check_page(text).said.split("Open and print the long part")[0]
    for said in (
        "Do not release",
        "Identity",
        "Attribute",
        "Membership",
        "Copying",
        "What to do",
        "Name Date Signature",
    ):
        assert said in first
    for table in assessed.overview["tables"]:
        assert table["fingerprint"] in first
    assert assessed.policy.fingerprint in first and "Assessed:" in first and "Decided:" in first


def test_the_long_part_is_folded(assessed: Any) -> None:
    text = assessed.to_html()
    long = text.index('<div class="long">')
    assert "<details" not in text[:long] and "<details open" not in text and '<details class="part" open' not in text
    for section in ("threats", "people", "utility", "copying", "data", "methods"):
        assert text.index(f'<section id="{section}">') > long
    words = len(re.sub(r"<style>.*?</style>|<[^>]+>", " ", text[:long], flags=re.S).split())
    assert words < 700


def test_one_of_a_thing_is_not_several(only_fakes: Any) -> None:
    fake("lonely", "identity", 0.01)
    said = check_page(gh.assess(*tables()).to_html()).said
    assert "1 of 1 measure gave a figure" in said and not re.search(
        r"\b1 (measures|tests|checks|records|columns)\b", said
    )


def test_an_open_threat_says_what_is_missing() -> None:
    example = gh.data.load("health")
    found = gh.assess(example.original, example.released, keys=["age"], target="income", measures=["uniques", "domias"])
    first = check_page(found.to_html()).said.split("Open and print the long part")[0]
    assert found.verdict == "incomplete" and "holdout" in first.split("What to do")[1]


# -- on paper ----------------------------------------------------------------------------------------------------------


@needs_chromium
@pytest.mark.parametrize("audience", ["internal", "external"])
def test_the_first_page_is_one_sheet(assessed: Any, audience: str, tmp_path: Path) -> None:
    path = tmp_path / "first.pdf"
    made = assessed.to_pdf(path, audience=audience, pages="first")
    assert path.read_bytes() == made and made.startswith(b"%PDF-") and sheets(made) == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and [p.name for p in tmp_path.iterdir()] == ["first.pdf"]
    assert sheets(assessed.to_pdf(audience=audience)) > 5


@needs_chromium
def test_a_pdf_holds_the_page_and_no_place_on_this_machine(tmp_path: Path) -> None:
    """What the browser adds of its own: no path it printed from, no user, and the title is that of the page."""
    tables = [gh.data.simulate_health(60, random_state=seed) for seed in (1, 2)]
    for name, table in zip(("Mrs_Canary_o", "QZreleased"), tables, strict=True):
        table.write_parquet(tmp_path / f"{name}.parquet")
    found = gh.assess(
        tmp_path / "Mrs_Canary_o.parquet", tmp_path / "QZreleased.parquet", keys=["age"], measures=["disco"]
    )
    raw = found.to_pdf(audience="external", pages="first")
    packed = re.findall(rb"stream\r?\n(.*?)endstream", raw, re.DOTALL)
    read = raw + b"".join(zlib.decompressobj().decompress(one) for one in packed if one[:1] == b"x")
    read += b"".join(bytes.fromhex(one.decode()) for one in re.findall(rb"<(?:FEFF)?((?:[0-9A-F]{4})+)>", raw))
    held = read.replace(b"\0", b"")  # titles are in two bytes a letter
    assert b"Disclosure" in held or b"verdict" in held, "so that the test can see"
    places = (b"file:", b"glasshouse-", str(tmp_path).encode(), b"Canary", b"QZreleased")
    assert not [place for place in places if place in held]  # long ones: a font holds any two letters


@needs_chromium
@pytest.mark.parametrize("holdout", [False, True])
def test_it_stays_one_sheet_whatever_the_data_are_called(holdout: bool) -> None:
    long = {name: f"{name} {'very long name ' * 20}{i}" for i, name in enumerate(NAMES)}
    rng = np.random.default_rng(5)
    more = {f"one more column with a name that goes on and on {i}": rng.choice(list("abc"), 240) for i in range(40)}

    def table(seed: int) -> pl.DataFrame:
        made = hostile(seed=seed).rename(long)
        return made.with_columns(**{name: pl.Series(values) for name, values in more.items()})

    original = table(0)
    policy = gh.Policy.from_dict(
        {
            "name": "p" * 300,
            "title": "A title that fills a line by itself " * 12,
            "why": "For reasons that take a while to tell. " * 30,
            "others": "declared",
            "rule": [{"measure": "disco", "statistic": "excess", "warn": 0.0, "fail": 0.01, "why": LABELS[7]}],
        }
    )
    found = gh.assess(
        original,
        [original, original.sample(fraction=1, shuffle=True, seed=1), original, original, original],
        keys=[*long.values(), *more][:30],
        target=list(more)[30:36],
        holdout=table(9) if holdout else None,
        policy=policy,
        measures=["disco", "uniques", "identical", "exact_copies", "near_copies", "k_anonymity", "cap", "tcap"],
    )
    for audience in ("internal", "external"):
        page = found.to_pdf(audience=audience, pages="first", title="T " * 400)
        assert sheets(page) == 1


def _as_long_as_can_be(content: dict[str, Any]) -> dict[str, Any]:
    """A content in which everything that grows with the data has grown."""
    told = "This sentence about what was found is as long as sentences about findings are, or longer. " * 20
    made = copy.deepcopy(content)
    made["headline"] = told
    for threat in made["threats"].values():
        threat |= {"sentence": told, "comparison": f"other than {told}", "limit": told, "missing": [told]}
    made["recommendations"] = [{"status": "fail", "text": f"{i}: {told}"} for i in range(9)]
    found = {"level": "warning", "column": None, "code": "same_table", "first": True}
    made["data"]["findings"] = [{**found, "message": f"{i}: {told}"} for i in range(6)]
    made["data"]["keys"] = made["data"]["target"] = [f"{i} {'W' * 70}" for i in range(40)]
    made["data"]["tables"] = [made["data"]["tables"][0] | {"table": f"released{i}"} for i in range(12)]
    made["policy"] |= {"title": "W" * 500, "why": told}
    return made


@needs_chromium
@pytest.mark.parametrize("status", ["fail", "not_assessed"])
def test_the_longest_texts_fit_on_the_sheet(only_fakes: Any, tmp_path: Path, status: str) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    four_threats(**dict.fromkeys(("identity", "attribute", "membership", "copying"), status))
    found = gh.assess(*tables(), policy=gh.Policy.preset("secure"))
    page = html.render(_as_long_as_can_be(found.content()), results={}, title="W" * 400)
    assert sheets(pdf.printed(page)) == 1
    path = tmp_path / "report.html"
    path.write_text(page, encoding="utf-8")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        shown = opened.new_page(viewport={"width": 695, "height": 1047})  # A4 less its margins
        shown.goto(path.as_uri())
        shown.emulate_media(media="print")
        over, foot, last = shown.evaluate(
            "(() => { const s = document.querySelector('.sheet'), r = e => s.querySelector(e).getBoundingClientRect();"
            " return [s.scrollHeight - s.clientHeight, r('.sign').top, r('.facts').bottom]; })()"
        )
        opened.close()
    assert over <= 0 and last <= foot + 1


@needs_chromium
def test_a_temporary_folder_may_have_a_long_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ("long" * 30)).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("long" * 30)))
    assert pdf.printed("<h1>One sheet</h1>").startswith(b"%PDF-")
    assert list((tmp_path / ("long" * 30)).iterdir()) == []


@needs_chromium
def test_a_pdf_holds_no_trace_of_where_it_was_made(assessed: Any) -> None:
    made = assessed.to_pdf()
    assert b"file:" not in made and tempfile.gettempdir().encode() not in made and b"page.html" not in made


# -- the browser -------------------------------------------------------------------------------------------------------


def test_without_a_browser_one_sentence_says_what_to_do(
    assessed: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("GLASSHOUSE_CHROMIUM", raising=False)
    monkeypatch.setattr(pdf, "PLACES", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"none was found.*GLASSHOUSE_CHROMIUM.*report\.html") as told:
        assessed.to_pdf(tmp_path / "x.pdf")
    assert "\n" not in str(told.value) and not list(tmp_path.iterdir())
    monkeypatch.setenv("GLASSHOUSE_CHROMIUM", "/no/such/browser")
    with pytest.raises(InputError, match="GLASSHOUSE_CHROMIUM names /no/such/browser"):
        assessed.to_pdf()
    with pytest.raises(InputError, match="pages='some' is not known"):
        assessed.to_pdf(pages="some")


def test_the_page_is_handed_over_in_a_private_folder_and_nothing_stays(
    assessed: Any, playing: Any, tmp_path: Path
) -> None:
    note = tmp_path / "note.txt"
    playing(
        f"""
from urllib.request import url2pathname
page = url2pathname(sys.argv[-1].removeprefix('file://'))
modes = [oct(os.stat(p).st_mode & 0o777) for p in (os.path.dirname(page), page)]
open({str(note)!r}, 'w').write(repr((modes, os.environ['HOME'] == os.path.dirname(page), sys.argv)))
target = next(a for a in sys.argv if a.startswith('--print-to-pdf=')).split('=', 1)[1]
open(target, 'wb').write(b'%PDF-1.4 made up %%EOF')
"""
    )
    assert assessed.to_pdf() == b"%PDF-1.4 made up %%EOF"
    said = note.read_text()
    assert "['0o700', '0o600'], True" in said
    for flag in (
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--proxy-server=127.0.0.1:9",
        "--disable-background-networking",
    ):
        assert flag in said
    assert not list((tmp_path / "temporary").iterdir())


def test_where_no_sandbox_can_be_built_the_page_is_printed_without(
    playing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdf.os, "geteuid", lambda: 1000)
    playing(
        """
if '--no-sandbox' not in sys.argv:
    sys.exit(1)
open(sys.argv[-2].split('=', 1)[1], 'wb').write(b'%PDF-1.4 made up %%EOF')
"""
    )
    assert pdf.printed("<p>hello</p>") == b"%PDF-1.4 made up %%EOF"


@pytest.mark.parametrize(
    "body", ["sys.exit(1)", "open(sys.argv[-2].split('=', 1)[1], 'wb').write(b'no pdf')"], ids=["nothing", "no pdf"]
)
def test_a_browser_that_prints_nothing_is_told_and_an_earlier_file_stays(
    assessed: Any, playing: Any, tmp_path: Path, body: str
) -> None:
    playing(body)
    path = tmp_path / "report.pdf"
    path.write_bytes(b"the last good one")
    with pytest.raises(InputError, match="printed no PDF"):
        assessed.to_pdf(path)
    assert path.read_bytes() == b"the last good one" and not list((tmp_path / "temporary").iterdir())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_browser_that_hangs_is_ended_with_its_helpers(playing: Any, tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    playing(f"os.fork()\nwhile True:\n    open({str(alive)!r}, 'a').write('x')\n    time.sleep(0.05)")
    started = time.perf_counter()
    with pytest.raises(InputError, match=r"did not print the report in 1\.5 s"):
        pdf.printed("<p>hello</p>", seconds=1.5)
    assert time.perf_counter() - started < 6 and alive.exists()
    size = alive.stat().st_size
    time.sleep(0.3)
    assert alive.stat().st_size == size and not list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize("moment", ["made", "started", "removed"])
def test_an_interrupt_at_any_moment_leaves_no_page(
    playing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Ctrl-C when the folder is just there, when the browser is just there, and while the folder is removed."""
    playing("time.sleep(30)")
    place, name = {
        "made": (pdf.tempfile, "mkdtemp"),
        "started": (pdf.subprocess, "Popen"),
        "removed": (pdf.shutil, "rmtree"),
    }[moment]
    real, left = getattr(place, name), [1]

    def interrupted(*given: Any, **more: Any) -> Any:
        made = None if moment == "removed" and left else real(*given, **more)
        if left:
            left.pop()
            signal.raise_signal(signal.SIGINT)
        return made

    monkeypatch.setattr(place, name, interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # the command line leaves one that hears once
    try:
        with pytest.raises(KeyboardInterrupt):
            pdf.printed("<p>hello</p>", seconds=1.0)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not list((tmp_path / "temporary").iterdir())


# -- the command line --------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    paths = []
    for name, seed in (("original", 0), ("released", 1)):
        paths.append(str(tmp_path / f"{name}.csv"))
        tables(seed=seed)[0].write_csv(paths[-1])
    return paths


@needs_chromium
def test_the_suffix_makes_a_pdf(files: list[str], tmp_path: Path) -> None:
    path = tmp_path / "x.pdf"
    run("assess", *files, "--measures", "identical", "-o", str(path), "-q")
    assert path.read_bytes().startswith(b"%PDF-") and stat.S_IMODE(path.stat().st_mode) == 0o600


@needs_chromium
def test_a_comparison_is_printed_too(tmp_path: Path) -> None:
    example, path = gh.data.load("case_study"), tmp_path / "y.pdf"
    for name, table in {"original": example.original, **example.releases}.items():
        pl.DataFrame(table).write_csv(tmp_path / f"{name}.csv")
    given = [str(tmp_path / f"{name}.csv") for name in ("original", "A", "B")]
    assert run("compare", *given, "--measures", "near_copies,hellinger", "-o", str(path), "-q") == 0
    assert path.read_bytes().startswith(b"%PDF-")


@needs_chromium
def test_the_format_makes_a_pdf_on_stdout(files: list[str], capfdbinary: Any) -> None:
    run("assess", *files, "--measures", "identical", "--format", "pdf", "-q")
    assert capfdbinary.readouterr().out.startswith(b"%PDF-")


def test_without_a_browser_nothing_is_computed(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GLASSHOUSE_CHROMIUM", "/no/such/browser")
    started = time.perf_counter()
    assert run("assess", *files, "-o", str(tmp_path / "x.pdf")) == 2
    assert time.perf_counter() - started < 5 and not (tmp_path / "x.pdf").exists()
    told = capsys.readouterr().err.strip()
    assert "GLASSHOUSE_CHROMIUM" in told and "report.html" in told and "\n" not in told


def test_what_has_no_page_is_not_written_as_pdf(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("measure", "identical", *files, "-o", str(tmp_path / "x.pdf")) == 2
    assert run("check", *files, "--format", "pdf") == 2
    assert "only assess, compare and demo write a PDF" in capsys.readouterr().err and not (tmp_path / "x.pdf").exists()
