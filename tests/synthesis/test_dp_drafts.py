"""A domain file is drafted from what people have written down, and from the data only when that is said aloud."""

from __future__ import annotations

import datetime as dt
import tomllib
from pathlib import Path

import polars as pl
import pytest

from glasshouse.formal import Risk
from glasshouse.show.cli import main
from glasshouse.synthesis.dp import Domain, DomainError, Mst
from glasshouse.synthesis.dp.drafts import draft, draft_from_data


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return int(stopped.value.code or 0)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_code_book_becomes_a_file_to_edit(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "codes.csv").write_text("name,value,label\nsex,1,female\nsex,2,male\nage,,years\n")
    assert run("domain", "init", "codes.csv") == 0
    told = capsys.readouterr()
    assert told.out == "" and "wrote domain.toml" in told.err
    text = (here / "domain.toml").read_text()
    assert "Drafted from codes.csv" in text and "1: female" in text and "FILL IN" in text
    with pytest.raises(DomainError, match="'age'") as caught:
        Domain.from_codebook("domain.toml")
    assert "'sex'" not in str(caught.value)
    edited = text.replace('# type = "int"', 'type = "int"\nlower = 18\nupper = 85')
    (here / "domain.toml").write_text(edited)
    domain = Mst(Risk.from_rho(1.0), "domain.toml").domain
    assert domain.sizes == {"sex": 2, "age": 20} and not domain.leaky


def test_a_schema_becomes_a_file_to_edit(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "schema.toml").write_text(
        'age = "integer"\nincome = "numeric"\nborn = "datetime"\nname = "text"\nsmoker = "boolean"\n'
        'education = ["low", "high"]\nregion = {kind = "categorical", levels = ["north \\"n\\"", "süd"]}\n'
    )
    assert run("domain", "init", "schema.toml", "-o", "-") == 0
    text = capsys.readouterr().out
    assert "# name has no list of possible values" in text and text.count("FILL IN") == 6
    (here / "d.toml").write_text(text)
    with pytest.raises(DomainError) as caught:
        Domain.from_codebook("d.toml")
    for name in ("'age'", "'income'", "'born'"):
        assert name in str(caught.value)
    for known, example in (("lower = 0 ", "lower = 0 "), ("upper = 100 ", "upper = 100 ")):
        text = text.replace(f"# {known}", example)
    text = text.replace("# lower = 2000", "lower = 2000").replace("# upper = 2030", "upper = 2030")
    (here / "d.toml").write_text(text)
    domain = Domain.from_codebook("d.toml")
    assert domain["region"].to_dict()["categories"] == ['north "n"', "süd"]
    assert domain.sizes["smoker"] == domain.sizes["education"] == 2 and "name" not in domain


def test_the_data_are_read_only_when_told_and_the_file_says_so(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pl.DataFrame(
        {"person": [f"P{i:03}" for i in range(60)], "age": [20 + i % 40 for i in range(60)], "sex": ["F", "M"] * 30}
    ).write_csv("original.csv")
    assert run("domain", "init", "original.csv") == 2
    assert "is no code book" in (said := capsys.readouterr().err) and "--from-data original.csv" in said
    assert run("domain", "init") in (0, 2) and "code book" in capsys.readouterr().err
    assert not (here / "domain.toml").exists()
    assert run("domain", "init", "--from-data", "original.csv") == 0
    assert "drafted from the data" in capsys.readouterr().err
    text = (here / "domain.toml").read_text()
    assert "DRAFTED FROM THE DATA" in text and 'provenance = "read from the data"' in text
    assert "lower = 20\n" in text and "P001" not in text and "# person has no list" in text
    assert (here / "domain.toml").stat().st_mode & 0o077 == 0
    assert Domain.from_codebook("domain.toml").leaky
    command = ("synthesise", "original.csv", "--method", "mst", "--domain", "domain.toml", "--rho", "1", "-o", "s.csv")
    assert run(*command) == 2
    assert "read from the data" in capsys.readouterr().err and not (here / "s.csv").exists()
    (here / "domain.toml").write_text(text.replace('provenance = "read from the data"', "").replace("= 20\n", "= 0\n"))
    assert not Domain.from_codebook("domain.toml").leaky


def test_a_file_that_is_there_is_not_replaced(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "schema.json").write_text('{"age": "integer"}')
    assert run("domain", "init", "schema.json") == 0 and run("domain", "init", "schema.json") == 2
    assert "--force" in capsys.readouterr().err
    assert run("domain", "init", "schema.json", "--force") == 0
    assert run("domain", "init", "nowhere.csv") == 2 and "file not found: nowhere.csv" in capsys.readouterr().err
    (here / "schema.json").write_text('{"age": "intger"}')
    assert run("domain", "init", "schema.json", "--force") == 2 and "did you mean 'integer'" in capsys.readouterr().err


def test_what_is_in_a_code_book_cannot_break_the_file(here: Path) -> None:
    (here / "codes.csv").write_text('name,value,label\n"a ""b"".c\n[x]",y,"l1\nl2 = 3"\n')
    from glasshouse.synthesis.dp.drafts import draft

    (here / "d.toml").write_text(draft("codes.csv"))
    assert list(Domain.from_codebook("d.toml")) == ['a "b".c\n[x]']


def test_a_draft_from_the_data_goes_by_the_kinds_that_check_tells(tmp_path: Path) -> None:
    """Dates written as text are bounds of dates and no list of them; 0 and 1 are categories, as everywhere here."""
    n = 200
    table = pl.DataFrame(
        {
            "born": [f"19{50 + i % 40}-0{1 + i % 9}-1{i % 9}" for i in range(n)],
            "ill": [i % 2 for i in range(n)],
            "pay": [1000.5 + 7 * i for i in range(n)],
        }
    )
    table.write_csv(tmp_path / "original.csv")
    said = tomllib.loads(draft_from_data(tmp_path / "original.csv"))["columns"]
    assert said["born"]["type"] == "date" and "categories" not in said["born"]
    assert said["born"]["lower"] == dt.date(1950, 1, 10)
    assert said["ill"] == {"type": "category", "categories": [0, 1], "nullable": False}
    assert said["pay"]["type"] == "float"


@pytest.mark.parametrize("cell", ["0,1", "a;b", "a, b, c"])
def test_categories_separated_by_commas_are_not_one_category(tmp_path: Path, cell: str) -> None:
    book = tmp_path / "book.csv"
    book.write_text(f'name,type,categories\nsex,category,"{cell}"\n')
    for read in (draft, Domain.from_codebook):
        with pytest.raises(DomainError, match=r"'sex': categories are separated by \|"):
            read(book)
    book.write_text("name,type,categories\nsex,category,0|1\n")
    assert Domain.from_codebook(book).sizes["sex"] == 2


def test_a_tuple_of_three_numbers_is_no_list_of_categories() -> None:
    for three in ((18, 50, 85), (dt.date(2020, 1, 1), dt.date(2021, 1, 1), dt.date(2022, 1, 1))):
        with pytest.raises(DomainError, match=r"'age': a tuple is two bounds.* list for categories.*'edges'"):
            Domain({"age": three})
    assert Domain({"age": [18, 50, 85]}).sizes["age"] == 3
    assert Domain({"sex": ("m", "f", "d")}).sizes["sex"] == 3
