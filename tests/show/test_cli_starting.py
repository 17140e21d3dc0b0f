"""glasshouse init: the draft is for its owner alone, and says what it cannot hold."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import polars as pl
import pytest

from glasshouse.core.writing import write_atomically
from glasshouse.show.cli import main
from glasshouse.show.cli.starting import known_to_others


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return int(stopped.value.code or 0)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "o.csv"
    pl.DataFrame({"age": range(60), "ill": ["a", "b"] * 30}).write_csv(path)
    return path


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_the_draft_is_for_its_owner_alone(table: Path, tmp_path: Path) -> None:
    made = tmp_path / "glasshouse.toml"
    assert run("init", str(table), str(table), "-o", str(made)) == 0
    assert stat.S_IMODE(made.stat().st_mode) == 0o600


@pytest.mark.skipif(os.name != "posix", reason="names of files are bytes")
def test_a_file_name_that_is_no_text_is_refused_in_a_sentence(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strange = os.fsdecode(os.fsencode(tmp_path) + b"/r\xff.csv")
    shutil.copy(table, strange)
    made = tmp_path / "glasshouse.toml"
    assert run("init", str(table), strange, "-o", str(made)) == 2
    assert "is not UTF-8" in capsys.readouterr().err and not made.exists()


@pytest.mark.parametrize("name", ["household_id", "Haushalts-Nr"])
def test_a_household_is_offered_as_the_cluster_and_neither_known_nor_wanted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    path = tmp_path / "o.csv"
    pl.DataFrame(
        {name: [i // 2 for i in range(200)], "age": [i % 60 for i in range(200)], "ill": ["a", "b"] * 100}
    ).write_csv(path)
    assert run("init", str(path), str(path), "-o", "-") == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(f'"{name}"' in line for line in lines if not line.startswith(f'# "{name}"')) == 1
    assert any(line.startswith(f'# cluster = "{name}"') for line in lines)


def test_each_line_to_fill_in_stands_there_once(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("init", str(table), str(table), "-o", "-") == 0
    offered = [line.split("=")[0].strip("# ") for line in capsys.readouterr().out.splitlines() if " = " in line]
    assert [name for name in ("keys", "target", "policy", "cluster") if offered.count(name) != 1] == []


def test_free_text_is_no_target_where_anything_else_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "o.csv"
    pl.DataFrame(
        {"remark": [f"r{i % 90}" for i in range(200)], "age": [i % 60 for i in range(200)], "ill": ["a", "b"] * 100}
    ).write_csv(path)
    assert run("init", str(path), str(path), "-o", "-") == 0
    assert '# target = "ill"' in capsys.readouterr().out


def test_split_says_that_it_tears_households_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "o.csv"
    pl.DataFrame({"household_id": [i // 2 for i in range(200)], "age": [i % 60 for i in range(200)]}).write_csv(path)
    parts = ("-o", str(tmp_path / "a.csv"), "--holdout", str(tmp_path / "b.csv"))
    assert run("split", str(path), *parts) == 0
    assert "--cluster household_id keeps them together" in capsys.readouterr().err
    assert run("split", str(path), *parts, "--cluster", "household_id") == 0
    assert "torn apart" not in capsys.readouterr().err


def test_a_page_that_names_such_a_file_is_written(tmp_path: Path) -> None:
    write_atomically(tmp_path / "page.html", "read from r\udcff.csv")
    assert (tmp_path / "page.html").read_text() == "read from r\\udcff.csv"


@pytest.mark.parametrize("name", ["age", "Alter", "Geschlecht", "PLZ", "sexe", "edad", "home_region", "Familienstand"])
def test_what_neighbours_know_is_offered_as_a_key_in_several_languages(name: str) -> None:
    assert known_to_others(name)


@pytest.mark.parametrize("name", ["Diagnose", "illness", "Einkommen", "income", "wage", "storage", "Wort", "Sport"])
def test_what_they_do_not_know_is_not(name: str) -> None:
    assert not known_to_others(name)
