"""What every measure promises, tested once over the whole registry (scikit-learn's test_common is the model).

Each measure is run on one simulated population: training records, a holdout, and five releases (a fresh half of the
population, a
copy of the training records, independent columns, the fresh half with copied rows planted, the fresh half again in
another order).
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.catalogue import all_measures
from glasshouse.core.measure import Measure
from glasshouse.core.result import Result
from tests.conftest import ROOT, converter
from tests.sameness import changed, figures

N = 400
ROLES: dict[str, Any] = {"keys": ["sex", "region", "band"], "target": "illness"}
MEASURES = sorted(all_measures())
RISKS = [name for name in MEASURES if all_measures()[name].side == "disclosure"]
# delta-presence asks for a subset of a population, record linkage for a release paired row by row; none here is either
OWN_DATA = ("delta_presence", "record_linkage")
PAIRED = [name for name in RISKS if all_measures()[name].table == "pair" and name not in OWN_DATA]
# What a call needs beyond a pair, and smaller settings where the default would only cost time here.
OPTIONS: dict[str, dict[str, Any]] = {
    "attacker_risk": {"sampling_fraction": 0.1},
    "population_uniqueness": {"sampling_fraction": 0.1},
    "rapid": {"trees": 60},
    "inference": {"n_attacks": 300},
    "singling_out": {"n_attacks": 150},
    "linkability": {"n_attacks": 300},
    "subgroup_utility": {"by": "sex"},
    "pmse": {"maxorder": 0},
    **{name: {"maxorder": 0, "n_perm": 3} for name in ("specks", "po50", "u_statistic")},
    **{name: {"replicates": 3} for name in ("model_quality", "model_performance", "feature_importance")},
    "membership_classifier": {"trees": 60},
}
# RAPID grows with the sharpness of the attacker, and a release may be easier to learn from than the data it came
# from (Templ et al. 2026,
# appendix B); what a copy adds is the part that held-out people do not share, so that part is compared.
MEMORISATION = {"rapid"}


def risk(result: Result) -> float | None:
    if result.name in MEMORISATION and result.value is not None and result.holdout is not None:
        return result.value - result.holdout
    return result.value


@cache
def population(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, n)
    region = rng.integers(0, 12, n)
    band = rng.integers(0, 12, n)
    lean = 0.3 * band + sex - 2.2
    illness = np.where(rng.random(n) < 1 / (1 + np.exp(-lean)), np.where(rng.random(n) < 0.3, "gout", "flu"), "none")
    height = 165 + 12 * sex + rng.normal(0, 7, n)
    pay = np.exp(7 + 0.08 * band + 0.3 * sex + rng.normal(0, 0.4, n))
    return pl.DataFrame(
        {
            "sex": np.array(["f", "m"])[sex],
            "region": np.array(list("ABCDEFGHIJKL"))[region],
            "band": np.array([f"b{i:02d}" for i in range(12)])[band],
            "illness": illness,
            "height": height.round(1),
            "pay": pay.round(0),
            # left out by every measure but the one that asks whether people are named, the second whatever its order
            "card": [f"card {v:x}" for v in np.random.default_rng([seed, 1]).choice(2**32, n, replace=False)],
            "serial": 100_000 * seed + 3 * np.arange(n),
        }
    )


@cache
def table(kind: str) -> pl.DataFrame:
    training, fresh = population(N, 1), population(N, 3)
    if kind == "training":
        return training
    if kind == "holdout":
        return population(N, 2)
    if kind == "fresh":
        return fresh
    if kind == "copy":
        return training.sample(fraction=1.0, shuffle=True, seed=5)
    if kind == "independent":
        rng = np.random.default_rng(9)
        return pl.DataFrame({c: training[c].gather(rng.permutation(N)) for c in training.columns})
    if kind == "planted":
        return pl.concat([training.head(N // 3), fresh.tail(N - N // 3)])
    raise KeyError(kind)


@cache
def pair(kind: str) -> gh.Pair:
    return gh.Pair(table("training"), table(kind), holdout=table("holdout"), **ROLES)


def options(measure: Measure) -> dict[str, Any]:
    usual = {"random_state": 11, "n_jobs": 1, "permutations": 29, "replicates": 29}
    wanted = {name: value for name, value in usual.items() if name in measure.options}
    wanted.update(OPTIONS.get(measure.name, {}))
    return wanted


@cache
def run(name: str, kind: str) -> Result:
    measure = all_measures()[name]
    given = pair(kind)
    if "row_paired" in measure.needs or name == "record_linkage":
        given = given.replace(row_paired=True)
    if name == "delta_presence":
        given = gh.Pair(pl.concat([table("training"), table(kind)]), table(kind), **ROLES)
    return measure.run(given, **options(measure))


@pytest.mark.parametrize("name", MEASURES)
def test_declares_itself(name: str) -> None:
    measure = all_measures()[name]
    record = measure.record()
    assert len(measure.summary) > 20
    assert record["citation"], "a measure names its source"
    assert measure.side == "utility" or measure.threat in ("identity", "attribute", "membership", "copying")
    assert measure.side == "utility" or measure.attacker, "a risk says what the attacker knows"
    assert measure.cost != "attackers" or "random_state" in measure.options, "a model draws, so it takes a seed"
    assert str(gh.explain(name)).startswith(name)


@pytest.mark.parametrize("name", MEASURES)
def test_answers_in_full(name: str) -> None:
    result = run(name, "fresh")
    assert result.status == "ok", result.reason
    measure = result.measure
    assert measure is not None
    low, high = measure.range
    assert low is None or result.value >= low - 1e-9
    assert high is None or result.value <= high + 1e-9
    assert result.sentence and not result.sentence.startswith("Not assessed")
    if result.interval is not None:
        assert result.interval[0] <= result.interval[1]
    content = json.loads(result.to_json())
    assert "NaN" not in result.to_json()
    assert content["value"] == pytest.approx(result.value)
    assert content["settings"]["n_original"] == (2 * N if name == "delta_presence" else N)
    assert name in str(result) and name in repr(result)
    assert result._repr_html_().startswith("<")
    frame = result.to_frame()
    assert frame.height > 0
    if result.records is not None:
        assert result.records.height in (N, 2 * N)


@pytest.mark.parametrize("name", PAIRED)
def test_a_copy_is_the_worst_release(name: str) -> None:
    """No other release of the same people scores worse than the training records themselves."""
    measure = all_measures()[name]
    copy = risk(run(name, "copy"))
    for kind in ("fresh", "independent", "planted"):
        other = risk(run(name, kind))
        if copy is None or other is None:
            continue
        slack = 0.02 * max(1.0, abs(copy))
        assert (copy >= other - slack) if measure.better == "lower" else (copy <= other + slack), kind


@pytest.mark.parametrize("name", [n for n in PAIRED if all_measures()[n].threat != "copying"])
def test_strangers_show_no_excess(name: str) -> None:
    """A release made of other people of the same population gives the training records away no more than the
    holdout."""
    result = run(name, "fresh")
    if result.value is None or result.holdout is None:
        pytest.skip("has no figure for held-out people to compare with")
    spread = (
        3.5 * math.sqrt(max(result.value * (1 - result.value), 0.05) * 2 / N)
        if 0 <= result.value <= 1
        else 0.35 * abs(result.value)
    )
    assert abs(result.value - result.holdout) <= spread


@pytest.mark.parametrize("name", [n for n in PAIRED if all_measures()[n].threat == "attribute"])
def test_independent_columns_show_no_excess(name: str) -> None:
    result = run(name, "independent")
    if result.excess is None:
        pytest.skip("has no baseline, hence no excess")
    assert result.excess <= 0.08


@pytest.mark.parametrize("name", PAIRED)
def test_planted_copies_never_lower_the_risk(name: str) -> None:
    measure = all_measures()[name]
    clean, planted = risk(run(name, "fresh")), risk(run(name, "planted"))
    if clean is None or planted is None:
        pytest.skip("gives no figure on one of the two releases")
    slack = 0.03 * max(1.0, abs(clean))
    assert (planted >= clean - slack) if measure.better == "lower" else (planted <= clean + slack)


def told_otherwise(name: str, change: Callable[[pl.DataFrame, int], Any]) -> Result:
    """The measure on the same people in tables that were changed; rows that belong together move together."""
    measure = all_measures()[name]
    tables = {"original": table("training"), "released": table("fresh"), "holdout": table("holdout")}
    paired = "row_paired" in measure.needs or name == "record_linkage"
    if name == "delta_presence":
        tables = {"original": pl.concat([table("training"), table("fresh")]), "released": table("fresh")}
    changed_tables = {t: change(frame, 0 if paired else i) for i, (t, frame) in enumerate(tables.items())}
    return measure.run(gh.Pair(**changed_tables, row_paired=paired, **ROLES), **options(measure))


def shuffled(frame: pl.DataFrame, i: int) -> pl.DataFrame:
    return frame.sample(fraction=1.0, shuffle=True, seed=i + 1)


@pytest.mark.parametrize("name", MEASURES)
def test_row_order_does_not_matter(name: str) -> None:
    assert not changed(figures(run(name, "fresh")), figures(told_otherwise(name, shuffled)))


@pytest.mark.parametrize("name", MEASURES)
def test_column_order_does_not_matter(name: str) -> None:
    found = told_otherwise(name, lambda frame, i: frame.select(frame.columns[::-1]))
    assert not changed(figures(run(name, "fresh")), figures(found))


@pytest.mark.parametrize("name", [n for n in MEASURES if all_measures()[n].by_position])
def test_what_goes_by_position_is_all_that_does(name: str) -> None:
    """What a measure declares to follow the order of the rows does so, and nothing else."""
    measure = all_measures()[name]
    columns = {"columns": (["sex", "region"], ["band", "illness"])} if name == "linkability" else {}
    first, second = (
        measure.run(
            gh.Pair(*(change(table(k), i) for i, k in enumerate(("training", "fresh"))),
                    holdout=change(table("holdout"), 2), **ROLES),
            **columns,
        )
        for change in (lambda frame, i: frame, shuffled)
    )  # fmt: skip
    moved = changed(figures(first, by_position=True), figures(second, by_position=True))
    assert {place.rpartition(".")[2] for place in moved} == set(measure.by_position)
    page = (ROOT / "docs" / "reproducible.md").read_text()
    assert all(f"`{detail}`" in page for detail in (name, *measure.by_position))


@pytest.mark.parametrize("name", MEASURES)
def test_relabelling_does_not_matter(name: str) -> None:
    """Other names for the same levels, in the same order, and other column names."""
    measure = all_measures()[name]
    rename = {c: f"{c} (new)" for c in table("training").columns}

    def relabel(frame: pl.DataFrame) -> pl.DataFrame:
        text = [c for c, t in frame.schema.items() if t == pl.String]
        return frame.with_columns(pl.concat_str(pl.lit("«"), pl.col(c), pl.lit("» <x>")).alias(c) for c in text).rename(
            rename
        )

    renamed = gh.Pair(
        relabel(table("training")),
        relabel(table("fresh")),
        holdout=relabel(table("holdout")),
        keys=[rename[k] for k in ROLES["keys"]],
        target=rename[ROLES["target"]],
        row_paired="row_paired" in measure.needs or name == "record_linkage",
    )
    if name == "delta_presence":
        renamed = gh.Pair(
            relabel(pl.concat([table("training"), table("fresh")])),
            relabel(table("fresh")),
            keys=[rename[k] for k in ROLES["keys"]],
        )
    wanted = options(measure)
    if "by" in wanted:
        wanted["by"] = rename[wanted["by"]]
    assert measure.run(renamed, **wanted).value == pytest.approx(run(name, "fresh").value, rel=1e-9)


@pytest.mark.parametrize("name", MEASURES)
def test_frame_library_does_not_matter(name: str, request: pytest.FixtureRequest) -> None:
    convert = converter("pandas", request)
    found = told_otherwise(name, lambda frame, i: convert(frame))
    assert not changed(figures(run(name, "fresh")), figures(found))
    assert found.records is None or type(found.records).__module__.split(".")[0] == "pandas"


@pytest.mark.parametrize("name", MEASURES)
def test_the_engine_does_not_matter(name: str, request: pytest.FixtureRequest) -> None:
    """DuckDB for every measure; lazy polars and Spark are asked for a whole assessment in test_same_answer."""
    convert = converter("duckdb", request)
    assert not changed(figures(run(name, "fresh")), figures(told_otherwise(name, lambda frame, i: convert(frame))))


@pytest.mark.parametrize("name", [n for n in MEASURES if "n_jobs" in all_measures()[n].options])
def test_thread_count_does_not_matter(name: str) -> None:
    measure = all_measures()[name]
    given = (
        pair("fresh").replace(row_paired=True)
        if name == "record_linkage"
        else gh.Pair(table("training"), table("fresh"), holdout=table("holdout"), **ROLES)
    )
    again = measure.run(given, **{**options(measure), "n_jobs": 2})
    assert again.value == run(name, "fresh").value
    assert {k: v for k, v in again.details.items() if k != "n_jobs"} == {
        k: v for k, v in run(name, "fresh").details.items() if k != "n_jobs"
    }


@pytest.mark.parametrize("name", MEASURES)
def test_no_record_value_in_the_external_form(name: str) -> None:
    """Labels of people (here: of the target and keys) never stand in what may be shared."""
    text = json.dumps(run(name, "fresh").to_dict("external"))
    for label in ("gout", "flu"):
        assert label not in text


@pytest.mark.parametrize("name", [n for n in MEASURES if "confidence" in all_measures()[n].options])
@pytest.mark.parametrize("level", [0.0, 1.0, 1.5])
def test_a_level_that_is_none_gives_no_figure(name: str, level: float) -> None:
    measure = all_measures()[name]
    with contextlib.suppress(gh.InputError):
        given = pair("fresh").replace(row_paired=True) if "row_paired" in measure.needs else pair("fresh")
        assert measure(given, **options(measure) | {"confidence": level}).status != "ok"


@pytest.mark.parametrize("name", PAIRED)
def test_arguments_are_not_symmetric_by_accident(name: str) -> None:
    """Swapping original and release changes something: a figure, or the records it speaks of."""
    measure = all_measures()[name]
    if "row_paired" in measure.needs or name in ("delta_presence", "record_linkage"):
        pytest.skip("pairs rows, so the tables must match")
    head = table("training").head(N // 2)
    one = measure.run(gh.Pair(head, table("fresh"), holdout=table("holdout"), **ROLES), **options(measure))
    other = measure.run(gh.Pair(table("fresh"), head, holdout=table("holdout"), **ROLES), **options(measure))
    assert one.to_dict()["settings"]["n_original"] != other.to_dict()["settings"]["n_original"]
    assert (one.value, one.details) != (other.value, other.details)
