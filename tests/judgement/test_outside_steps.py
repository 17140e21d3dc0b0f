"""What the grid is made of: the number of people as it is told, the largest part one of them has, and told parts alone.
Two tables that differ by fewer people than the threshold have the same grid, and few of them stay within one step."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.catalogue import all_measures
from glasshouse.core.evidence import Exposure
from glasshouse.core.outside import NOTHING, Gate, fewest, size
from glasshouse.core.result import Result
from glasshouse.core.told import leak, tell

THRESHOLDS = [3, 5, 10, 30]
SIZES = [*range(1, 1300), *range(1940, 2060), *range(4900, 5100), *range(9900, 10600), 10**5, 10**6]


# -- steps -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("influence", ["share", "root"])
def test_the_step_follows_the_number_that_is_told(threshold: int, influence: Any) -> None:
    """Whoever sees the step learns nothing about the size that the report does not tell, and few people are less than
    one step in every table."""
    gate = Gate(threshold)
    steps: dict[int, set[float | None]] = {}
    for n in SIZES:
        step = gate.step(n, influence)
        steps.setdefault(size(n), set()).add(step)
        assert step is None or n >= 2 * threshold
        if step is not None:
            few = (threshold - 1) / n
            assert (few if influence == "share" else few**0.5) < step, n
    assert all(len(found) == 1 for found in steps.values())


def test_the_fewest_of_a_told_size() -> None:
    told: dict[int, int] = {}
    for n in range(1, 20000):
        told.setdefault(size(n), n)
    for one, least in list(told.items())[:-1]:
        assert least - 1 <= fewest(one) <= least, one
    assert fewest(0) == 0


def test_a_number_below_nobody_stays_below() -> None:
    for x in (0, 3, 20, 76, 150, 1234.5):
        assert size(-x) == -size(x)


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_ends_of_scales_tell_no_few_people(threshold: int) -> None:
    gate = Gate(threshold)
    for n in [*range(1, 300), 400, 999, 1000, 1001, 5000]:
        for few in ([k / n for k in range(threshold)], [1 - k / n for k in range(threshold)]):
            assert len({gate.gap(share, n) for share in few if 0 <= share <= 1}) == 1, n
        for share in np.linspace(0, 1, 41):
            ahead, back = gate.gap(share, n), gate.gap(-share, n)
            assert (ahead is None and back is None) or ahead == -(back or 0.0)


@pytest.mark.parametrize("influence", ["share", "root"])
def test_chance_is_told_as_chance(influence: Any) -> None:
    """An AUC of one half is one half whatever the step, and one as far above it is told as far above."""
    gate = Gate(5)
    for n in [20, 60, 124, 125, 200, 300, 499, 500, 900, 10**4]:
        if gate.bounded(0.5, n, influence=influence) is NOTHING:
            continue
        assert gate.bounded(0.5, n, influence=influence, centre=0.5).value == 0.5
        step = gate.step(n, influence) or 0.0
        for v in np.linspace(0.0, 0.5, 203):
            low, high = (gate.bounded(x, n, influence=influence, centre=0.5) for x in (v, 1 - v))
            assert (low.near or 0.0) + (high.near or 0.0) == pytest.approx(1)
            assert low.value is None or (step <= low.value + 1e-9 and abs(low.value - v) <= step)
    measures = [m for m in all_measures().values() if m.chance == 0.5 and m.influence != "free"]
    assert measures
    for measure in measures:
        found = Result(0.5, baseline=0.5, of=300, of_holdout=300)._copy(name=measure.name, measure=measure)
        told = found.to_dict("external")
        assert (told["value"], told["excess"]) == (0.5, 0.0)


# -- denominators ------------------------------------------------------------------------------------------------------


def people(n: int, seed: int, **more: Any) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "region": rng.choice(list("ABC"), n),
            "sex": rng.choice(["w", "m"], n),
            "income": rng.normal(5000, 900, n).round(0),
            "ill": rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1]),
            **more,
        }
    )


SCHEMA: Any = {"region": "categorical", "sex": "categorical", "ill": "categorical", "income": "numeric"}
MEASURES = ["outliers", "kolmogorov_smirnov", "total_variation", "missingness", "hellinger", "contingency_fidelity"]
MEASURES += ["disco", "cap", "exact_copies", "uniques", "rare_agreement"]


def fields(item: Any, path: str = "") -> dict[str, Any]:
    """Every leaf of some content by its path, sentences aside: they say the same figures again."""
    if isinstance(item, dict):
        return {p: v for k, one in item.items() if k != "sentence" for p, v in fields(one, f"{path}/{k}").items()}
    if isinstance(item, list):
        return {p: v for i, one in enumerate(item) for p, v in fields(one, f"{path}/{i}").items()}
    return {path: item}


def moved(one: Any, other: Any) -> list[str]:
    a, b = fields(one), fields(other)
    return sorted(path for path in {*a, *b} if a.get(path, "absent") != b.get(path, "absent"))


DECISIONS = re.compile("status|verdict|judgement|comparison|headline|p_value|p_shown|decided_by|worst|recommendations")


def same_grid(one: Any, other: Any, most: int = 2) -> None:
    """Bounds that both tell are the same bounds, and no more than a few measures lay so close to an edge that they
    moved over it; decisions rest on exact figures."""
    a, b = fields(one), fields(other)
    paths = [p for p in moved(one, other) if not DECISIONS.search(p)]
    bounds = [p for p in paths if p.endswith("shown") and a.get(p) is not None and b.get(p) is not None]
    assert not bounds, [(p, a[p], b[p]) for p in bounds]
    assert not [p for p in paths if not p.startswith("/results/")], paths
    assert len({p.split("/")[2] for p in paths}) <= most, paths


def report(original: pl.DataFrame, released: pl.DataFrame, holdout: pl.DataFrame, least: int = 5, **given: Any) -> Any:
    roles = {"keys": ["region", "sex"], "target": "ill", "schema": SCHEMA, **given}
    policy = gh.Policy.from_dict({"name": "own", "min_count": least, "leak": {}})
    pair = gh.Pair(original, released, holdout=holdout, **roles)
    return gh.assess(pair, measures=MEASURES, policy=policy, progress=False)


@pytest.mark.parametrize("n", [250, 1000])
def test_the_grid_of_one_person_less_is_the_same(n: int) -> None:
    """Round numbers, where the threshold over n is a step itself: figures may move over an edge, bounds do not."""
    original, released, holdout = (people(n, seed) for seed in (1, 3, 2))
    whole = report(original, released, holdout).content("external")
    worlds = [original[:-1], original[:-4]]
    worlds += [
        original.with_columns(income=pl.when(pl.int_range(n) < k).then(None).otherwise("income")) for k in (1, 4)
    ]
    for world in worlds:
        same_grid(whole, report(world, released, holdout).content("external"))


# -- one person's part -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_nobody_has_more_of_any_records_than_the_bound(seed: int) -> None:
    """By construction: in every subset of a table the largest share of one person, of records and of weight, is at most
    one over the number of people it is said to be worth."""
    rng = np.random.default_rng(seed)
    n = 120
    each = np.exp(rng.normal(0, 1.2, n)) if seed % 3 else np.ones(n)
    own = np.where(rng.random(n) < 0.1, None, (rng.pareto(1.0, n) * 3).astype(int).astype(str))
    table = people(n, seed, w=each, person=own.tolist())
    asked = [{"weights": "w"}, {"cluster": "person"}, {"weights": "w", "cluster": "person"}]
    for given in asked:
        pair = gh.Pair(table, people(n, 9, w=np.ones(n), person=[f"s{i}" for i in range(n)]), **given)
        ids = np.array([str(i) if p is None or "cluster" not in given else f"p{p}" for i, p in enumerate(own)])
        weights = [np.ones(n)] + ([each] if "weights" in given else [])
        for among in (n, n - 1, 90, 40, 11):
            bound = pair.people("original", among)
            heavy = np.argsort(-each if "weights" in given else rng.random(n))
            subsets = [rng.permutation(n)[:among] for _ in range(30)]
            subsets.append(np.concatenate([heavy[:1], heavy[::-1]])[:among])  # the heaviest among the lightest
            for rows, w in itertools.product(subsets, weights):
                _, at = np.unique(ids[rows], return_inverse=True)
                assert np.bincount(at, w[rows]).max() / w[rows].sum() <= 1 / bound * (1 + 1e-9)
    plain = gh.Pair(table.drop("w", "person"), table.drop("w", "person"))
    assert plain.people() == n and plain.people("original", 7.9) == 7


def clustered(seed: int, tag: str, heavy: int, n: int = 950) -> pl.DataFrame:
    ids = [f"{tag}{i}" for i in range(n)] + [f"{tag}X"] * heavy
    return people(n + heavy, seed, person=ids)


@pytest.mark.parametrize("least", [3, 5, 10])
@pytest.mark.parametrize("heavy", [10, 50])
def test_somebody_with_many_records_is_one_person(heavy: int, least: int) -> None:
    """Nobody and one person who has 1 or 5 percent of the records: a gap in all of them is not told."""
    original, holdout, released = clustered(1, "o", heavy), clustered(2, "h", heavy), clustered(3, "s", 0, 950 + heavy)
    gap = original.with_columns(income=pl.when(pl.col("person") == "oX").then(None).otherwise("income"))
    told = [report(o, released, holdout, least, cluster="person").content("external") for o in (original, gap)]
    same_grid(*told)


@pytest.mark.parametrize("least", [3, 5, 10])
@pytest.mark.parametrize("part", [0.01, 0.05])
def test_somebody_with_much_weight_is_one_person(part: float, least: int) -> None:
    n = 1000
    weights = pl.Series("w", [n * part, *[1.0] * (n - 1)])
    released, holdout = people(n, 3, w=np.ones(n)), people(n, 2).with_columns(weights)
    told = []
    for ill, income in (("a", 5000.0), ("c", 5000.0), ("a", None)):
        original = people(n, 1).with_columns(weights)
        original[0, "ill"], original[0, "income"] = ill, income
        told.append(report(original, released, holdout, least, weights="w").content("external"))
    for other in told[1:]:
        same_grid(told[0], other)
        assert part < 0.05 or not moved(told[0], other)


# -- judgements of the original alone ----------------------------------------------------------------------------------


def with_class_of(k: int) -> pl.DataFrame:
    """A smallest class of k people."""
    table = people(300, 1)
    return table.with_columns(region=pl.Series(["Q"] * k + table["region"].to_list()[k:]), sex=pl.lit("w"))


@pytest.mark.parametrize("name", [n for n, m in all_measures().items() if m.table == "single"])
def test_which_limit_the_original_breaks_is_not_told(name: str) -> None:
    measure = all_measures()[name]
    worlds = [gh.Pair(with_class_of(k), people(300, 3), keys=["region", "sex"], target="ill") for k in (0, 1, 2, 4, 5)]
    own = {json.dumps(measure.run(pair, table="original").to_dict("external")) for pair in worlds}
    assert len(own) == 1 and '"verdict": null' in own.pop()
    asked = {"measures": [name], "options": {name: {"table": "original"}}, "progress": False}
    found = [gh.assess(pair, **asked).content("external") for pair in worlds]
    assert len({json.dumps([c["results"], c["recommendations"]]) for c in found}) == 1
    assert found[1]["results"][name]["judgement"] == "no_limit"


def test_of_the_release_alone_the_limit_is_told() -> None:
    pair = gh.Pair(people(300, 3), with_class_of(1), keys=["region", "sex"], target="ill")
    assert gh.disclosure.k_anonymity(pair).to_dict("external")["verdict"] == "fail"


# -- people more than expected -----------------------------------------------------------------------------------------


def test_fewer_than_expected_are_not_more() -> None:
    """Strangers are exposed more often than members: nobody says that some are exposed."""
    n = 600
    released, strangers = people(n, 3), people(n, 2)
    strangers = strangers.with_columns(ill=pl.lit("a"))
    found = report(people(n, 1), released.with_columns(ill=pl.lit("a")), strangers)
    content = found.content("external")
    assert (found.content()["people"]["beyond"] or 0) < -10 and content["people"]["beyond"] < 0
    assert "No more people than expected" in found.to_html(audience="external")


# -- members minus strangers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n, m in all_measures().items() if m.influence == "root" and m.range == (0, 1)])
def test_what_few_people_move_far_has_wider_steps_in_everything_made_of_it(name: str) -> None:
    """Members exposed, strangers exposed and their difference have the step of the figure itself, here and on a map."""
    gate, measure, n = Gate(5), all_measures()[name], 300
    step = gate.step(n, "root") or 0.0
    for share, strangers in itertools.product(np.linspace(-0.3, 0.6, 19), (0.0, 0.13, 0.31)):
        seen = Exposure(float(share), (share - 0.05, share + 0.05), strangers, n, n)
        given = {"holdout": strangers, "difference": float(share), "exposure": seen, "of": n, "of_holdout": n}
        found = Result(float(np.clip(share + strangers, 0, 1)), **given)._copy(name=name, measure=measure)
        told = tell(found, gate)
        figures = [told.difference, leak(found, gate).near, gate.gap(share, n, "root")]
        figures += [] if told.exposure is None else [told.exposure.share, told.exposure.strangers]
        for figure in figures:
            near = None if figure is None else figure / step
            assert near is None or near == pytest.approx(round(near)) or measure.chance is not None


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("influence", ["share", "root"])
def test_few_without_a_value_change_no_step_and_stay_within_it(threshold: int, influence: Any) -> None:
    gate = Gate(threshold)
    for n in SIZES:
        for lacking in {1, threshold - 1, int(0.1 * n)}:
            behind = gate.settled(n - lacking, n)
            assert behind == n
            step = gate.step(behind, influence)
            few = (threshold - 1) / (n - lacking) if n > lacking else 1.0
            assert step is None or (few if influence == "share" else few**0.5) < step, (n, lacking)
        assert gate.settled(n - max(threshold, int(0.1 * n) + 1), n) < n, "many without a value are behind no figure"


@pytest.mark.parametrize("n", [95, 126, 246])
@pytest.mark.parametrize("column", ["pay", "sex", "ill"])
def test_one_missing_value_beside_an_edge_of_rounding_moves_nothing(n: int, column: str) -> None:
    """126 people are told as 130 and 125 as 120: the step follows the table, not those who have a value."""

    def table(seed: int, size: int) -> pl.DataFrame:
        rng = np.random.default_rng(seed)
        return pl.DataFrame(
            {
                "region": rng.choice(list("ABC"), size),
                "sex": rng.choice(["w", "m"], size),
                "pay": rng.normal(5000, 900, size).round(),
                "ill": rng.choice(["a", "b"], size),
            }
        )

    original, released, holdout = table(1, n), table(3, 300), table(2, 300)
    measures = ["kolmogorov_smirnov", "hellinger", "association", "total_variation", "disco", "cap", "exact_copies"]

    def told(one: pl.DataFrame) -> dict[str, Any]:
        pair = gh.Pair(one, released, keys=["region", "sex"], target="ill", holdout=holdout, schema={"pay": "numeric"})
        content = gh.assess(pair, measures=measures).content("external")
        return {name: (found["value"], found["shown"]) for name, found in content["results"].items()}

    without = original.with_columns(
        pl.when(pl.Series(np.arange(n) > 0)).then(pl.col(column)).otherwise(None).alias(column)
    )
    assert told(without) == told(original)
