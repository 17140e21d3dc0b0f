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


def test_a_page_that_names_such_a_file_is_written(tmp_path: Path) -> None:
    write_atomically(tmp_path / "page.html", "read from r\udcff.csv")
    assert (tmp_path / "page.html").read_text() == "read from r\\udcff.csv"
