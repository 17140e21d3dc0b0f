"""The domain comes from the user. Whatever the data hold, they never decide what is possible."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from glasshouse.core.errors import InputError
from glasshouse.formal import Risk
from glasshouse.synthesis.dp import Domain, DomainError, Mst

RNG = np.random.default_rng(0)


def cells(declared: Any, values: list[Any], name: str = "x") -> list[int]:
    domain = Domain({name: declared})
    return domain.encode(pl.DataFrame({name: values}, strict=False))[name].tolist()


def test_the_list_form_of_categories_is_honoured() -> None:
    """dpmm ignores {"city": [...]} and reads the data instead."""
    domain = Domain({"city": ["Graz", "Linz", "Wien"]})
    assert domain.sizes == {"city": 3}
    assert domain.encode(pl.DataFrame({"city": ["Wien", "Wien"]}))["city"].tolist() == [2, 2]


def test_categories_on_a_number_column_and_other_spellings() -> None:
    assert cells([1, 2, 3], [3, 1]) == [2, 0]
    assert cells([1, 2, 3], [3.0, 1.0]) == [2, 0]
    assert cells(["1", "2"], [2, 1]) == [1, 0]
    assert cells({"type": "bool"}, [True, False]) == [1, 0]


def test_few_distinct_integers_stay_numbers() -> None:
    domain = Domain({"age": {"type": "int", "lower": 0, "upper": 110, "bins": 22}})
    assert domain.sizes["age"] == 22
    made = domain.decode({"age": np.arange(22)}, RNG)["age"]
    assert made.n_unique() == 22


def test_a_constant_column_keeps_its_whole_domain() -> None:
    data = pl.DataFrame({"sex": ["F"] * 200, "smoker": ["no"] * 200})
    fitted = Mst(Risk.from_rho(0.05), {"sex": ["F", "M"], "smoker": ["no", "yes"]}, insecure_seed=1).fit(data)
    probabilities = fitted.model.project(("sex",))  # type: ignore[union-attr]
    assert probabilities.shape == (2,)
    assert (probabilities > 0).all()


def test_a_missing_cell_exists_only_where_declared() -> None:
    assert Domain({"x": {"categories": ["a"], "nullable": True}}).sizes["x"] == 2
    assert Domain({"x": {"categories": ["a"]}}).sizes["x"] == 1
    assert cells({"categories": ["a", "b"], "nullable": True}, ["b", None]) == [1, 2]
    with pytest.raises(DomainError, match=r"'x' has 1 missing values"):
        cells(["a", "b"], ["b", None])
    made = Domain({"x": {"type": "int", "lower": 0, "upper": 9, "nullable": True}}).decode(
        {"x": np.array([0, 10])}, RNG
    )
    assert made["x"].to_list() == [0, None]


def test_whole_numbers_reach_every_value_and_no_other() -> None:
    domain = Domain({"x": {"type": "int", "lower": 3, "upper": 25, "bins": 4}})
    values = list(range(3, 26))
    codes = domain.encode(pl.DataFrame({"x": values}))["x"]
    made = domain.decode({"x": np.repeat(codes, 200)}, np.random.default_rng(1))["x"]
    assert sorted(made.unique().to_list()) == values
    again = domain.encode(pl.DataFrame({"x": made}))["x"]
    assert (again == np.repeat(codes, 200)).all()


@pytest.mark.parametrize("bins", [1, 2, 3, 7, 10, None])
def test_encoding_inverts_decoding(bins: int | None) -> None:
    declared = {
        "i": {"type": "int", "lower": -3, "upper": 6, "bins": bins},
        "f": {"type": "float", "lower": 0.0, "upper": 1.0, "bins": bins},
        "d": {"type": "date", "lower": "2020-01-01", "upper": dt.date(2020, 12, 31), "bins": bins},
    }
    domain = Domain(declared)
    codes = {name: np.repeat(np.arange(size), 50) for name, size in domain.sizes.items()}
    for name in domain:
        made = Domain({name: declared[name]}).decode({name: codes[name]}, np.random.default_rng(2))
        assert (Domain({name: declared[name]}).encode(made)[name] == codes[name]).all()


def test_values_outside_the_bounds_are_clipped() -> None:
    assert cells({"type": "float", "lower": 0, "upper": 10, "edges": [0, 5, 10]}, [-7.0, 4.9, 5.0, 10.0, 99.0]) == [
        0,
        0,
        1,
        1,
        1,
    ]


def test_decimals_are_declared_not_observed() -> None:
    domain = Domain({"x": {"type": "float", "lower": 0, "upper": 1, "bins": 4, "precision": 1}})
    made = domain.decode({"x": RNG.integers(0, 4, 500)}, RNG)["x"].to_numpy()
    assert np.allclose(made, np.round(made, 1))


def test_dates_come_back_as_dates() -> None:
    domain = Domain({"d": {"type": "date", "lower": "2020-01-01", "upper": "2021-01-01", "bins": 12}})
    codes = domain.encode(pl.DataFrame({"d": [dt.date(2020, 1, 1), dt.date(2020, 7, 2), dt.date(2021, 1, 1)]}))["d"]
    assert codes.tolist() == [0, 5, 11]
    assert domain.decode({"d": codes}, RNG)["d"].dtype == pl.Date
    assert domain.encode(pl.DataFrame({"d": ["2020-07-02"]}))["d"].tolist() == [5]


def test_unknown_categories_go_to_other_or_are_refused_without_being_printed() -> None:
    assert cells({"categories": ["a", "b"], "other": "other"}, ["a", "zzz"]) == [0, 2]
    with pytest.raises(DomainError, match="'x' holds 2 records") as caught:
        cells(["a", "b"], ["a", "Rumpelstilzchen", "Rumpelstilzchen"])
    assert "Rumpelstilzchen" not in str(caught.value)


def test_a_missing_domain_says_why_and_how() -> None:
    with pytest.raises(DomainError, match="codebook, not from the data"):
        Mst(Risk.from_rho(1.0))
    with pytest.raises(DomainError, match="codebook, not from the data"):
        Mst(Risk.from_rho(1.0), {})
    assert issubclass(DomainError, InputError)


def test_every_incomplete_column_is_named_at_once() -> None:
    with pytest.raises(DomainError) as caught:
        Domain(
            {
                "age": {"type": "int"},
                "sex": {"type": "category"},
                "job": "text",
                "ok": ["a"],
                "x": {"type": "int", "lower": 1},
            }
        )
    for name in ("'age'", "'sex'", "'job'", "'x'"):
        assert name in str(caught.value)
    assert "'ok'" not in str(caught.value)
    table = pl.DataFrame({"a": ["u"], "b": [None], "c": ["q"]})
    with pytest.raises(DomainError, match=r"'b', 'c'"):
        Domain({"a": ["u"]}).encode(table)
    with pytest.raises(DomainError, match=r"'z'"):
        Domain({"a": ["u"], "b": ["v"], "c": ["w"], "z": ["w"]}).encode(table)
    with pytest.raises(DomainError, match=r"'b' has 1 missing.*'c' holds 1"):
        Domain({"a": ["u"], "b": ["v"], "c": ["w"]}).encode(table)


@pytest.mark.parametrize(
    "declared",
    [
        {"type": "int", "lower": 5, "upper": 5},
        {"type": "int", "lower": 0, "upper": float("inf")},
        {"type": "int", "lower": 0, "upper": 9, "bins": 0},
        {"type": "int", "lower": 0, "upper": 9, "bins": 2.5},
        {"type": "float", "lower": 0, "upper": 9, "edges": [0, 5, 3, 9]},
        {"type": "float", "lower": 0, "upper": 9, "precision": "two"},
        {"type": "float", "lower": "0", "upper": 9},
        {"type": "date", "lower": "1.1.2020", "upper": "2021-01-01"},
        {"type": "colour"},
        {"categories": ["a", "a"]},
        {"categories": [1, 1.0]},
        {"categories": ["a"], "nullable": "yes"},
        {"categories": ["a"], "levels": 3},
    ],
)
def test_bad_declarations(declared: Any) -> None:
    with pytest.raises(DomainError, match="'x'"):
        Domain({"x": declared})


def test_a_text_column_declared_as_number() -> None:
    with pytest.raises(DomainError, match="'x' is declared 'int' but 1 records"):
        cells({"type": "int", "lower": 0, "upper": 9}, ["1", "seven"])


def test_codebooks(tmp_path: Path) -> None:
    table = tmp_path / "codebook.csv"
    table.write_text(
        "name,type,categories,lower,upper,bins,edges,nullable,other\n"
        "sex,category,F|M,,,,,no,\n"
        "age,int,,0,110,11,,yes,\n"
        "income,float,,0,100,,0|10|100,,\n"
        "born,date,,1900-01-01,2020-01-01,12,,,\n"
        "city,category,A|B,,,,,,elsewhere\n"
    )
    domain = Domain.from_codebook(table)
    assert domain.sizes == {"sex": 2, "age": 12, "income": 2, "born": 12, "city": 3}
    assert "codebook.csv" in domain.provenance
    twin = tmp_path / "codebook.json"
    import json

    twin.write_text(json.dumps(domain.to_dict()))
    assert Domain.from_codebook(twin).sizes == domain.sizes
    assert Domain.from_dict(domain.to_dict()).to_dict() == domain.to_dict()
    assert Mst(Risk.from_rho(1.0), table).domain.sizes == domain.sizes


def test_a_draft_from_the_data_is_refused_and_labelled() -> None:
    data = pd.DataFrame({"sex": ["F", "M", None] * 30, "age": list(range(90)), "w": np.linspace(0, 1, 90)})
    draft = Domain.draft_from_data(data)
    assert draft.leaky
    with pytest.raises(DomainError, match="read from the data"):
        Mst(Risk.from_rho(1.0), draft)
    pytest.importorskip("opendp", reason="private noise comes from OpenDP: pip install 'glasshouse[dp]'")
    fitted = Mst(Risk.from_rho(1.0), draft, allow_leaky_domain=True).fit(data)
    assert fitted.report().label == "DP except domain"
    assert len(fitted.report().leaks) == 1
    assert list(fitted.sample(5).columns) == ["sex", "age", "w"]


def test_two_numbers_in_a_tuple_are_bounds() -> None:
    """(18, 85) is an interval; it was read as the two categories 18 and 85, and the error came at the fit."""
    age = Domain({"age": (18, 85)})["age"]
    assert age.to_dict()["type"] == "int" and (age.lower, age.upper) == (18.0, 85.0)  # type: ignore[union-attr]
    assert cells((18, 85), [18, 85, 40]) == cells({"type": "int", "lower": 18, "upper": 85}, [18, 85, 40])
    assert Domain({"w": (0, 1.5)})["w"].to_dict()["type"] == "float"
    assert Domain({"w": (np.int64(0), np.int64(9))}).sizes == {"w": 10}
    for days in ((dt.date(2020, 1, 1), dt.date(2021, 1, 1)), ("2020-01-01", "2021-01-01")):
        assert Domain({"d": days})["d"].to_dict()["type"] == "date"
    assert cells((0, 1), [1, 0]) == [1, 0]
    with pytest.raises(DomainError, match="'age': 'lower' must be less than 'upper'"):
        Domain({"age": (85, 18)})


def test_a_tuple_of_labels_and_a_list_stay_categories() -> None:
    assert Domain({"sex": ("F", "M")}).sizes == {"sex": 2}
    assert Domain({"code": [1, 2, 3]}).sizes == {"code": 3}
    assert Domain({"flag": (False, True)})["flag"].to_dict()["type"] == "category"
    assert cells([1, 2], [2, 1]) == [1, 0]
    with pytest.raises(DomainError, match='two numbers are bounds, declare "lower" and "upper"'):
        cells([18, 85], [18, 40])


def test_a_code_book_with_a_row_per_code(tmp_path: Path) -> None:
    book = tmp_path / "codes.csv"
    book.write_text("Variable,Code,Label\nsex,1,female\nsex,2,male\nplz,01,west\nplz,02,east\n")
    domain = Domain.from_codebook(book)
    assert domain["sex"].to_dict()["categories"] == [1, 2] and domain["plz"].to_dict()["categories"] == ["01", "02"]


@pytest.mark.parametrize(
    ("content", "said"),
    [("a,b\n1,2\n", "is no code book"), ("name,type,lower\nage,int,about 18\n", "'age': lower, upper and edges")],
)
def test_a_broken_code_book_is_one_sentence(tmp_path: Path, content: str, said: str) -> None:
    book = tmp_path / "book.csv"
    book.write_text(content)
    with pytest.raises(DomainError, match=said):
        Domain.from_codebook(book)
    with pytest.raises(DomainError, match="codebook not found"):
        Domain.from_codebook(tmp_path / "nowhere.csv")
