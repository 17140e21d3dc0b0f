"""Input that tries to break the page, the table reader or the house rules: a correct report, or one clear sentence
and code 2.
"""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.show.cli import main
from glasshouse.show.report.drawing import svg_of
from tests.show.pages import check_page

LABELS = [
    "<script>alert(1)</script>",
    "=cmd()",
    "😀👩‍👩‍👧",
    "שלום עולם",
    "\u202eevil",
    '"><img src=x onerror=alert(2)>',
    "{{ 7*7 }}",
    "a|b`c`*d*",
    "x" * 5000,
    "&amp;",
    "\x01\x02",
]
NAMES = [
    'col "quoted"',
    "with [brackets]",
    "<b>bold</b>",
    "عمود",
    "semi;colon,comma",
    "emoji 🚑",
    "{{ secret }}",
    "n",
    "value",
]


def hostile(n: int = 240, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    columns: dict[str, object] = {name: rng.choice(LABELS, n).tolist() for name in NAMES[:5]}
    columns |= {name: rng.normal(size=n) for name in NAMES[5:]}
    return pl.DataFrame(columns)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return int(stopped.value.code or 0)


@pytest.fixture(scope="module")
def assessed() -> gh.Pair:
    # type: ignore[no-any-return]
    return gh.assess(hostile(), hostile(seed=1), keys=NAMES[:3], target=NAMES[3], measures="fast")


@pytest.mark.parametrize("audience", ["internal", "external"])
def test_labels_and_names_are_text_never_markup(assessed: gh.Pair, audience: str) -> None:
    text = assessed.to_html(audience=audience)  # type: ignore[attr-defined]
    page = check_page(text)  # no script, no attribute that runs, tags balanced
    assert "img" not in page.tags and "b" in page.tags
    assert "<script" not in text and "<b>bold" not in text and "49" not in [t.strip() for t in page.texts]
    assert "<b>bold</b>" in page.said and "{{ secret }}" in page.said
    assert len(text.encode()) < 2_000_000 and "x" * 1000 not in text


def test_the_other_formats_survive_too(assessed: gh.Pair) -> None:
    import xml.etree.ElementTree as ET

    ET.fromstring(assessed.to_junit().encode())  # type: ignore[attr-defined]
    assert "<script>" not in assessed.to_markdown()  # type: ignore[attr-defined]
    json.loads(assessed.to_json())  # type: ignore[attr-defined]
    assert "<script>" not in assessed._repr_html_()  # type: ignore[attr-defined]


def test_no_hostile_label_in_the_external_version(assessed: gh.Pair) -> None:
    said = check_page(assessed.to_html(audience="external")).said  # type: ignore[attr-defined]
    assert not [label for label in LABELS if label.strip("\x01\x02") and label in said]


def test_three_hundred_columns() -> None:
    rng = np.random.default_rng(3)
    original = pl.DataFrame(
        {f"column {i}": rng.integers(0, 5, 120) if i % 3 else rng.choice(list("abc"), 120) for i in range(300)}
    )
    found = gh.assess(
        original,
        original.sample(fraction=1, with_replacement=True, seed=2),
        keys=["column 0", "column 3"],
        target="column 6",
        measures=["disco", "k_anonymity", "identical", "total_variation", "missingness"],
    )
    text = found.to_html()
    check_page(text)
    assert len(text.encode()) < 2_000_000


def _write(frame: pl.DataFrame, path: Path, separator: str = ",", bom: bool = False) -> str:
    path.write_bytes((b"\xef\xbb\xbf" if bom else b"") + frame.write_csv(separator=separator).encode())
    return str(path)


@pytest.fixture
def plain() -> pl.DataFrame:
    rng = np.random.default_rng(2)
    return pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], 80),
            "region": rng.choice(["n", "s"], 80),
            "income": rng.choice(["lo", "hi"], 80),
        }
    )


