"""Types without surprise, and mistakes in what was handed over: each is said, and none is where there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from studies.kinds import KINDS, Missing, world

import glasshouse as gh
from glasshouse.data.mistakes import _by_codes, _by_query, _nobodys, likely_codes
from glasshouse.show.cli import main
from tests.conftest import converter

N = 200
SECRET = "Rosalind-Franklin-1920"
MISTAKES = ("same_table", "swapped", "holdout_overlap", "holdout_released", "similar_name", "special_code", "units")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return int(stopped.value.code or 0)


def people(seed: int = 0, n: int = N) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "smoker": rng.integers(0, 2, n),
            "region": rng.integers(1, 7, n),
            "income": np.round(rng.lognormal(8, 0.5, n), 0),
            "when": [f"20{10 + i % 10}-0{1 + i % 9}-1{i % 10}" for i in rng.integers(0, 1000, n)],
        }
    )


@pytest.mark.parametrize("engine", ["polars", "pandas", "lazy", "duckdb"])
def test_dates_of_other_shapes_are_read_when_said_and_never_guessed(
    engine: str, request: pytest.FixtureRequest
) -> None:
    convert = converter(engine, request)
    days = ["2020-12-31", "31.12.2020", "02.01.2020", None]
    table = pl.DataFrame({"mixed": days, "first": ["31/12/2020", "02/01/2020", None, None],
                          "second": ["12/31/2020", "01/02/2020", None, None],
                          "unclear": ["01/02/2020", "03/04/2020", "05/06/2020", None]})  # fmt: skip
    pair = gh.Pair(convert(table), convert(table))
    found = {f.column: f.code for f in pair.check() if f.code in ("date_text", "unclear_dates")}
    assert found == {"mixed": "date_text", "first": "date_text", "second": "date_text", "unclear": "unclear_dates"}
    said = gh.Pair(convert(table), convert(table), schema=dict.fromkeys(table.columns, "datetime"))
    assert said.values("mixed")[:3].tolist() == [18627.0, 18627.0, 18263.0]
    assert said.values("first")[:2].tolist() == said.values("second")[:2].tolist() == [18627.0, 18263.0]
    assert [said.n_missing(c) for c in table.columns] == [1, 2, 2, 4], "where nothing tells the day, nothing is read"
    about = str(said.check().about("unclear"))
    assert "original" in about and "release" in about, "what could not be read is said of every table"


def codes(pair: gh.Pair) -> list[str]:
    return [f.code for f in pair.check()]


def mistakes(pair: gh.Pair) -> list[str]:
    return [code for code in codes(pair) if code in MISTAKES]


# -- types -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["polars", "pandas", "lazy", "duckdb"])
def test_iso_dates_as_text_are_dates_and_check_says_so(engine: str, request: pytest.FixtureRequest) -> None:
    convert = converter(engine, request)
    pair = gh.Pair(convert(people()), convert(people(1)))
    assert pair.schema["when"].kind == "datetime"
    assert "text with dates: read as dates" in str(pair.check().about("when"))
    first = people()["when"].str.to_date().to_physical().to_numpy()
    assert pair.values("when").tolist() == first.astype(float).tolist()
    kept = gh.Pair(convert(people()), convert(people(1)), schema={"when": "categorical"})
    assert kept.schema["when"].kind == "categorical" and people()["when"][0] in kept.codes("when").levels


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["2020-01-01 10:30", "2021-12-31 23:59:59"], "datetime"),
        (["2020-01-01T10:30:00", "2021-12-31"], "datetime"),
        (["2020-01-01", "unknown"], "categorical"),
        (["2020-1-1", "2021-2-2"], "categorical"),
        (["01.02.2020", "03.04.2021"], "categorical"),
        (["2020", "2021"], "categorical"),
    ],
)
def test_what_is_an_iso_date(values: list[str], kind: str) -> None:
    table = pl.DataFrame({"d": values * 20})
    assert gh.Pair(table, table).schema["d"].kind == kind
    missing = pl.DataFrame({"d": [None, *values] * 20})
    assert gh.Pair(table, missing).schema["d"].kind == kind


def test_two_whole_numbers_are_categories_and_more_are_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = gh.Pair(people(), people(1), keys=["smoker"])
    assert pair.schema["smoker"].kind == "categorical" and pair.schema["region"].kind == "integer"
    assert {"two_codes", "few_integers"} <= set(codes(pair))
    for frame in (people().to_pandas(), people().cast({"smoker": pl.Float64})):
        assert gh.Pair(frame, people(1)).schema["smoker"].kind == "categorical", "whatever holds the table"
    told = gh.Pair(people(), people(1), schema={"smoker": "numeric", "region": "categorical"})
    assert told.numeric == ("age", "smoker", "income", "when") and told.categorical == ("region",)
    assert gh.Pair(people(n=10), people(1)).schema["smoker"].kind == "integer", "ten records say little"
    for times in (0.5, 1000):
        other = people().with_columns(pl.col("smoker") * times)
        assert gh.Pair(other, other).is_numeric("smoker"), "an amount that is there or not"
    people().write_csv(tmp_path / "o.csv")
    people(1).write_csv(tmp_path / "r.csv")
    (tmp_path / "s.toml").write_text('region = "categorical"\n')
    asked = ["assess", str(tmp_path / "o.csv"), str(tmp_path / "r.csv"), "--measures", "hellinger"]
    run(*asked)
    said = capsys.readouterr().out
    assert (
        "read as categories: smoker (two whole numbers); as numbers: region (6 whole numbers); as dates: when" in said
    )
    assert "--schema" in said
    run(*asked, "--schema", str(tmp_path / "s.toml"))
    assert "region (6" not in capsys.readouterr().out
    run(*asked, "--audience", "external")
    assert "6 whole numbers" not in capsys.readouterr().out


@pytest.mark.parametrize("texts", [["75 years", "31 years"], ["1,234", "5,678"], [SECRET, "31"]])
@pytest.mark.parametrize("side", ["released", "original", "holdout"])
def test_text_beside_numbers_is_an_error_unless_told(texts: list[str], side: str) -> None:
    number, text = pl.DataFrame({"age": [7.5, 3.12] * 20}), pl.DataFrame({"age": texts * 20})
    tables = {"original": number, "released": number, "holdout": number, side: text}
    with pytest.raises(gh.InputError, match=r"column 'age' is numbers in the .* and text in the") as told:
        gh.Pair(**tables)
    assert "schema={'age': 'numeric'}" in str(told.value) and "--schema" not in str(told.value)
    assert not any(value in str(told.value) for value in texts)
    assert gh.Pair(**tables, schema={"age": "categorical"}).schema["age"].kind == "categorical"
    pair = gh.Pair(**tables, schema={"age": "numeric"})
    assert np.isnan(pair.values("age", side)).sum() == {"75 years": 40, "1,234": 40, SECRET: 20}[texts[0]]


@pytest.mark.parametrize("engine", ["polars", "pandas", "lazy", "duckdb"])
@pytest.mark.parametrize("side", ["released", "original", "holdout"])
@pytest.mark.parametrize("numbers", [[7.5, 3.12], [7, 3]])
def test_decimal_commas_beside_numbers_are_numbers_and_check_says_so(
    side: str, engine: str, numbers: list[float], request: pytest.FixtureRequest
) -> None:
    """An original from a German office, and the release that a synthesiser wrote with points."""
    convert = converter(engine, request)
    number, text = pl.DataFrame({"age": numbers * 20}), pl.DataFrame({"age": ["7,5", "3,12"] * 20})
    tables = {"original": number, "released": number, "holdout": number, side: text}
    pair = gh.Pair(**{name: convert(table) for name, table in tables.items()})
    assert pair.schema["age"].kind == "numeric" and set(pair.values("age", side)) == {7.5, 3.12}
    other = "released" if side == "original" else "original"
    assert set(pair.values("age", other)) == set(map(float, numbers))
    assert "decimal comma" in str(pair.check().about("age"))


def test_a_comma_that_may_mark_thousands_is_no_decimal_comma() -> None:
    texts = pl.DataFrame({"x": ["1,234", "5,678"] * 20})
    pair = gh.Pair(pl.DataFrame({"x": [1.0, 2.0] * 20}), texts, schema={"x": "numeric"})
    assert np.isnan(pair.values("x", "released")).all()


# -- codes among numbers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "code"),
    [("income", -9), ("income", -8), ("income", -1), ("age", -99), ("age", 999), ("income", 999_999), ("region", 99)],
)
def test_likely_special_codes_are_a_finding_that_quotes_none(column: str, code: int) -> None:
    table = people().with_columns(pl.when(pl.int_range(N) < 8).then(code).otherwise(pl.col(column)).alias(column))
    pair = gh.Pair(table, people(1))
    (found,) = [f for f in pair.check() if f.code == "special_code"]
    assert found.column == column and "8 records" in found.message and str(code) not in found.message
    assert "special_code" not in codes(gh.Pair(table, people(1), special_codes={column: [code]}))


SCALES = [np.arange(-5, 6), np.arange(-9, 10), np.arange(-3, 36), np.array([-1, 0, 1]), np.array([1, 2, 3, 4, 9]),
          np.arange(0, 100), np.arange(60, 100)]  # fmt: skip


@pytest.mark.parametrize("values", SCALES)
def test_scales_and_counts_are_no_special_codes(values: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    weights = None if values.size != 5 else [0.3, 0.3, 0.2, 0.197, 0.003]  # somebody with nine children
    table = pl.DataFrame({"x": rng.choice(values, 300, p=weights), "y": rng.normal(size=300)})
    assert "special_code" not in codes(gh.Pair(table, table.sample(fraction=0.5, seed=1)))


# -- words for missing, households -------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["polars", "pandas", "lazy", "duckdb"])
def test_a_word_for_missing_is_said_and_the_way_to_numbers_and_dates_works(
    engine: str, request: pytest.FixtureRequest
) -> None:
    convert = converter(engine, request)
    table = pl.DataFrame({
        "income": ["NA", *map(str, range(1, 10))] * 4, "paid": ["NA", *(f"{i},5" for i in range(9))] * 4,
        "born": ["NaN", *(f"{i}.12.2020" for i in range(13, 22))] * 4, "job": ["NA", "clerk"] * 20,
        "own": ["none", "one"] * 20,
    })  # fmt: skip
    pair = gh.Pair(convert(table), convert(table.reverse()))
    found = {f.column: f for f in pair.check() if f.code in ("fractions_as_text", "date_text", "missing_word")}
    assert {c: f.code for c, f in found.items()} == {
        "income": "fractions_as_text", "paid": "fractions_as_text", "born": "date_text", "job": "missing_word",
    }  # fmt: skip
    assert "schema={'income': 'numeric'}" in found["income"].message
    schema = {"income": "numeric", "paid": "numeric", "born": "datetime"}
    assert all(f"{column!r}: {kind!r}" in found[column].message for column, kind in schema.items())
    told = gh.Pair(convert(table), convert(table), schema=schema)
    assert [told.n_missing(c) for c in schema] == [4, 4, 4], "the words, and nothing else, are missing"
    assert "missing_word" not in [f.code for f in told.check() if f.column in schema]


def household(name: str, texts: bool, each: int = 2, n: int = 300) -> pl.DataFrame:
    numbers = np.arange(n) // each + 1000
    return pl.DataFrame({name: [f"H{i}" for i in numbers] if texts else numbers, "age": np.arange(n) % 60})


@pytest.mark.parametrize("texts", [False, True])
@pytest.mark.parametrize("name", ["household_id", "Haushalts-Nr", "hhid", "person_no", "patient id", "pid"])
def test_a_column_that_names_households_is_said_until_it_is_the_cluster(name: str, texts: bool) -> None:
    table = household(name, texts)
    (found,) = [f for f in gh.Pair(table, table).check() if f.code == "units"]
    assert found.column == name and f"cluster={name!r}" in found.message and "150 in 300" in found.message
    assert "units" in codes(gh.Pair(table, table.drop(name))), "also where the release is without it"
    for settled in ({"cluster": name}, {"exclude": [name]}, {"keys": [name]}, {"schema": {name: "categorical"}}):
        assert "units" not in codes(gh.Pair(table, table, **settled))
    assert "free_text" not in codes(gh.Pair(table, table, cluster=name)), "no advice to leave out what has a role"


@pytest.mark.parametrize(
    ("name", "each"),
    [
        ("household_size", 2),
        ("income_household", 2),
        ("zip_code", 2),
        ("household_id", 1),
        ("region_id", 30),
        ("paid", 2),
    ],
)
def test_other_columns_are_no_households(name: str, each: int) -> None:
    table = household(name, False, each)
    assert "units" not in codes(gh.Pair(table, table))


def test_missing_households_are_not_counted_as_one() -> None:
    table = household("household_id", False).with_columns(
        pl.when(pl.int_range(300) < 200).then(None).otherwise(pl.col("household_id")).alias("household_id")
    )
    assert "units" not in codes(gh.Pair(table, table)), "50 of 100 are no more than categories have"


# -- tables ------------------------------------------------------------------------------------------------------------


def test_the_likely_codes_themselves_are_for_the_custodian() -> None:
    table = pl.DataFrame({"income": [1000 + i for i in range(60)] + [-9, -9, -8, -8], "age": [30] * 64})
    assert likely_codes(gh.Pair(table, table)) == {"income": [-9.0, -8.0]}


def test_names_that_differ_by_case_are_pointed_out() -> None:
    other = people(1).rename({"age": "Age", "when": "When "})
    found = [f for f in gh.Pair(people(), other).check() if f.code == "similar_name"]
    assert [f.column for f in found] == ["age", "when"]
    assert "'age' of the original is called 'Age' in the released table" in found[0].message
    assert "did you mean" in found[0].message
    with pytest.raises(gh.InputError, match="did you mean 'age'"):
        gh.Pair(people(), people(1), keys=["AGE"])
    with pytest.raises(gh.InputError, match="names differ by case"):
        gh.Pair(people().select("age"), other.select("Age"))


@pytest.mark.parametrize("engine", ["polars", "pandas", "duckdb"])
def test_the_same_table_twice(engine: str, request: pytest.FixtureRequest) -> None:
    convert = converter(engine, request)
    shuffled = people().sample(fraction=1, shuffle=True, seed=3)
    pair = gh.Pair(convert(people()), convert(shuffled))
    assert mistakes(pair) == ["same_table"]
    assert mistakes(gh.Pair(convert(people()), convert(people(1)))) == []


def test_the_same_file_twice_is_at_the_top(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people().write_csv(tmp_path / "o.csv")
    path = str(tmp_path / "o.csv")
    run("assess", path, path, "--measures", "identical")
    lines = capsys.readouterr().out.splitlines()
    assert "the same table was given twice" in "".join(lines[:4])
    found = gh.assess(path, path, measures=["identical"])
    page, said = found.to_html(), "the same table was given twice"
    assert page.index(said) < page.index('id="verdict"')
    for text in (repr(found), found.to_markdown(), found._repr_html_()):
        assert text.index(said) < text.lower().index("identity")
    assert run("check", path, path) == 0
    assert capsys.readouterr().out.count("same table was given twice") == 1


def test_a_release_that_holds_the_holdout() -> None:
    original, holdout, clean = people(), people(1), people(2)
    leaked = pl.concat([clean.head(150), holdout.head(50)])
    assert mistakes(gh.Pair(original, clean, holdout=holdout)) == []
    assert mistakes(gh.Pair(original, leaked, holdout=holdout)) == ["holdout_released"]
    (found,) = [f for f in gh.Pair(original, leaked, holdout=holdout).check() if f.code == "holdout_released"]
    assert "25.0 % of the holdout" in found.message and found.first
    assert mistakes(gh.Pair(original, [clean, leaked], holdout=holdout)) == ["holdout_released"]
    same = gh.Pair(original, clean, holdout=clean)
    assert mistakes(same) == ["holdout_released"] and "not what it made" in repr(same.check())
    members = pl.concat([holdout.head(150), original.head(50)])
    assert mistakes(gh.Pair(original, clean, holdout=members)) == ["holdout_overlap"]
    assert mistakes(gh.Pair(original.to_pandas(), clean, holdout=members)) == ["holdout_overlap"], "whatever holds it"


def test_original_and_release_swapped() -> None:
    original = people(n=600)
    made = pl.DataFrame(gh.synthesis.Cart().fit(original).sample(random_state=1))
    assert mistakes(gh.Pair(original, made)) == []
    assert mistakes(gh.Pair(made, original)) == ["swapped"]
    population = pl.concat([original, people(3, 2000)])
    assert "swapped" not in codes(gh.Pair(original, population)), "a population holds all values of the sample"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("original.csv", "synthetic.csv", False),
        ("synthetic.csv", "original.csv", True),
        ("data_syn.csv", "data.csv", True),
        ("a.csv", "train.csv", True),
        ("synthea.csv", "b.csv", False),
        ("original.csv", "original_synthetic.csv", False),
        ("synthetic_original.csv", "released.csv", False),
    ],
)
def test_file_names_say_which_table_is_which(tmp_path: Path, first: str, second: str, expected: bool) -> None:
    people().write_csv(tmp_path / first)
    people(1).write_csv(tmp_path / second)
    assert ("swapped" in codes(gh.Pair(tmp_path / first, tmp_path / second))) is expected


# -- no false alarm ----------------------------------------------------------------------------------------------------

# Real columns with real codes: Adult's capital gain of 99999, and the -8 of SD2011's income.
TRUE_CODES = {("adult", "capital_gain"), ("sd2011", "income")}


@pytest.mark.parametrize("kind", list(KINDS))
def test_clean_tables_of_twelve_kinds_have_no_mistake(kind: str) -> None:
    for seed in range(3):
        try:
            clean = world(KINDS[kind], 400, np.random.default_rng([seed, 99]))
        except Missing as why:
            pytest.skip(str(why))
        found = [f for f in clean.pair().check() if f.code in MISTAKES and (kind, f.column) not in TRUE_CODES]
        assert found == []


@pytest.mark.parametrize("name", ["health", "case_study", "appendix_b"])
def test_bundled_tables_have_no_mistake(name: str) -> None:
    assert mistakes(gh.data.load(name).pair()) == []


def test_a_single_measure_refuses_a_file_without_a_header(tmp_path: Path) -> None:
    rows: list[str] = [
        f"{SECRET},1931-02-03,HIV,3.5",
        *(f"Bert {i % 3},1940-05-0{1 + i % 9},HIV,4.5" for i in range(30)),
    ]
    path: Any = tmp_path / "people.csv"
    path.write_text("\n".join(rows))
    with pytest.raises(gh.InputError, match="header=True") as told:
        gh.disclosure.identical(path, path)
    assert SECRET not in str(told.value)
    with pytest.raises(gh.InputError, match="header=True"):
        gh.utility.hellinger(gh.Pair(path, path))
    assert gh.disclosure.identical(path, path, header=True).status == "ok"


def test_one_is_singular() -> None:
    one = pl.DataFrame({"a": ["x", "y"] * 30, "b": ["u", "v", "w"] * 20})
    other = one.select("a").with_columns(a=pl.when(pl.int_range(60) == 0).then(pl.lit("z")).otherwise("a"))
    told = " ".join(str(finding) for finding in [*gh.check(one, other), *gh.check(other, one)])
    assert "1 column of the original is not in the released table" in told
    assert "1 column of the released table is not in the original" in told
    assert "1 level of the released table does not occur in the original" in told
    assert "1 shared column\n" in repr(gh.Pair(one, other))


@pytest.mark.parametrize("written", ["31.12.2020", "12/31/2020"])
def test_dates_written_in_two_ways_are_an_error_unless_told(written: str) -> None:
    mark = written[2]
    iso = pl.DataFrame({"day": [f"20{10 + i % 9}-0{1 + i % 9}-1{i % 9}" for i in range(60)], "a": ["x", "y"] * 30})
    parts = iso["day"].str.split("-")
    order = (2, 1, 0) if mark == "." else (1, 2, 0)
    other = iso.with_columns(day=pl.Series([mark.join(one[i] for i in order) for one in parts]))
    for tables in ((iso, other), (other, iso)):
        with pytest.raises(gh.InputError, match=r"'day' is dates in the .* and text in the .*day\.month\.year"):
            gh.Pair(*tables)
        assert gh.Pair(*tables, schema={"day": "categorical"}).schema["day"].storage == "text"
    assert gh.Pair(iso, iso).schema["day"].kind == "datetime"
    assert gh.Pair(other, other).schema["day"].storage == "text", "which way round is not guessed"


def test_records_are_counted_the_same_by_codes_and_by_a_query() -> None:
    """Tables here are encoded, tables elsewhere grouped where they are; the same records are the same to both."""

    def table(n: int, seed: int) -> pl.DataFrame:
        rng = np.random.default_rng(seed)
        return pl.DataFrame(
            {
                "text": rng.choice(["a", "b", "", "ä"], n),
                "gaps": pl.Series(rng.choice([0.0, -0.0, 1.5, np.nan], n)),
                "whole": pl.Series([None if v == 0 else int(v) for v in rng.integers(0, 3, n)], dtype=pl.Int64),
                "day": pl.Series(rng.integers(0, 2, n)).cast(pl.Int32).cast(pl.Date),
                "yes": rng.random(n) < 0.5,
            }
        )

    for seed in range(0, 15, 3):
        pair = gh.Pair(table(80, seed), table(60, seed + 1), holdout=table(50, seed + 2))
        columns, tables = list(pair.columns), list(pair.tables)
        names = _nobodys(columns, tables)
        coded, queried = (
            how(pair, columns, names).collect().to_native().select(*names.values()).sort(*names.values())
            for how in (_by_codes, _by_query)
        )
        assert coded.equals(queried.cast(coded.schema))
        assert coded.height > 40 and coded.select(pl.sum_horizontal(pl.all())).sum().item() == 190
