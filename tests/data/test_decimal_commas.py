"""Numbers with a decimal comma, as half of Europe writes them, are numbers; what cannot be told is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.core.errors import InputError


def german(v: float) -> str:
    return f"{v:,.2f}".replace(",", "_").replace(".", ",").replace("_", ".")


def table(write, n=300, seed=0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "income": [write(v) for v in rng.gamma(2, 1000, n)],
            "code": [f"{v:03d}" for v in rng.integers(0, 30, n)],
            "sex": rng.choice(["f", "m"], n),
        }
    )


def value(text: str) -> float:
    return float(text.replace(".", "").replace(",", "."))


@pytest.mark.parametrize("library", ["polars", "pandas", "lazy"])
@pytest.mark.parametrize("write", [lambda v: f"{v:.2f}".replace(".", ","), german], ids=["plain", "thousands"])
def test_they_are_read_as_numbers_and_said(write, library) -> None:
    own, made = table(write), table(write, seed=1)
    give = {"polars": lambda t: t, "pandas": lambda t: t.to_pandas(), "lazy": lambda t: t.lazy()}[library]
    pair = gh.Pair(give(own), give(made))
    assert pair.is_numeric("income") and not pair.is_numeric("code")
    np.testing.assert_allclose(pair.values("income", "original"), [value(t) for t in own["income"]])
    np.testing.assert_allclose(pair.values("income", "released"), [value(t) for t in made["income"]])
    assert "decimal comma" in str(pair.check().about("income"))


def test_they_give_the_figures_of_the_same_numbers_with_points() -> None:
    comma = [table(lambda v: f"{v:.2f}".replace(".", ","), seed=s) for s in (0, 1)]
    point = [t.with_columns(pl.Series("income", [value(v) for v in t["income"]])) for t in comma]
    with_commas, with_points = (gh.disclosure.dcr(gh.Pair(*tables)) for tables in (comma, point))
    assert with_commas.value == with_points.value


def test_one_table_with_commas_and_one_with_whole_numbers_as_text() -> None:
    own = table(lambda v: f"{v:.1f}".replace(".", ","))
    made = table(lambda v: f"{v:.0f}", seed=1)
    assert gh.Pair(own, made, schema={"income": "numeric"}).is_numeric("income")


@pytest.mark.parametrize("n", [300, 1500])  # with more records some amounts repeat, and it is no identifier any more
@pytest.mark.parametrize(
    "write",
    [lambda v: f"{v // 10 / 100:.3f}".replace(".", ","), lambda v: f"{v // 10 * 1000:,.2f}"],
    ids=["three digits", "English thousands"],
)
def test_what_cannot_be_told_is_said_before_the_verdict(write, n) -> None:
    pair = gh.Pair(table(write, n), table(write, n, seed=1))
    finding = next(f for f in pair.check().about("income") if f.code == "fractions_as_text")
    assert finding.first and ("left out" in finding.message) == (pair.schema["income"].kind == "identifier")


def test_codes_that_are_digits_stay_labels_without_alarm() -> None:
    pair = gh.Pair(table(german), table(german, seed=1))
    assert [f.code for f in pair.check().about("code") if f.first] == []


def test_declared_categories_stay_labels() -> None:
    own, made = (table(lambda v: f"{v // 500:.0f},5", seed=s).to_pandas() for s in (0, 1))
    for t in (own, made):
        t["income"] = pd.Categorical(t["income"])
    assert not gh.Pair(own, made).is_numeric("income")
    assert not gh.Pair(own.astype(str), made.astype(str), schema={"income": "categorical"}).is_numeric("income")


@pytest.mark.parametrize("wrong", [{"exclude": ["incom"]}, {"exclude": "incom"}])
def test_a_misspelt_column_to_leave_out_is_an_error(wrong) -> None:
    own = table(german)
    with pytest.raises(InputError, match=r"exclude names column 'incom'.*did you mean 'income'"):
        gh.Pair(own, own, **wrong)


def test_a_column_of_one_table_only_may_be_left_out() -> None:
    own = table(german)
    assert gh.Pair(own.with_columns(id=1), own, exclude=["id"]).columns == ("income", "code", "sex")


def test_a_misspelt_method_of_synthpop_is_an_error() -> None:
    own = table(german)
    with pytest.raises(InputError, match=r"method names column 'incom'.*did you mean 'income'"):
        gh.data.from_synthpop(own, own, method={"incom": "", "sex": "cart"})


@pytest.mark.parametrize(
    ("asked", "said"), [({"agee": 10}, "no key"), ({"sex": 10}, "sex"), ({"age": "abc"}, "groups of .age. cannot be")]
)
@pytest.mark.parametrize("measures", [["identical"], ["uniques"]])
def test_groups_of_keys_are_checked_whoever_takes_them(asked, said, measures) -> None:
    own = table(german).with_columns(age=pl.int_range(300) % 70)
    with pytest.raises(InputError, match=said):
        gh.assess(own, own.reverse(), keys=["age", "sex"], key_groups=asked, measures=measures)


def test_groups_of_keys_that_change_nothing_are_said() -> None:
    own = table(german).with_columns(age=pl.int_range(300) % 70)
    idle = gh.assess(own, own.reverse(), keys=["age", "sex"], key_groups=10, measures=["identical"])
    none = gh.assess(own, own.reverse(), keys=["sex"], key_groups=10, measures=["uniques"])
    used = gh.assess(own, own.reverse(), keys=["age", "sex"], key_groups=10, measures=["uniques"])
    assert "none of the measures" in " ".join(idle.notes) and "no key is a number" in " ".join(none.notes)
    assert "changes nothing" not in " ".join(used.notes)


def test_a_map_of_files_with_decimal_commas_is_drawn() -> None:
    """The releases that compare makes itself hold numbers, beside an original that is text."""
    rng = np.random.default_rng(0)
    tables = [
        pl.DataFrame({"pay": rng.normal(2000, 300, 120).round(2), "sex": rng.choice(["w", "m"], 120)}).with_columns(
            pl.col("pay").cast(pl.String).str.replace(".", ",", literal=True)
        )
        for _ in "ab"
    ]
    ru = gh.compare(tables[0], {"A": tables[1]}, risk=["exact_copies"], utility=["hellinger", "kolmogorov_smirnov"])
    assert "kolmogorov_smirnov" in ru.utility_measures