def test_a_byte_order_mark_and_semicolons_are_read(
    tmp_path: Path, plain: pl.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    one = _write(plain, tmp_path / "o.csv", ";", bom=True)
    two = _write(plain, tmp_path / "r.csv", ";")
    assert run(
        "assess", one, two, "--keys", "sex,region", "--target", "income", "--measures", "disco", "--format", "json"
    ) in (0, 1, 3)
    assert json.loads(capsys.readouterr().out)["data"]["columns"][0]["name"] == "sex"


def _ragged(path: Path, plain: pl.DataFrame) -> None:
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(plain.columns)
    writer.writerows([*plain.rows()[:5], ("f", "n", "Anna Kowalska", "extra")])
    path.write_text(buffer.getvalue())


def _cut(path: Path, plain: pl.DataFrame) -> None:
    plain.write_parquet(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _half_gzip(path: Path, plain: pl.DataFrame) -> None:
    import gzip

    path.write_bytes(gzip.compress(plain.write_csv().encode())[:40])


@pytest.mark.parametrize(
    ("name", "spoil", "said"),
    [
        ("ragged.csv", _ragged, "line 7"),
        ("cut.parquet", _cut, "cut off or damaged"),
        ("half.csv.gz", _half_gzip, "cut off or damaged"),
        (
            "picture.csv",
            lambda p, f: p.write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256))),
            "not a text file",
        ),
        ("table.parquet", lambda p, f: p.write_text(f.write_csv()), "not a Parquet file"),
        ("table.csv", lambda p, f: f.write_parquet(p), "not a text file"),
        ("table.arrow", lambda p, f: p.write_text("hello"), "not a Arrow file"),
        ("odd.csv", lambda p, f: p.write_bytes(b"sex,region,income\nf,n,M\xfcller\x81\n"), "neither UTF-8 nor Latin-1"),
        ("empty.csv", lambda p, f: p.write_text(""), "empty"),
        ("header.csv", lambda p, f: p.write_text("sex,region,income\n"), "no record"),
        ("twice.csv", lambda p, f: p.write_text("sex,sex\nf,m\n"), "more than one column"),
        ("other.csv", lambda p, f: p.write_text("a,b\n1,2\n"), "no column in common"),
        ("table.xlsx", lambda p, f: p.write_text("x"), "is not a spreadsheet"),
        ("table.mdb", lambda p, f: p.write_text("x"), "glasshouse reads"),
        ("folder.csv", lambda p, f: p.mkdir(), "is a folder"),
    ],
)
def test_a_broken_file_is_one_sentence_and_code_2(
    tmp_path: Path, plain: pl.DataFrame, capsys: pytest.CaptureFixture[str], name: str, spoil: object, said: str
) -> None:
    good, bad = _write(plain, tmp_path / "good.csv"), tmp_path / name
    spoil(bad, plain)  # type: ignore[operator]
    report = tmp_path / "out" / "report.html"
    report.parent.mkdir()
    assert run("assess", good, str(bad), "-o", str(report)) == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err.replace("not an Arrow", "not a Arrow") and len(err.strip().splitlines()) == 1
    assert "Traceback" not in err and "Kowalska" not in err and "Müller" not in err
    assert list(report.parent.iterdir()) == []


def test_degenerate_tables_end_in_a_report(tmp_path: Path) -> None:
    one_row = pl.DataFrame({"a": ["x"], "b": [1.0]})
    constant = pl.DataFrame({"a": ["x"] * 50, "b": [1.0] * 50, "c": [None] * 50})
    for frame in (one_row, constant):
        found = gh.assess(frame, frame, keys=["a"], target="b", measures="fast")
        check_page(found.to_html())
        check_page(found.to_html(audience="external"))
        json.loads(found.to_json())


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_real_signal_leaves_no_part(tmp_path: Path, plain: pl.DataFrame, number: signal.Signals) -> None:
    original = _write(plain, tmp_path / "o.csv")
    out = tmp_path / "out"
    out.mkdir()
    slow = (
        "import time, sys, glasshouse.judgement.verdict.assess as a\n"
        "def run(*x, **k):\n    print('started', file=sys.stderr, flush=True)\n    time.sleep(60)\n"
        "a.assess = run\nfrom glasshouse.show.cli import main\nmain()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", slow, "assess", original, original, "-o", str(out / "r.html")],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline().strip() == "started"
    time.sleep(0.2)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130 and "interrupted" in stderr and "Traceback" not in stderr and stdout == ""
    assert list(out.iterdir()) == []


def test_a_chart_of_numbers_next_to_nothing_is_drawn_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    """The library that draws printed a trace with addresses, and left the axes out."""
    tables = [pl.DataFrame({"x": [5e-324, 1e-320, 2e-310, 3e-310] * 10, "s": ["a", "b"] * 20}) for _ in range(2)]
    for measure in (gh.utility.kolmogorov_smirnov, gh.utility.ci_proximity):
        assert "<svg" in svg_of(measure(*tables).plot())
    assert capfd.readouterr().err == ""
