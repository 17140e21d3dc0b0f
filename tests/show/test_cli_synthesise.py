"""glasshouse synthesise: every method of Sequential, and what a file says about missing values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.show.cli import main


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return int(stopped.value.code or 0)


@pytest.fixture
def original(tmp_path: Path) -> Path:
    path = tmp_path / "original.csv"
    pl.DataFrame(gh.data.simulate_health(200)).write_csv(path)
    return path


def made(original: Path, *flags: str) -> pl.DataFrame:
    path = original.with_name("release.csv")
    assert run("synthesise", str(original), "-o", str(path), *flags) == 0
    return pl.read_csv(path)


def alike(one: pl.DataFrame, other: object) -> bool:
    return one.write_csv() == pl.DataFrame(other).write_csv()


def test_cart_is_the_synthesiser_as_before(original: Path) -> None:
    assert alike(made(original), gh.synthesis.Cart().fit(original).sample())


@pytest.mark.parametrize("method", ["ctree", "sample", "parametric"])
def test_one_method_for_every_column(original: Path, method: str) -> None:
    asked = gh.synthesis.Sequential(method).fit(original).sample(100, random_state=3)
    assert alike(made(original, "--method", method, "--n", "100", "--seed", "3"), asked)


def test_another_method_for_single_columns(original: Path) -> None:
    own = {"age": "sample", "income": "normrank", "health_score": "~ age * 2.0"}
    flags = [a for column, method in own.items() for a in ("--column-method", f"{column}={method}")]
    assert alike(made(original, *flags), gh.synthesis.Sequential(own).fit(original).sample())
    columns = pl.read_csv(original).columns
    mixed = gh.synthesis.Sequential({**dict.fromkeys(columns, "ctree"), **own}).fit(original).sample()
    assert alike(made(original, "--method", "ctree", *flags), mixed)
    order = ["gender", "age"]
    smooth = gh.synthesis.Sequential(visit_sequence=order, smoothing="density").fit(original).sample()
    assert alike(made(original, "--visit-sequence", "gender,age", "--smoothing", "density"), smooth)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--method", "kart"], "no method 'kart'; did you mean 'cart'"),
        (["--column-method", "agee=norm"], "there is no column 'agee'; did you mean 'age'"),
        (["--column-method", "age"], "has no '='"),
        (["--column-method", "age=nrm"], "did you mean 'norm'"),
        (["--column-method", "gender=norm"], "gender"),
        (["--method", "mst", "--column-method", "age=norm", "--rho", "1"], "mst makes the whole table"),
        (["--method", "mst", "--rho", "1"], "mst needs --domain"),
        (["--method", "mst"], "state a risk"),
    ],
)
def test_mistakes_are_named(original: Path, capsys: pytest.CaptureFixture[str], flags: list[str], said: str) -> None:
    path = original.with_name("release.csv")
    assert run("synthesise", str(original), "-o", str(path), *flags) == 2
    out, err = capsys.readouterr()
    assert out == "" and said in err and "schema={" not in err and not path.exists()


def test_codes_that_a_file_declares_stay_codes(tmp_path: Path) -> None:
    """Refused (-8) is a reason, not an income below zero: no tree may learn from it as a number."""
    pyreadstat = pytest.importorskip("pyreadstat", reason="SPSS files need glasshouse[files]")
    rng = np.random.default_rng(1)
    income = np.where(rng.random(300) < 0.3, -8.0, rng.normal(40_000, 9_000, 300).round())
    table = pl.DataFrame({"sex": rng.choice([1.0, 2.0], 300), "income": income})
    path = tmp_path / "survey.sav"
    pyreadstat.write_sav(table.to_pandas(), str(path), missing_ranges={"income": [-8.0]})
    asked = gh.synthesis.Sequential(smoothing="density", special_codes={"income": [-8]})
    expected = asked.fit(table).sample()
    released = made(path, "--smoothing", "density")
    assert released["income"].to_list() == expected["income"].to_list()
    assert (released["income"] == -8).sum() > 50 and released.filter(pl.col("income") != -8)["income"].min() > 5_000
    assert gh.synthesis.Cart(smoothing="density").fit(path).sample()["income"].to_list() == expected["income"].to_list()
    plain = tmp_path / "survey.csv"
    table.write_csv(plain)
    assert made(plain, "--smoothing", "density")["income"].to_list() != expected["income"].to_list()
    told = made(plain, "--smoothing", "density", "--special-codes", "income=-8")
    assert told["income"].to_list() == expected["income"].to_list()


def test_households_of_the_original_in_the_release_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "people.csv"
    pl.DataFrame({"household_id": [i // 2 for i in range(200)], "age": [i % 60 for i in range(200)]}).write_csv(path)
    assert "household_id" in made(path).columns
    assert "column 'household_id' looks like the household or person" in capsys.readouterr().err
    assert made(path, "--visit-sequence", "age").columns == ["age"]
    assert "looks like" not in capsys.readouterr().err
