"""glasshouse mitigate and glasshouse protect: a safer file, the story, the steps, and the exit codes of assess."""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import glasshouse as gh
from glasshouse.core.errors import InputError
from glasshouse.show.cli import main
from tests.judgement.mitigation.conftest import planted
from tests.show.pages import check_page

POLICY = """
name = "small"
require = ["copying"]
[leak]
tolerance = 5
[run]
measures = ["exact_copies", "near_copies", "domias"]
"""


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return int(stopped.value.code or 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("mitigate")
    pair = planted()
    for table in pair.tables:
        pair.local(table).write_csv(made / f"{table}.csv")
    (made / "policy.toml").write_text(POLICY, encoding="utf-8")
    return made


def asked(folder: Path, *more: str) -> list[str]:
    tables = [str(folder / "original.csv"), str(folder / "released.csv"), "--holdout", str(folder / "holdout.csv")]
    roles = ["--keys", "gender,age,education", "--target", "disease_status", "--policy", str(folder / "policy.toml")]
    return ["mitigate", *tables, *roles, "--allow", "redraw_records", "--steps", "1", "--jobs", "1", *more]


def test_mitigate_writes_the_table_the_story_and_the_steps(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = {name: folder / name for name in ("safer.parquet", "story.html", "steps.toml")}
    code = run(*asked(folder, "-o", str(paths["safer.parquet"]), "--report", str(paths["story.html"]),
                      "--recipe", str(paths["steps.toml"])))  # fmt: skip
    said = capsys.readouterr().out
    assert code == 0 and "re-draw copies" in said and "meets the policy" in said
    safer = pl.read_parquet(paths["safer.parquet"])
    assert safer.shape == pl.read_csv(folder / "released.csv").shape
    page = paths["story.html"].read_text(encoding="utf-8")
    check_page(page)
    assert 'id="way"' in page
    assert 'operation = "redraw_records"' in paths["steps.toml"].read_text(encoding="utf-8")
    # the steps applied again give the same file
    again = folder / "again.csv"
    tables = [str(folder / "released.csv"), str(paths["steps.toml"])]
    assert run("protect", *tables, "-o", str(again), "--original", str(folder / "original.csv")) == 0
    assert pl.read_csv(again).equals(safer)
    assert run("protect", *tables, "-o", str(again)) == 2
    assert "pass the original too" in capsys.readouterr().err


def test_the_exit_code_is_that_of_the_verdict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(*asked(folder, "-o", str(folder / "x.csv"), "--allow", "top_code", "--steps", "1", "--format", "json"))
    content = json.loads(capsys.readouterr().out)
    assert code == content["exit_code"] == 1 and content["met"] is False
    assert any("Not met with what is allowed" in note for note in content["notes"])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["-o", "safer.xlsx"], "a table is written to .csv or .parquet"),
        (["-o", "safer.csv", "--allow", "swap_rank"], "did you mean 'swap_ranks'"),
        (["-o", "safer.csv", "--protect", "agee"], "neither a column nor a utility measure"),
        (["-o", "safer.csv", "--steps", "0"], "steps must be at least 1"),
    ],
)
def test_usage_errors(
    folder: Path,
    more: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*asked(folder, *more)) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("flag", "name"),
    [("-o", "original.csv"), ("-o", "released.csv"), ("-o", "holdout.csv"), ("--recipe", "policy.toml")],
)
def test_what_is_read_is_not_written_over(
    folder: Path, tmp_path: Path, flag: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The people set aside before synthesis cannot be set aside again."""
    before = (folder / name).read_bytes()
    output = [] if flag == "-o" else ["-o", str(tmp_path / "safer.csv")]
    assert run(*asked(folder, *output, flag, str(folder / name))) == 2
    assert "is one of the tables" in capsys.readouterr().err and (folder / name).read_bytes() == before


def test_records_are_not_written_over_the_holdout(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = [str(folder / f"{name}.csv") for name in ("original", "released", "holdout")]
    holdout = ["--holdout", tables[2], "--records", tables[2]]
    assert run("measure", "exact_copies", *tables[:2], *holdout) == 2
    assert "is one of the tables" in capsys.readouterr().err


def test_one_file_is_not_two_outputs(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twice = str(tmp_path / "safer.csv")
    assert run(*asked(folder, "-o", twice, "--report", twice, "--format", "html")) == 2
    assert "named for two outputs" in capsys.readouterr().err and not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def found() -> Any:
    """A search once, for tests of what comes after it: this release stays as it is."""
    return gh.mitigate(planted(copied=0, seed=3), policy=gh.Policy.from_dict(tomllib.loads(POLICY)))


def _files(folder: Path) -> list[str]:
    made = {"-o": "safer.csv", "--report": "story.html", "--recipe": "steps.toml"}
    for name in made.values():
        (folder / name).write_text("old", encoding="utf-8")
    return [part for flag, name in made.items() for part in (flag, str(folder / name))]


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def _unprintable(*_: object) -> None:
    raise InputError("it cannot be printed")


def test_an_interrupt_of_the_search_leaves_every_old_file(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glasshouse.judgement.mitigation.search.Search.apply", _interrupted)
    assert run(*asked(folder, *_files(tmp_path), "-q")) == 130
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["old"] * 3


@pytest.mark.parametrize(
    ("place", "act", "code"),
    [
        ("glasshouse.show.cli.mitigating.table_bytes", _interrupted, 130),
        ("glasshouse.show.cli.mitigating._rendered", _interrupted, 130),
        ("glasshouse.show.cli.mitigating._rendered", _unprintable, 2),
    ],
)
def test_a_run_that_ends_early_leaves_every_old_file(
    folder: Path, tmp_path: Path, place: str, act: Any, code: int, found: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table, the steps to it and their story are of one run: all of them are written, or none is."""
    monkeypatch.setattr(place, act)
    monkeypatch.setattr("glasshouse.mitigate", lambda *given, **more: found)
    assert run(*asked(folder, *_files(tmp_path), "-q")) == code
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["old"] * 3


def test_files_are_for_their_owner_alone_and_links_stay(folder: Path, tmp_path: Path) -> None:
    steps, real, link = tmp_path / "steps.toml", tmp_path / "real.csv", tmp_path / "link.csv"
    steps.write_text('[[step]]\noperation = "round_numbers"\ncolumns = ["age"]\nbase = 5\n', encoding="utf-8")
    assert run("protect", str(folder / "released.csv"), str(steps), "-o", str(real), "-q") == 0
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    real.chmod(0o640)
    link.symlink_to(real)
    assert run("protect", str(folder / "released.csv"), str(steps), "-o", str(link), "-q") == 0
    assert link.is_symlink() and stat.S_IMODE(real.stat().st_mode) == 0o640


def test_columns_that_no_step_names_stay_as_the_file_has_them(tmp_path: Path) -> None:
    table, steps, safer = tmp_path / "table.csv", tmp_path / "age.toml", tmp_path / "safer.csv"
    rows = [f'0{1000 + i};TRUE;1,{i % 10}0;"a; b";{20 + i}' for i in range(30)]
    table.write_text("\n".join(["zip;flag;share;text;age", *rows]) + "\n", encoding="utf-8")
    steps.write_text('[[step]]\noperation = "round_numbers"\ncolumns = ["age"]\nbase = 5\n', encoding="utf-8")
    assert run("protect", str(table), str(steps), "-o", str(safer)) == 0
    written = safer.read_text(encoding="utf-8").splitlines()
    assert written[0] == "zip;flag;share;text;age"
    assert [line.rpartition(";")[0] for line in written[1:]] == [row.rpartition(";")[0] for row in rows]
    assert {int(line.rpartition(";")[2]) % 5 for line in written[1:]} == {0}


def test_a_file_with_decimal_commas_is_numbers_and_stays_written_so(tmp_path: Path) -> None:
    rows = ["hours;rent;ok;part", "38,50;1.200,00;True;0,5", "12,25;900,50;False;1,5", ";-9,00;True;2,5"]
    (tmp_path / "in.csv").write_text("\n".join([*rows, "7,00;800,00;False;2,5"]) + "\n", encoding="utf-8")
    steps = [gh.protection.Step("round_numbers", {"columns": ["hours"], "base": 3.5}),
             gh.protection.Step("top_code", {"columns": ["rent"], "top": 1000.0}),
             gh.protection.Step("pram", {"columns": ["ok"], "keep": 0.5})]  # fmt: skip
    gh.protection.Recipe(steps).save(tmp_path / "steps.toml")
    assert run("protect", str(tmp_path / "in.csv"), str(tmp_path / "steps.toml"), "-o", str(tmp_path / "o.csv")) == 0
    lines = [line.split(";") for line in (tmp_path / "o.csv").read_text(encoding="utf-8").splitlines()]
    hours, rent, ok, part = (list(column) for column in zip(*lines, strict=True))
    assert hours == ["hours", "38,50", "14,0", "", "7,00"], "what changed has a comma, what did not its own digits"
    assert rent == ["rent", "1000,0", "900,50", "-9,00", "800,00"] and part == ["part", "0,5", "1,5", "2,5", "2,5"]
    assert set(ok[1:]) <= {"True", "False"}, "values as the file spells them"


def test_whole_numbers_that_become_decimals_have_the_comma_of_the_file(tmp_path: Path) -> None:
    rows = ["age;rent;rate", *(f"{age};{age},50;{age}.25" for age in range(30, 38))]
    (tmp_path / "in.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    steps = [gh.protection.Step("microaggregate", {"columns": [c], "k": 4}) for c in ("age", "rate")]
    gh.protection.Recipe(steps).save(tmp_path / "steps.toml")
    assert run("protect", str(tmp_path / "in.csv"), str(tmp_path / "steps.toml"), "-o", str(tmp_path / "o.csv")) == 0
    lines = (tmp_path / "o.csv").read_text(encoding="utf-8").splitlines()
    assert lines[1] == "31,5;30,50;31.75", "each column as the file has it, and the file where it says nothing"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--audience", "public"), "internal or external"),
        (("--report", "story.xml"), "not junit"),
        (("--recipe", "steps.json"), "written to .toml"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is_tried(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, str], says: str
) -> None:
    flag, value = more
    given = value if flag == "--audience" else str(tmp_path / value)
    assert run(*asked(folder, "-o", str(tmp_path / "safer.csv"), flag, given)) == 2
    assert says in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_what_a_list_of_names_cannot_say_is_said_with_the_way_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [str(folder / f"{table}.csv") for table in ("original", "released")]
    assert run("mitigate", *given, "-o", str(folder / "none.csv"), "--allow", "pseudonymise") == 2
    said = capsys.readouterr().err
    assert "pseudonymise, which needs columns: take that step before" in said and "glasshouse protect" in said
    assert "mapping" not in said and not (folder / "none.csv").exists()


def test_protect_reads_a_file_as_it_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, steps, safer = tmp_path / "towns.csv", tmp_path / "steps.toml", tmp_path / "safer.csv"
    source.write_bytes("33,Łódź\n31,Łódź\n37,Kraków\n".encode("cp1250"))  # names that look like a record
    steps.write_text('[[step]]\noperation = "round_numbers"\ncolumns = ["33"]\nbase = 10\n', encoding="utf-8")
    told = ["protect", str(source), str(steps), "-o", str(safer), "--header"]
    assert run(*told, "--encoding", "cp1250") == 0 and not capsys.readouterr().err.startswith("note")
    assert safer.read_text(encoding="utf-8") == "33,Łódź\n30,Łódź\n40,Kraków\n"
    assert run(*told) == 0 and "the given table is not UTF-8" in capsys.readouterr().err
    assert run(*told[:-1]) == 2 and "--header" in capsys.readouterr().err


def test_an_original_alone_is_asked_for_by_its_name(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    heard: list[gh.Pair] = []

    def hear(pair: gh.Pair, **given: Any) -> Any:
        heard.append(pair)
        raise InputError("heard")

    monkeypatch.setattr(gh, "mitigate", hear)
    alone = ["mitigate", str(folder / "original.csv"), "--keys", "age,gender", "-o", str(tmp_path / "safer.csv")]
    assert run(*alone) == 2 and "--row-paired anonymises ORIGINAL alone" in capsys.readouterr().err
    assert run(*alone, "--row-paired") == 2 and heard[0].row_paired and heard[0].n("released") == heard[0].n("original")
