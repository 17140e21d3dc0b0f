"""The files people have: spreadsheets, SPSS, Stata, SAS, R, JSON lines and old encodings."""

from __future__ import annotations

import datetime as dt
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.core.errors import MissingExtra
from glasshouse.data.files import read
from glasshouse.show.cli import main
from tests.data import r_files as r

N = 60
SECRET = "Rosalind-Franklin-1920"


def people(seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    income = np.round(rng.lognormal(7.5, 0.5, N), 0)
    income[:4], income[4] = (-8, -8, -9, -9), np.nan
    return pl.DataFrame(
        {
            "sex": rng.integers(1, 3, N).astype(float),
            "health": np.where(np.arange(N) % 15 == 0, 9.0, rng.integers(1, 4, N)),
            "income": income,
            "age": rng.integers(18, 90, N).astype(float),
        }
    ).with_columns(pl.col("income").fill_nan(None))


SEX, HEALTH = {1: "male", 2: "female"}, {3: "good", 1: "bad", 2: "fair", 9: "no answer"}
LABELS = {"sex": "Sex of the respondent", "income": "Net income per month", "age": "Age in years"}


def save_sav(path: Path, table: pl.DataFrame | None = None) -> Path:
    pyreadstat = pytest.importorskip("pyreadstat", reason="SPSS files need glasshouse[files]")
    pyreadstat.write_sav(
        (people() if table is None else table).to_pandas(),
        str(path),
        column_labels=LABELS,
        variable_value_labels={"sex": SEX, "health": HEALTH, "income": {-8: "refused", -9: "unknown"}},
        missing_ranges={"health": [9], "income": [{"lo": -9, "hi": -8}]},
        variable_measure={"sex": "nominal", "health": "ordinal", "income": "scale", "age": "scale"},
    )
    return path


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return int(stopped.value.code or 0)


# -- SPSS --------------------------------------------------------------------------------------------------------------


def test_an_spss_file_brings_its_categories_special_codes_and_labels(tmp_path: Path) -> None:
    original, released = save_sav(tmp_path / "o.sav"), save_sav(tmp_path / "r.sav", people(1))
    pair = gh.Pair(original, released, keys=["sex", "age"], target="health")
    assert pair.categorical == ("sex", "health") and pair.numeric == ("income", "age")
    assert pair.codes("sex").levels == ["male", "female"], "in the order of the codes"
    assert pair.codes("health").levels == ["bad", "fair", "good", "no answer"], "reasons for missing last"
    assert pair.schema["health"].kind == "categorical", "'no answer' has no place between bad and good"
    assert pair.special_codes == {"income": (-9.0, -8.0)}
    assert pair.n_missing("income") == 1 and pair.special_mask("income").sum() == 4
    assert pair.schema["age"].label == "Age in years" and pair.schema["health"].label is None
    assert pair.replace(keys=["sex"]).special_codes == pair.special_codes
    assert pair.replace(special_codes={"income": []}).special_codes == {"income": ()}


def test_ranked_codes_without_reasons_for_missing_are_ordinal(tmp_path: Path) -> None:
    table = people().with_columns(pl.col("health").replace(9.0, 1.0))
    path = save_sav(tmp_path / "o.sav", table)
    assert gh.Pair(path, path).schema["health"].kind == "ordinal"


def test_a_release_written_as_csv_is_read_by_the_labels_of_the_original(tmp_path: Path) -> None:
    original = save_sav(tmp_path / "o.sav")
    people(1).cast({"sex": pl.Int64, "health": pl.Int64}).write_csv(tmp_path / "codes.csv")
    named = people(1).with_columns(pl.col("sex").replace_strict(SEX, return_dtype=pl.String))
    named.write_csv(tmp_path / "names.csv")
    by_file = gh.Pair(original, save_sav(tmp_path / "r.sav", people(1))).codes("sex").of("released").tolist()
    for name in ("codes.csv", "names.csv"):
        pair = gh.Pair(original, tmp_path / name)
        assert pair.codes("sex").of("released").tolist() == by_file
        assert "no value labels" in str(pair.check().about("sex"))
    assert pair.special_codes == {"income": (-9.0, -8.0)}


def test_schema_goes_before_value_labels(tmp_path: Path) -> None:
    path = save_sav(tmp_path / "o.sav")
    pair = gh.Pair(path, path, schema={"health": "numeric", "income": "categorical"})
    assert pair.is_numeric("health") and pair.special_codes == {"health": (9.0,)}
    assert {"refused", "unknown"} <= set(pair.codes("income").levels) and not pair.is_numeric("income")


def test_labels_that_two_codes_share_are_told_apart(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    table = pl.DataFrame({"job": [1.0, 2.0, 3.0] * 20})
    labels = {"job": {1: "other", 2: "clerk", 3: "other"}}
    pyreadstat.write_sav(table.to_pandas(), str(tmp_path / "t.sav"), variable_value_labels=labels)
    assert gh.Pair(tmp_path / "t.sav", tmp_path / "t.sav").codes("job").levels == ["other [1]", "clerk", "other [3]"]


def test_variable_labels_stand_in_the_report_and_outside_only_where_the_release_has_them(tmp_path: Path) -> None:
    original = save_sav(tmp_path / "o.sav")
    people(1).write_csv(tmp_path / "r.csv")
    for released, outside in ((save_sav(tmp_path / "r.sav", people(1)), True), (tmp_path / "r.csv", False)):
        found = gh.assess(original, released, keys=["sex"], target="age", measures=["uniques"])
        assert "Net income per month" in found.to_html() and "Net income per month" in found.to_json()
        assert ("Net income per month" in found.to_html(audience="external")) is outside
        assert ("Net income per month" in found.to_json(audience="external")) is outside


def test_the_walk_of_an_officer_with_an_spss_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    original, released = save_sav(tmp_path / "o.sav"), save_sav(tmp_path / "r.sav", people(1))
    assert run("check", str(original), str(released)) == 0
    report = tmp_path / "report.html"
    asked = ["--keys", "sex,age", "--target", "health", "--measures", "uniques,disco", "-o", str(report)]
    assert run("assess", str(original), str(released), *asked) in (0, 1, 3)
    assert "Sex of the respondent" in report.read_text()
    capsys.readouterr()


# -- Stata and SAS -----------------------------------------------------------------------------------------------------


def save_dta(path: Path, income: list[Any]) -> Path:
    pyreadstat = pytest.importorskip("pyreadstat", reason="Stata files need glasshouse[files]")
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"sex": [1, 2] * (len(income) // 2), "income": pd.Series(income, dtype=object)})
    pyreadstat.write_dta(
        table,
        str(path),
        column_labels={"income": "Net income"},
        variable_value_labels={"sex": SEX},
        missing_user_values={"income": sorted({v for v in income if isinstance(v, str)})},
    )
    return path


def test_kinds_of_missing_of_stata_become_the_same_special_codes_in_every_table(tmp_path: Path) -> None:
    original = save_dta(tmp_path / "o.dta", [1000.0, 2000.0, "a", "b", None, 1500.0] * 5)
    released = save_dta(tmp_path / "r.dta", [1000.0, -950.0, "b", "b", None, 1500.0] * 5)
    pair = gh.Pair(original, released)
    assert pair.special_codes == {"income": (-9902.0, -9901.0)}, "below every value: one is -950"
    assert pair.special_mask("income").sum() == 10 and pair.special_mask("income", "released").sum() == 10
    assert pair.n_missing("income") == 5 and pair.schema["income"].label == "Net income"
    assert pair.codes("sex").levels == ["male", "female"]
    assert gh.Pair(original, original).special_codes == {"income": (-902.0, -901.0)}


def test_a_transport_file_of_sas(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat", reason="SAS files need glasshouse[files]")
    table = people().to_pandas()
    pyreadstat.write_xport(table, str(tmp_path / "t.xpt"), column_labels=LABELS, file_format_version=8)
    pair = gh.Pair(tmp_path / "t.xpt", tmp_path / "t.xpt")
    assert pair.n() == N and pair.schema["age"].label == "Age in years"


def test_labels_of_sas_lie_in_a_catalogue_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here can write a .sas7bdat file, so the reader's answer is played."""
    pyreadstat = pytest.importorskip("pyreadstat", reason="SAS files need glasshouse[files]")
    from types import SimpleNamespace

    table = pl.DataFrame({"sex": [1.0, 2.0] * 15})
    meta = SimpleNamespace(
        number_rows=30, variable_storage_width={"sex": 8}, variable_value_labels={}, missing_ranges={},
        missing_user_values={}, variable_to_label={"sex": "SEXF"}, column_names_to_labels={}, variable_measure={},
    )  # fmt: skip
    catalogue = SimpleNamespace(value_labels={"SEXF": {1.0: "male", 2.0: "female"}})
    monkeypatch.setattr(pyreadstat, "read_sas7bdat", lambda *_, **__: (table, meta))
    monkeypatch.setattr(pyreadstat, "read_sas7bcat", lambda *_, **__: (None, catalogue))
    path = tmp_path / "t.sas7bdat"
    path.write_bytes(b"\x00" * 12 + b"\xc2\xea\x81\x60" + b"\x00" * 100)
    assert "no_catalogue" in [f.code for f in gh.Pair(path, path).check()]
    (tmp_path / "formats.sas7bcat").write_bytes(b"x")
    assert gh.Pair(path, path).codes("sex").levels == ["male", "female"]


# -- spreadsheets ------------------------------------------------------------------------------------------------------


def save_xlsx(path: Path, rows: list[list[Any]], sheets: int = 1) -> Path:
    xlsxwriter = pytest.importorskip("xlsxwriter", reason="the tests write spreadsheets with xlsxwriter")
    pytest.importorskip("fastexcel", reason="Excel files need glasshouse[files]")
    book = xlsxwriter.Workbook(str(path), {"default_date_format": "yyyy-mm-dd"})
    sheet = book.add_worksheet("people")
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            if value is not None:
                sheet.write(i, j, value)
    for i in range(1, sheets):
        book.add_worksheet(f"notes {i}")
    book.close()
    return path


ROWS: list[list[Any]] = [["age", "sex", "when"], *([20 + i, "fm"[i % 2], dt.date(2020, 1, 1 + i)] for i in range(25))]


def test_a_spreadsheet_is_a_table(tmp_path: Path) -> None:
    path = save_xlsx(tmp_path / "t.xlsx", [*ROWS, [None, "f", None]], sheets=3)
    pair = gh.Pair(path, path)
    assert {c: pair.schema[c].storage for c in pair.schema} == {"age": "int", "sex": "text", "when": "time"}
    assert pair.n_missing("age") == 1
    assert "first of 3 sheets" in next(f.message for f in pair.check() if f.code == "sheet")


def test_a_spreadsheet_without_a_header_is_refused_as_any_file_is(tmp_path: Path) -> None:
    path = save_xlsx(tmp_path / "t.xlsx", [[*row[:2], 1.5 * i] for i, row in enumerate(ROWS[1:])])
    with pytest.raises(gh.InputError, match="looks like a record"):
        gh.disclosure.identical(path, path)


def test_a_spreadsheet_says_how_large_it_is_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save_xlsx(tmp_path / "t.xlsx", [["x"], *([i] for i in range(2000))])
    monkeypatch.setenv("GLASSHOUSE_UNPACKED_LIMIT", "20KB")
    with pytest.raises(gh.InputError, match="when unpacked"):
        gh.Pair(path, path)


@pytest.mark.parametrize("kind", ["sav", "dta", "rds", "jsonl", "xlsx"])
def test_no_file_is_read_that_does_not_fit_into_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    from glasshouse.data import memory

    make = {
        "sav": lambda: save_sav(tmp_path / "t.sav"),
        "dta": lambda: save_dta(tmp_path / "t.dta", [1.0] * 30),
        "rds": lambda: r.save_rds(tmp_path / "t.rds", r.frame({"x": r.numbers(range(30))}, 30)),
        "jsonl": lambda: write_json_lines(tmp_path / "t.jsonl"),
        "xlsx": lambda: save_xlsx(tmp_path / "t.xlsx", ROWS),
    }
    path = make[kind]()
    monkeypatch.setattr(memory, "free_memory", lambda: 100)
    with pytest.raises(gh.InputError, match="of memory to be read"):
        gh.Pair(path, path)


# -- JSON lines and encodings ------------------------------------------------------------------------------------------


def write_json_lines(path: Path) -> Path:
    path.write_text("".join(json.dumps({"age": 20 + i, "sex": "fm"[i % 2], "note": None}) + "\n" for i in range(25)))
    return path


def test_json_lines(tmp_path: Path) -> None:
    pair = gh.Pair(write_json_lines(tmp_path / "t.jsonl"), tmp_path / "t.jsonl", keys="sex")
    assert pair.n() == 25 and pair.schema["age"].storage == "int"
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"age": 1}\n{"age": ' + SECRET + "}\n")
    with pytest.raises(gh.InputError, match="line 2: the line is not valid JSON") as told:
        gh.Pair(bad, bad)
    assert SECRET not in str(told.value)
    bad.write_text('[{"age": 1}]')
    with pytest.raises(gh.InputError, match="one JSON object per line"):
        gh.Pair(bad, bad)


TOWNS = "town,age\n" + "".join(f"{'Köln' if i % 2 else 'Málaga'},{20 + i}\n" for i in range(25))


@pytest.mark.parametrize(("encoding", "name"), [("latin-1", "Latin-1"), ("cp1252", "Windows-1252")])
def test_latin_1_is_detected_and_named(tmp_path: Path, encoding: str, name: str) -> None:
    text = TOWNS.replace("Málaga", "Málaga €") if encoding == "cp1252" else TOWNS
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    pair = gh.Pair(tmp_path / "t.csv", tmp_path / "t.csv", keys="town")
    assert "Köln" in pair.codes("town").levels
    said = [f.message for f in pair.check() if f.code == "encoding"]
    assert len(said) == 2 and all(f"read as {name}" in one and "Köln" not in one for one in said)


def test_another_encoding_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(TOWNS.replace("Málaga", "Łódź").encode("iso8859-2"))
    pair = gh.Pair(path, path, keys="town", encoding="iso8859-2")
    assert pair.codes("town").levels == ["Köln", "Łódź"] and not [f for f in pair.check() if f.code == "encoding"]
    assert gh.disclosure.uniques(path, path, keys="town", encoding="iso8859-2").status == "ok"
    assert run("check", str(path), str(path), "--encoding", "iso8859-2") == 0
    assert "Latin-1" not in capsys.readouterr().out
    with pytest.raises(gh.InputError, match="encoding='klingon' is not known"):
        gh.Pair(path, path, encoding="klingon")
    with pytest.raises(gh.InputError, match=r"is not text in utf-8: line \d+ has a byte"):
        gh.Pair(path, path, encoding="utf-8")


# -- R -----------------------------------------------------------------------------------------------------------------

R_FRAME = r.frame(
    {
        "age": r.integers([31, None, 40] * 10),
        "income": r.numbers([1.5, None, float("nan")] * 10, label=r.strings(["Net income"])),
        "edu": r.factor(["low", None, "high"] * 10, ["low", "medium", "high"], ordered=True),
        "town": r.factor(["b", "a", "b"] * 10, ["b", "a"]),
        "smokes": r.integers([1, 0, None] * 10, kind=10),
        "born": r.numbers([0.0, 18262.0, None] * 10, **{"class": r.strings(["Date"])}),
        "name": r.strings(["x", None, "Köln"] * 10),
        "job": r.numbers([1, 2, 2] * 10, labels=r.numbers([1, 2], names=r.strings(["clerk", "smith"])),
                         **{"class": r.strings(["haven_labelled", "vctrs_vctr", "double"])}),
    },
    30, "tbl_df", "tbl",
)  # fmt: skip


@pytest.mark.parametrize("suffix", [".rds", ".RData"])
def test_a_data_frame_of_r(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("rdata", reason="R files need glasshouse[files]")
    path = tmp_path / f"t{suffix}"
    _ = (
        r.save_rds(path, R_FRAME)
        if suffix == ".rds"
        else r.save_rdata(path, {"survey": R_FRAME, "n": r.numbers([1.0])})
    )
    pair = gh.Pair(path, path)
    assert pair.n() == 30 and pair.n_missing("age") == 10 and pair.n_missing("income") == 20
    assert pair.schema["edu"].kind == "ordinal" and pair.codes("edu").levels == ["low", "medium", "high"]
    assert pair.codes("town").levels == ["b", "a"] and pair.codes("job").levels == ["clerk", "smith"]
    assert pair.schema["smokes"].kind == "boolean" and pair.schema["born"].kind == "datetime"
    assert pair.values("born")[:2].tolist() == [0.0, 18262.0]
    assert pair.codes("name").levels == ["Köln", "x"] and pair.schema["income"].label == "Net income"


@pytest.mark.parametrize("name", ["test_dataframe.rds", "test_dataframe.rda"])
def test_a_data_frame_that_r_itself_wrote(name: str) -> None:
    """The package rdata brings these with its own tests."""
    rdata = pytest.importorskip("rdata", reason="R files need glasshouse[files]")
    path = Path(str(rdata.TESTDATA_PATH)) / name
    if not path.is_file():
        pytest.skip("this build of rdata comes without its test files")
    table = read(path)
    assert table["class"].cast(pl.String).to_list() == ["a", "b", "b"] and table["value"].to_list() == [1, 2, 3]


def test_several_data_frames_in_one_r_file_are_named(tmp_path: Path) -> None:
    pytest.importorskip("rdata", reason="R files need glasshouse[files]")
    path = r.save_rdata(tmp_path / "t.RData", {"before": R_FRAME, "after": R_FRAME})
    with pytest.raises(gh.InputError, match=r"2 objects of class data\.frame: 'before', 'after'"):
        gh.Pair(path, path)


# -- damaged, foreign, missing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.sav", "t.dta", "t.rds", "t.xlsx"])
def test_a_damaged_file_is_one_sentence(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    make = {
        "t.sav": lambda: save_sav(tmp_path / name),
        "t.dta": lambda: save_dta(tmp_path / name, [1.0, "a"] * 20),
        "t.rds": lambda: r.save_rds(tmp_path / name, R_FRAME),
        "t.xlsx": lambda: save_xlsx(tmp_path / name, ROWS),
    }
    raw = make[name]().read_bytes()
    for cut in (len(raw) - 30, len(raw) // 2, 40):
        (tmp_path / name).write_bytes(raw[:cut])
        assert run("check", str(tmp_path / name), str(tmp_path / name)) == 2
        said = capsys.readouterr().err
        assert said.startswith("error: ") and said.count("\n") == 1 and "itself stopped" not in said
        assert "cut off" in said or "whatever its name says" in said


@pytest.mark.parametrize(
    "suffix", [".sav", ".zsav", ".dta", ".sas7bdat", ".xpt", ".rds", ".RData", ".xlsx", ".parquet"]
)
def test_a_foreign_file_is_one_sentence(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t{suffix}"
    path.write_text(f"name,age\n{SECRET},31\n")
    with pytest.raises(gh.InputError, match="whatever its name says") as told:
        gh.Pair(path, path)
    assert SECRET not in str(told.value)


@pytest.mark.parametrize(
    ("suffix", "library"), [(".sav", "pyreadstat"), (".dta", "pyreadstat"), (".xlsx", "fastexcel"), (".rds", "rdata")]
)
def test_without_the_extra_one_sentence_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    (tmp_path / f"t{suffix}").write_bytes(b"anything")
    with pytest.raises(MissingExtra, match=r'reading t.* pip install "glasshouse\[files\]"'):
        gh.Pair(tmp_path / f"t{suffix}", tmp_path / f"t{suffix}")


def test_a_synthesiser_takes_these_files_too(tmp_path: Path) -> None:
    path = save_sav(tmp_path / "o.sav")
    assert read(path)["sex"].cast(pl.String).unique().sort().to_list() == ["female", "male"]
    made = gh.synthesis.Cart().fit(path).sample(random_state=0)
    assert set(pl.DataFrame(made)["sex"].cast(pl.String)) <= {"male", "female"}
