"""A release that names people: seen with and without a holdout, and row numbers are no names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.engines.exchange import exchange_counts

N = 200


def named(rng: np.random.Generator, n: int = N, kind: str = "name") -> pl.DataFrame:
    number = rng.choice(10**8, n, replace=False)
    column = pl.Series([f"Person {v:08d} of {v % 97}" for v in number]) if kind == "name" else pl.Series(number)
    return pl.DataFrame({"age": rng.integers(20, 80, n), "sex": rng.choice(["f", "m"], n)}).with_columns(
        column.alias("name" if kind == "name" else "person_id")
    )


def tables(kind: str = "name", leaked: int = N) -> dict[str, pl.DataFrame]:
    rng = np.random.default_rng(1)
    original, released, holdout = (named(rng, kind=kind) for _ in range(3))
    column = original.columns[-1]
    own = pl.concat([original[column].head(leaked), released[column].tail(N - leaked)]).alias(column)
    return {"original": original, "released": released.with_columns(own), "holdout": holdout}


@pytest.mark.parametrize("kind", ["name", "number"])
@pytest.mark.parametrize("holdout", [True, False])
def test_a_release_of_every_name_fails(kind: str, holdout: bool) -> None:
    given = tables(kind)
    if not holdout:
        del given["holdout"]
    found = gh.disclosure.shared_identifiers(gh.Pair(**given))
    assert (found.value, found.verdict) == (1.0, "fail")
    column = given["original"].columns[-1]
    assert column in found.sentence
    assert "200 of 200" in found.sentence
    assert ("chance cannot explain" in found.sentence) == (not holdout)
    assert (found.p_value is None) == (not holdout)
    value = str(given["original"][column][0])
    assert value not in found.to_json()
    assert found.records["shared"].all()


@pytest.mark.parametrize("holdout", [True, False])
def test_other_names_pass(holdout: bool) -> None:
    given = tables(leaked=0)
    if not holdout:
        del given["holdout"]
    found = gh.disclosure.shared_identifiers(gh.Pair(**given))
    assert (found.value, found.verdict) == (0.0, "pass" if holdout else None)


def test_a_tenth_of_the_names_is_enough() -> None:
    given = tables(leaked=N // 10)
    with_strangers = gh.disclosure.shared_identifiers(gh.Pair(**given))
    assert with_strangers.verdict == "fail"
    assert with_strangers.exposure is not None
    assert with_strangers.exposure.people == pytest.approx(N // 10)
    alone = gh.disclosure.shared_identifiers(given["original"], given["released"])
    assert alone.verdict == "warn", "codes given out once and invented alike meet real ones too"
    few = tables(leaked=4)
    unsure = gh.disclosure.shared_identifiers(few["original"], few["released"])
    assert unsure.verdict == "warn" and "cannot be told without people never in the data" in unsure.sentence


@pytest.mark.parametrize(
    ("kind", "leaked", "verdict"), [("name", 3, "warn"), ("name", 6, "fail"), ("number", 6, "fail")]
)
def test_a_few_names_are_no_luck_where_real_people_share_none(kind: str, leaked: int, verdict: str) -> None:
    found = gh.assess(gh.Pair(**tables(kind, leaked)), measures=["shared_identifiers"])
    assert (found.threats["identity"].status, found.results["shared_identifiers"].verdict) == (verdict, verdict)


def test_names_that_real_people_share_are_left_to_the_exchange() -> None:
    rng = np.random.default_rng(5)
    tabled = [
        pl.DataFrame({"name": rng.choice([f"name {i}" for i in range(400)], N), "x": rng.normal(size=N)}) for _ in "ors"
    ]
    found = gh.disclosure.shared_identifiers(tabled[0], tabled[1], holdout=tabled[2], schema={"name": "identifier"})
    assert found.counts is not None
    exact = exchange_counts(found.counts.successes, N, found.counts.control_successes, N)
    assert found.value > 0.2 and found.p_value == exact.p


def test_spelling_hides_nobody() -> None:
    given = tables()
    given["released"] = given["released"].with_columns(name=pl.lit("  ") + pl.col("name").str.to_uppercase())
    assert gh.disclosure.shared_identifiers(gh.Pair(**given)).verdict == "fail"


@pytest.mark.parametrize("label", ["", "P"])
@pytest.mark.parametrize("holdout", [True, False])
def test_row_numbers_name_nobody(label: str, holdout: bool) -> None:
    """Every file runs from 1; so does a holdout that goes on where the original ends."""
    rng = np.random.default_rng(2)

    def numbered(start: int) -> pl.DataFrame:
        ids = pl.Series("row_id", np.arange(start, start + N))
        return (
            named(rng)
            .drop("name")
            .with_columns(ids if not label else (label + ids.cast(pl.String).str.zfill(6)).alias("row_id"))
        )

    for start in (1, N + 1):
        pair = gh.Pair(numbered(1), numbered(1), holdout=numbered(start) if holdout else None)
        assert pair.identifiers == ("row_id",)
        found = gh.disclosure.shared_identifiers(pair)
        assert found.verdict == ("pass" if holdout else None)
        assert "row_id only numbers the rows" in found.sentence


def test_numbers_shared_by_chance_are_explained() -> None:
    """A fifth of all possible numbers is used: a fifth of the people find theirs in an independent release."""
    rng = np.random.default_rng(3)

    def numbered() -> pl.DataFrame:
        return pl.DataFrame({"person_id": rng.choice(1000, N, replace=False), "age": rng.integers(20, 80, N)})

    for holdout in (None, numbered()):
        found = gh.disclosure.shared_identifiers(gh.Pair(numbered(), numbered(), holdout=holdout))
        assert found.value > 0.1
        assert found.verdict == (None if holdout is None else "pass")


def test_excluded_columns_are_looked_at() -> None:
    given = tables()
    found = gh.disclosure.shared_identifiers(gh.Pair(**given, exclude=["name"]))
    assert found.verdict == "fail"
    lists = {t: f.with_columns(odd=pl.Series([[1, 2]] * N)) for t, f in given.items()}
    assert gh.disclosure.shared_identifiers(gh.Pair(**lists, exclude=["name", "odd"])).verdict == "fail"


def test_no_identifier_does_not_apply() -> None:
    given = {t: f.drop("name") for t, f in tables().items()}
    found = gh.disclosure.shared_identifiers(gh.Pair(**given))
    assert found.status == "not_applicable"
    assert "looks like an identifier" in str(found.reason)


def test_a_holdout_without_the_column_leaves_chance() -> None:
    given = tables()
    found = gh.disclosure.shared_identifiers(gh.Pair(**{**given, "holdout": given["holdout"].drop("name")}))
    assert (found.p_value, found.verdict) == (None, "fail")
    assert any("holdout lacks" in w for w in found.warnings)


def test_clusters_are_the_people() -> None:
    given = tables(leaked=N // 10)
    given = {t: f.with_columns(house=pl.Series(np.arange(N) // 4 + 1000 * i)) for i, (t, f) in enumerate(given.items())}
    found = gh.disclosure.shared_identifiers(gh.Pair(**given, cluster="house"))
    assert found.exposure is not None
    assert found.exposure.members == N // 4
    assert found.verdict in ("warn", "fail")


def test_engines_agree(engine: Callable[[pl.DataFrame], Any]) -> None:
    given = tables(leaked=20)
    found = gh.disclosure.shared_identifiers(gh.Pair(**{t: engine(f) for t, f in given.items()}))
    assert (found.details["n_shared"], found.verdict) == (20, "fail")


def test_an_assessment_says_that_names_are_released() -> None:
    """No other measure looks at the column, so without this one the report would not mention it."""
    found = gh.assess(gh.Pair(**tables(), keys=["age", "sex"]), measures=["shared_identifiers", "identical"])
    assert found.verdict == "fail"
    assert "name (200 people)" in str(found.results["shared_identifiers"].sentence)
    assert "identifier" in repr(found)


def panel(rows: int, leaked: int, people: int = 120) -> dict[str, pl.DataFrame]:
    """Several records a person, a name and a number of nine digits on each."""
    rng = np.random.default_rng(8)
    names = [f"Person {i} {chr(97 + i % 26)}x{i * 7919 % 10007}" for i in range(3 * people)]
    numbers = rng.choice(10**9, 3 * people, replace=False)
    parts = []
    for part in range(3):
        who = np.repeat(np.arange(part * people, (part + 1) * people), rows)
        parts.append(
            pl.DataFrame({"nr": numbers[who], "name": [names[i] for i in who], "x": rng.normal(size=len(who))})
        )
    real = parts[0].head(leaked * rows)
    released = pl.concat(
        [parts[1].head((people - leaked) * rows), real.with_columns(x=pl.Series(rng.normal(size=len(real))))]
    )
    return {"original": parts[0], "released": released, "holdout": parts[2]}


@pytest.mark.parametrize(("leaked", "status"), [(0, "pass"), (3, "warn"), (12, "fail")])
def test_names_on_all_records_of_a_person_are_names(leaked: int, status: str) -> None:
    for column in ("name", "nr"):  # the column of persons itself, too
        tables_ = {name: t.drop({"name": "nr", "nr": "name"}[column]) for name, t in panel(4, leaked).items()}
        cluster = {name: np.arange(len(t)) // 4 + 1000 * i for i, (name, t) in enumerate(tables_.items())}
        if column == "name":
            tables_ = {name: t.with_columns(household=cluster[name]) for name, t in tables_.items()}
        pair = gh.Pair(**tables_, cluster="household" if column == "name" else "nr")
        found = gh.assess(pair, measures=["shared_identifiers"])
        assert found.threats["identity"].status == status, (column, found)
        assert f"({leaked} of 120)" in found.results["shared_identifiers"].sentence, "people, not records"


def test_a_column_of_invented_names_does_not_make_other_tests_sharper() -> None:
    rng = np.random.default_rng(4)
    plain = [
        pl.DataFrame({"a": rng.integers(0, 40, 80), "b": rng.integers(0, 30, 80), "c": rng.normal(size=80)})
        for _ in "ors"
    ]
    named_too = [t.with_columns(name=pl.Series([f"n{i}k{rng.integers(10**8)}" for i in range(80)])) for t in plain]
    limits = []
    for original, released, holdout in (plain, named_too):
        found = gh.assess(
            gh.Pair(original, released, holdout=holdout, keys=["a"], target="b"),
            measures=["uniques", "singling_out", "shared_identifiers"],
        )
        limits.append(found.threats["identity"].detection_limit)
    assert limits[1] is None or (limits[0] is not None and limits[1] >= limits[0] - 1e-9)


def test_numbers_of_rows_in_another_range_than_the_holdouts_name_nobody() -> None:
    """Numbers given by a program, with gaps; the holdout was numbered after the original."""
    rng = np.random.default_rng(6)
    original = pl.DataFrame({"id": np.sort(rng.choice(220, 200, replace=False)) + 1, "x": rng.normal(size=200)})
    holdout = pl.DataFrame({"id": np.arange(300, 400), "x": rng.normal(size=100)})
    released = pl.DataFrame({"id": np.arange(1, 201), "x": rng.normal(size=200)})
    found = gh.disclosure.shared_identifiers(original, released, holdout=holdout, schema={"id": "identifier"})
    assert found.value == 0 and "only numbers the rows" in found.sentence


def test_nobody_named_is_no_evidence() -> None:
    found = gh.disclosure.shared_identifiers(gh.Pair(**tables(leaked=0)))
    assert found.p_value == 1.0
    three = gh.disclosure.shared_identifiers(gh.Pair(**tables(leaked=3)))
    assert "in 12 % of cases, which counts a third" in three.sentence and "(p = 0.041)" in three.sentence


def test_real_numbers_with_gaps_are_no_numbers_of_rows() -> None:
    """Nearly every number of the range is somebody's, and the release has exactly those of the members."""
    rng = np.random.default_rng(7)
    numbers = rng.permutation(350) + 1
    tables_ = [
        pl.DataFrame({"id": part, "x": rng.normal(size=len(part))})
        for part in (numbers[:300], numbers[:300], numbers[300:])
    ]
    found = gh.disclosure.shared_identifiers(tables_[0], tables_[1], holdout=tables_[2], schema={"id": "identifier"})
    assert (found.value, found.holdout, found.verdict) == (1.0, 0.0, "fail")
