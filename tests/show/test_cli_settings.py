"""A settings file makes a run one word, flags win over it, and nothing in it is silently ignored."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import glasshouse as gh
from glasshouse.show.cli import main
from glasshouse.show.cli.settings import KNOWN, read
from tests.fakes import fake, four_threats, tables


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    original, released = tables(120)
    original.write_csv(tmp_path / "original.csv")
    released.write_csv(tmp_path / "released.csv")
    tables(60, seed=5)[0].write_csv(tmp_path / "holdout.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return int(stopped.value.code or 0)


FILES = 'original = "original.csv"\nreleased = "released.csv"\n'


def test_init_writes_a_file_that_runs_as_it_is(only_fakes: Any, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    four_threats()
    assert run("init", "original.csv", "released.csv", "--holdout", "holdout.csv") == 0
    text = (here / "glasshouse.toml").read_text()
    said = tomllib.loads(text)
    assert said["original"] == "original.csv" and said["holdout"] == "holdout.csv" and said["schema"] == {}
    assert '# keys = ["age", "sex", "region"]' in text and '# target = "income"' in text
    assert '# age = "integer"' in text and '# sex = "categorical"' in text
    assert not any(value in text for value in ("female", "north", "middle")), "no value of a person"
    capsys.readouterr()
    assert run("assess") == 0 and (here / "report.html").is_file()
    assert "settings from glasshouse.toml" in capsys.readouterr().err
    assert run("check") == 0 and run("init", "original.csv", "released.csv") == 2
    assert "--force" in capsys.readouterr().err


def test_every_line_that_init_offers_can_be_uncommented(only_fakes: Any, here: Path) -> None:
    fake("rapid", "attribute")
    odd = pl.read_csv(here / "original.csv").with_columns(pl.lit("x").alias("a \\ b = #c"), pl.lit(1).alias("ärger"))
    for name in ("original", "released"):
        odd.write_csv(here / f"{name}.csv")
    assert run("init", "original.csv", "released.csv") == 0
    text = (here / "glasshouse.toml").read_text()
    lines = [
        line.removeprefix("# ") if (" = " in line and not line.startswith("#   ")) or line.startswith("# [") else line
        for line in text.splitlines()
    ]
    lines = [line for line in lines if '"..."' not in line and "trees" not in line and "holdout" not in line]
    (here / "glasshouse.toml").write_text("\n".join(lines))
    said = tomllib.loads("\n".join(lines))
    assert said["schema"]["a \\ b = #c"] and said["schema"]["ärger"] and set(said) <= set(KNOWN)
    assert list(said["scenarios"]) == ["neighbour", "employer"]
    assert run("assess") in (0, 3)


def test_init_keeps_a_place_for_codes_and_says_none(here: Path) -> None:
    coded = pl.read_csv(here / "original.csv").with_columns(
        age=pl.when(pl.int_range(pl.len()) % 9 == 0).then(-8).otherwise(pl.col("age"))
    )
    coded.write_csv(here / "original.csv")
    assert run("init", "original.csv", "released.csv") == 0
    text = (here / "glasshouse.toml").read_text()
    assert "# [special_codes]\n# age = []\n" in text and "# income = []" not in text
    said = tomllib.loads(text.replace("# [special_codes]\n# age = []", "[special_codes]\nage = [-8]"))
    assert said["special_codes"] == {"age": [-8]}


def test_files_are_found_from_the_folder_of_the_settings(
    only_fakes: Any, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    four_threats()
    (here / "deep").mkdir()
    assert run("init", "original.csv", "released.csv", "-o", "deep/other.toml") == 0
    assert tomllib.loads((here / "deep" / "other.toml").read_text())["original"] == "../original.csv"
    monkeypatch.chdir(here / "deep")
    assert run("assess", "--settings", "other.toml") == 0 and (here / "deep" / "report.html").is_file()
    assert run("assess") == 2 and "Missing argument ORIGINAL" in capsys.readouterr().err


def test_flags_win_over_the_file(only_fakes: Any, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    four_threats()
    (here / "glasshouse.toml").write_text(
        FILES
        + 'keys = ["sex"]\ntarget = "income"\nseed = 3\nformat = "json"\nexclude = ["age"]\n'
        + '[schema]\nregion = "categorical"\n'
    )
    assert run("assess") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["data"]["keys"] == ["sex"] and shown["run"]["seed"] == 3
    assert "age" not in [c["name"] for c in shown["data"]["columns"]]
    assert run("assess", "--keys", "region", "--seed", "4", "--schema", "sex=text") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["data"]["keys"] == ["region"] and shown["run"]["seed"] == 4 and shown["data"]["target"] == ["income"]
    kinds = {c["name"]: (c["kind"], c["reason"]) for c in shown["data"]["columns"]}
    assert kinds["sex"] == ("text", "given in schema") and kinds["region"] == ("categorical", "given in schema")
    assert run("assess", "--format", "text") == 0 and "PASS" in capsys.readouterr().out


def test_a_file_about_another_original_is_not_used_unless_it_is_named(
    only_fakes: Any, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    four_threats()
    (here / "glasshouse.toml").write_text(FILES + 'keys = ["sex"]\n')
    assert run("assess", "original.csv", "holdout.csv", "--format", "json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["data"]["keys"] == ["sex"] and "settings from" in err, "another release of the same original"
    assert run("assess", "holdout.csv", "released.csv", "--format", "json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["data"]["keys"] == [] and "is about another original and is not used" in err
    assert run("assess", "holdout.csv", "released.csv", "--format", "json", "--settings", "glasshouse.toml", "-q") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["data"]["keys"] == ["sex"] and err == ""


def test_scenarios_of_the_file(only_fakes: Any, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    four_threats()
    (here / "glasshouse.toml").write_text(
        FILES
        + 'format = "json"\ntarget = "income"\n[scenarios.neighbour]\nkeys = ["sex"]\n'
        + '[scenarios.employer]\nkeys = ["sex", "age"]\ntarget = "region"\n'
    )
    assert run("assess") == 0
    table = json.loads(capsys.readouterr().out)["table"]
    assert [(r["scenario"], r["keys"], r["target"]) for r in table] == [
        ("neighbour", ["sex"], ["income"]), ("employer", ["sex", "age"], ["region"]),
    ]  # fmt: skip
    assert run("assess", "--scenario", "employer") == 0
    assert [r["scenario"] for r in json.loads(capsys.readouterr().out)["table"]] == ["employer"]
    assert run("assess", "--scenario", "employr") == 2 and "did you mean 'employer'" in capsys.readouterr().err
    assert run("assess", "--keys", "region") == 0
    assert json.loads(capsys.readouterr().out)["data"]["keys"] == ["region"], "flags replace the scenarios"
    assert run("assess", "--target", "age") == 2 and "'age'" in capsys.readouterr().err, "a key of the second"
    assert run("check") == 0
    capsys.readouterr()
    assert run("compare", "original.csv", "A=released.csv") == 2 and "one scenario" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('keyz = ["sex"]', "unknown name 'keyz'; did you mean 'keys'"),
        ("keys = 3", 'keys is a list of columns, keys = ["age", "sex"]'),
        ('seed = "x"', "seed is a whole number"),
        ("row_paired = 1", "row_paired is true or false"),
        ('[scenarios.a]\nkey = ["sex"]', "[scenarios.a] has an unknown name 'key'; did you mean 'keys'"),
        ('[scenarios]\nkeys = ["sex"]', "scenarios is tables, [scenarios.neighbour]"),
        ("[options]\ntrees = 3", "options is tables, [options.rapid]"),
        ("[options.identity_measur]\nx = 1", "did you mean 'identity_measure'"),
        ("keys = [", "is not valid TOML"),
        ('measures = ["fst"]', "did you mean 'fast'"),
        ('policy = "publik"', "policy file not found"),
        ('audience = "all"', "internal or external"),
    ],
)
def test_a_mistake_in_the_file_is_one_clear_sentence(
    only_fakes: Any, here: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    four_threats()
    (here / "glasshouse.toml").write_text(FILES + text + "\n")
    assert run("assess", "-q") == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err and len(err.strip().splitlines()) == 1


def test_compare_and_measure_take_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example = gh.data.load("case_study")
    monkeypatch.chdir(tmp_path)
    for name, table in {"original": example.original, "a": example.releases["A"], "c": example.releases["C"]}.items():
        pl.DataFrame(table).write_csv(tmp_path / f"{name}.csv")
    (tmp_path / "glasshouse.toml").write_text(
        'original = "original.csv"\nreleased = "a.csv"\nkeys = ["age_group", "sex"]\ntarget = "income"\n'
        '[releases]\nA = "a.csv"\nB = "c.csv"\n[options.disco]\nconfidence = 0.9\n'
    )
    assert run("measure", "disco", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["settings"]["options"]["confidence"] == 0.9
    assert run("measure", "k_anonymity", "original.csv", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["settings"]["n_released"] == example.original.height
    assert run("compare", "--measures", "near_copies,hellinger", "--format", "json") == 0, "no disco, no complaint"
    assert list(json.loads(capsys.readouterr().out)["verdicts"]) == ["A", "B"]


def test_the_file_of_the_documentation_is_read(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "commandline.md").read_text(encoding="utf-8")
    (tmp_path / "glasshouse.toml").write_text(page.partition("```toml\n")[2].partition("```")[0], encoding="utf-8")
    said = read(tmp_path / "glasshouse.toml")
    assert said["original"] == str(tmp_path / "original.csv") and set(said["scenarios"]) == {"neighbour", "employer"}
    names = page.partition("## glasshouse.toml")[2]
    assert [name for name in KNOWN if name not in names] == [], "every name of the file is in the documentation"


def test_measure_and_compare_leave_the_report_of_the_settings_file_alone(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page's own advice is `glasshouse measure NAME --records FILE`: it must not put one measure in its place."""
    (here / "glasshouse.toml").write_text(FILES + 'output = ["report.html", "report.pdf"]\naudience = "external"\n')
    (here / "report.html").write_text("the report of an assessment")
    assert run("measure", "hellinger") == 0
    assert run("measure", "hellinger", "-o", "own.json") == 0
    assert json.loads((here / "own.json").read_text())["name"] == "hellinger"
    survey = gh.data.load("case_study")
    for name, table in {"original": survey.original, "A": survey.releases["A"], "B": survey.releases["B"]}.items():
        table.write_csv(here / f"{name}.csv")
    assert run("compare", "original.csv", "A.csv", "B.csv", "--measures", "identical,pmse", "-o", "map.json") == 0
    assert json.loads((here / "map.json").read_text())["audience"] == "external", "a file that asks for it is obeyed"
    assert capsys.readouterr().err.count("for internal use only") == 2, "and where it cannot be, that is said"
    assert (here / "report.html").read_text() == "the report of an assessment" and not (here / "report.pdf").exists()


