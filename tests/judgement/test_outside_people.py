"""Who stands behind a told figure: nobody and one person look alike, whatever people weigh and however often they are
in the table; what one value can move far is not told; the order of releases follows told figures."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.core.outside import Gate
from glasshouse.core.told import tell

N = 300


def people(seed: int, n: int = N) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": np.round(np.exp(rng.normal(10, 1, n))),
            "illness": rng.choice(["none", "flu", "hiv"], n, p=[0.7, 0.2, 0.1]),
        }
    )


def with_copies(k: int) -> gh.Pair:
    released = people(1)
    original = pl.concat([people(2)[: N - k], released[:k]])
    return gh.Pair(original, released, keys=["age"], target="illness", holdout=people(3, 150))


@pytest.mark.parametrize("name", ["identical", "exact_copies", "near_copies", "nndr", "hitting_rate", "copied_answers"])
def test_nobody_and_one_person_look_alike(name: str) -> None:
    told = [_figures(getattr(gh.disclosure, name)(with_copies(k)).to_dict("external")) for k in (0, 1)]
    assert told[0] == told[1]


def _figures(content: Any) -> dict[str, Any]:
    return {k: content[k] for k in ("value", "shown", "holdout", "difference", "difference_interval", "exposure")}


def test_people_of_several_records_count_once() -> None:
    """60 people of five records: the records of two of them are 2 people, not 10 of 300."""
    people_of = pl.Series("pid", np.repeat(np.arange(60), 5))

    def panel(seed: int, first: int) -> pl.DataFrame:
        return people(seed).with_columns(people_of + first)

    def told(k: int) -> Any:
        released = panel(11, 0)
        original = pl.concat([released[: 5 * k], panel(12, 0)[5 * k :]])
        pair = gh.Pair(original, released, holdout=panel(13, 1000), cluster="pid")
        return _figures(gh.disclosure.exact_copies(pair).to_dict("external"))

    assert told(0) == told(1) == told(2) == told(4)
    assert told(40) != told(0)
    assert gh.Pair(panel(1, 0), panel(2, 0), cluster="pid").people("original") == pytest.approx(60)


def test_missing_values_of_a_person_are_those_of_one_person() -> None:
    """Ten gaps of 300 records are two people of 60."""
    ids = pl.Series("pid", np.repeat(np.arange(60), 5))

    def told(k: int) -> Any:
        gaps = pl.Series(np.arange(N) < 5 * k)
        original = people(2).with_columns(ids, income=pl.when(gaps).then(None).otherwise(pl.col("income")))
        holdout = people(3).with_columns(ids + 1000)
        pair = gh.Pair(original, people(1).with_columns(ids), holdout=holdout, cluster="pid")
        columns = gh.assess(pair, measures=["identical"]).content("external")["data"]["columns"]
        return next(c["missing"]["original"] for c in columns if c["name"] == "income")

    assert told(0) == told(1) == told(4) and told(30) != told(0)


def test_somebody_who_weighs_a_third_is_not_told() -> None:
    weights = pl.Series("w", [100.0, *[1.0] * (N - 1)])

    def told(illness: str) -> Any:
        original = people(2).with_columns(weights)
        original[0, "illness"] = illness
        pair = gh.Pair(original, people(1).with_columns(w=pl.lit(1.0)), weights="w")
        found = gh.utility.total_variation(pair, columns=["illness"])
        return tell(found, Gate()).value, found.of

    assert told("none") == told("hiv") and told("none")[1] < 20


def test_a_column_few_have_a_value_in_keeps_figures_about_it_in_the_house() -> None:
    def told(values: list[float]) -> Any:
        sparse = pl.Series("x", [*values, *[None] * (N - len(values))], dtype=pl.Float64)
        pair = gh.Pair(
            people(2).with_columns(sparse), people(1).with_columns(x=pl.Series(np.random.default_rng(0).normal(size=N)))
        )
        return gh.utility.copula_fidelity(pair, columns=["x", "age"]).to_dict("external")

    found = told([1.0, 2.0, 3.0, 4.0])
    assert found["value"] is None and found["shown"] == "not told"


def test_a_persons_extreme_value_cannot_be_read_off_a_figure() -> None:
    for v in (2.5e6, 4e7, 9.1e9):
        original = people(2)
        original[0, "income"] = v
        found = gh.utility.wasserstein(gh.Pair(original, people(1))).to_dict("external")
        assert found["value"] is None and found["shown"] == "not told" and found.get("utility") is None


def test_the_order_of_releases_follows_told_figures() -> None:
    def told(k: int) -> Any:
        pair = with_copies(k)
        ru = gh.compare(pair, {"A": people(1), "B": people(7)}, measures=["exact_copies", "total_variation"])
        content = ru.content("external")
        return content["releases"], content["pareto"], content["pareto_all_measures"], content["text"]

    assert told(0) == told(1)


def test_a_report_never_takes_the_place_of_a_table(tmp_path: Any) -> None:
    from typer.testing import CliRunner

    from glasshouse.show.cli.app import app

    for name, seed in (("o", 2), ("s", 1), ("h", 3)):
        people(seed).write_csv(tmp_path / f"{name}.csv")
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "o.csv")
    before = (tmp_path / "o.csv").read_bytes()
    for output in ("o.csv", "s.csv", "h.csv", "link.csv"):
        asked = ["assess", str(tmp_path / "o.csv"), str(tmp_path / "s.csv"), "--holdout", str(tmp_path / "h.csv")]
        result = CliRunner().invoke(app, [*asked, "--measures", "identical", "-q", "-o", str(tmp_path / output)])
        assert result.exit_code != 0 and "one of the tables" in str(result.exception or result.output)
    assert (tmp_path / "o.csv").read_bytes() == before
