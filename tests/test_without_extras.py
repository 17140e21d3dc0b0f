"""What the core does alone: every extra hidden, files in, verdicts and pages out, and sentences where one is needed."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.hiding import answers, without

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = ("pyarrow", "altair", "vl_convert", "jsonschema", "pandas", "duckdb", "pyspark", "xgboost", "opendp", "mbi",
          "torch", "fastexcel", "pyreadstat", "rdata", "playwright")  # fmt: skip

RUN = (Path(__file__).parent / "core_alone.py").read_text("utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("core")


@pytest.fixture(scope="module")
def told(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(answers(RUN, *EXTRAS, folder=folder))
    return found


pytestmark = pytest.mark.xdist_group("without_extras")


def test_files_of_every_kind_of_the_core_give_the_figures_of_the_tables(told: dict[str, Any]) -> None:
    for kind in ("csv", "parquet", "arrow"):  # a CSV file has its levels in another order, and sums another last digit
        assert told[kind] == pytest.approx(told["values"], rel=1e-12)
    assert all(isinstance(v, float) for v in told["values"].values())
    assert json.loads(told["frames"])["verdict"] in ("pass", "warn", "fail", "incomplete")


def test_a_page_has_its_figures_and_says_how_to_get_charts(told: dict[str, Any]) -> None:
    for name in ("html", "external"):
        assert 'class="dot"' in told[name], "the axis of the threats is drawn by the page itself"
    said = 'pip install "glasshouse[charts]"'
    assert said in unescaped(told["html"])
    assert said in unescaped(told["card"])
    assert (
        f"The map could not be drawn: drawing a chart needs an optional package; install it with: {said}"
        in unescaped(told["map"])
    )
    assert "glasshouse[" not in told["external"], "what is installed here is nobody's business outside"


def unescaped(page: str) -> str:
    return page.replace("&#34;", '"').replace("&quot;", '"')


def test_text_synthesis_and_mitigation_need_no_extra(told: dict[str, Any]) -> None:
    assert all(told["text"])
    assert told["sample"][0] == 50
    assert told["fixed"].startswith("polars")
    assert "What was done" in told["way"]


@pytest.mark.parametrize(
    "what, extra",
    [("plot", "charts"), ("threats", "charts"), ("map", "charts"), ("risk", "charts"), ("pandas", "pandas"),
     ("gbm", "gbm")],
)  # fmt: skip
def test_what_needs_an_extra_names_it(told: dict[str, Any], what: str, extra: str) -> None:
    kind, sentence = told["stops"][what]
    assert kind == "MissingExtra"
    assert sentence.endswith(f'needs an optional package; install it with: pip install "glasshouse[{extra}]"')


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    script = f"from glasshouse.show.cli import main; main({list(arguments)!r})"
    ran = without(script, *EXTRAS, folder=folder)
    assert "Traceback" not in ran.stdout + ran.stderr
    return ran.returncode, ran.stdout + ran.stderr


def test_the_command_line_writes_a_page_and_says_what_it_lacks(told: dict[str, Any], folder: Path) -> None:
    code, said = run(folder, "assess", "original.parquet", "released.csv", "--holdout", "holdout.arrow", "--keys",
                     "gender,education", "--measures", "disco,exact_copies", "-o", "report.html")  # fmt: skip
    assert code in (0, 1, 3), said
    assert "wrote report.html" in said
    assert "the page has every figure and no chart of a measure or a map" in said
    assert 'install it with: pip install "glasshouse[charts]"' in said
    assert 'class="dot"' in (folder / "report.html").read_text("utf-8")
    code, said = run(folder, "assess", "original.csv", "released.csv", "--measures", "exact_copies", "--format", "json")
    assert code in (0, 1, 3), said
    assert "glasshouse[" not in said, "where no page was asked for nothing is missing"


def test_a_file_that_needs_an_extra_is_a_sentence_on_the_command_line(folder: Path) -> None:
    for name in ("t.xlsx", "t.sav", "t.rds"):
        (folder / name).write_bytes(b"PK\x03\x04")
        code, said = run(folder, "check", name, name)
        assert code == 2, said
        assert f'reading {name} needs an optional package; install it with: pip install "glasshouse[files]"' in said


@pytest.mark.parametrize("library, extra", [("duckdb", "duckdb"), ("pyspark", "spark")])
def test_engines_without_pyarrow_are_a_sentence(library: str, extra: str) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed (extra: {extra})")
    make = {
        "duckdb": "import duckdb; table = duckdb.sql('select 1 as a')",
        "pyspark": "import pyspark.sql as s; table = type('F', (), {'columns': ['a']}); "
        "table.__module__ = 'pyspark.sql'; table = table()",
    }[library]
    asked = "import glasshouse as gh\ntry:\n    gh.Pair(table, table)\nexcept ImportError as told:\n    print(told)"
    script = f"{make}\n{asked}"
    assert answers(script, "pyarrow").endswith(f'install it with: pip install "glasshouse[{extra}]"')


def test_pandas_tables_need_no_pyarrow() -> None:
    pytest.importorskip("pandas", reason="pandas is not installed (extra: pandas)")
    script = """
import pandas as pd
import glasshouse as gh
e = gh.data.load("health", library="pandas")
roles = dict(keys=list(e.keys), target=e.target)
there = gh.disclosure.disco(gh.Pair(e.original, e.released, **roles)).value
here = gh.data.load("health")
same = there == gh.disclosure.disco(here.pair()).value
safer = gh.protection.round_numbers(e.original, columns=["age"], base=5).table
sample = gh.synthesis.Cart().fit(e.original).sample(40)
print(same, *(isinstance(t, pd.DataFrame) and (t.dtypes == e.original.dtypes).all() for t in (safer, sample)))
"""
    assert answers(script, "pyarrow") == "True True True"


def test_every_extra_that_a_message_names_is_one() -> None:
    known = set(PROJECT["optional-dependencies"])
    named = {
        extra
        for path in (ROOT / "src" / "glasshouse").rglob("*.py")
        for extra in re.findall(r'(?:MissingExtra\(\s*"|glasshouse\[)(\w+)', path.read_text("utf-8"))
    }
    assert {"charts", "files", "gbm"} <= named
    assert named <= known


def test_the_core_brings_no_package_of_an_extra() -> None:
    core = {re.split(r"[ ;<>=!\[(~]", need)[0] for need in PROJECT["dependencies"]}
    assert {"polars", "numba"} <= core
    assert not core & {"pyarrow", "altair", "vl-convert-python", "pandas"}