@pytest.mark.parametrize("file", ["own.html", "own.md", "own.xml"])
def test_a_measure_is_not_text_in_a_file_called_otherwise(
    only_fakes: Any, here: Path, capsys: pytest.CaptureFixture[str], file: str
) -> None:
    fake("shown", "copying")
    assert run("measure", "shown", "original.csv", "released.csv", "-o", file) == 2
    assert "text or json" in capsys.readouterr().err and not (here / file).exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[schema]\nregoin = 'categorical'", "glasshouse.toml: schema names column 'regoin'"),
        ("special_codes = {agee = [-8]}", "glasshouse.toml: special_codes names 'agee'"),
        ("format = 'pdff'", "glasshouse.toml: format 'pdff' is not known; did you mean 'pdf'?"),
        ("audience = 'extern'", "glasshouse.toml: audience 'extern' is not known"),
        ("mode = '999'", "glasshouse.toml: mode '999' is no set of permissions"),
    ],
)
def test_a_fault_of_the_file_is_not_blamed_on_a_flag(
    only_fakes: Any, here: Path, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    four_threats()
    (here / "glasshouse.toml").write_text(f"{FILES}{line}\n")
    assert run("assess") == 2
    told = capsys.readouterr().err
    assert said in told and "--" not in told.partition("error:")[2]
    (here / "glasshouse.toml").write_text(FILES)
    assert run("assess", "--format", "pdff") == 2
    assert "error: --format 'pdff'" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["x.docx", "x.xls", "report.htlm"])
def test_a_suffix_of_no_format_is_refused(
    only_fakes: Any, here: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    four_threats()
    assert run("assess", "original.csv", "released.csv", "-o", name) == 2 and not (here / name).exists()
    told = capsys.readouterr().err
    assert f"{name} would be a {Path(name).suffix} file" in told and ".html" in told and ".pdf" in told
    for fine in ("x.txt", "x"):
        assert run("assess", "original.csv", "released.csv", "-q", "-o", fine) == 0 and (here / fine).is_file()
    assert run("assess", "original.csv", "released.csv", "-q", "--format", "json", "-o", "x.log") == 0


def test_options_of_a_measure_that_is_not_run_say_so(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = ("original.csv", "released.csv")
    assert run("assess", *tables, "--measures", "identical", "--option", "rapid.trees=200") == 2
    told = capsys.readouterr().err
    assert "'rapid', which is not among the measures of this run; add it to --measures" in told
    assert "did you mean" not in told


def test_the_other_spelling_of_a_key_is_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pl.read_csv(here / "released.csv").rename({"region": "Region"}).write_csv(here / "other.csv")
    assert run("assess", "original.csv", "other.csv", "--keys", "region", "--measures", "identical") == 2
    assert "key 'region' is in the original but not in the release, which has 'Region'" in capsys.readouterr().err
