"""Executors of a local Spark session: the same neighbours, the same forest, the same assessment."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.engines import devices
from glasshouse.engines.distributed.neighbours import Prepared
from glasshouse.engines.models.forest import forest
from glasshouse.engines.neighbours import cpu
from glasshouse.engines.neighbours.encoding import RULES
from glasshouse.engines.neighbours.gower import gower_space
from tests.sameness import figures

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def people(seed: int, n: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "x": pl.Series(np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n).round(1))).fill_nan(None),
            "c": pl.Series(["a", "b", "c", None]).gather(rng.integers(0, 4, n)),
            "k": rng.integers(0, 5, n),
            "t": rng.choice(["no", "yes"], n),
        }
    )


@pytest.fixture
def pair() -> gh.Pair:
    return gh.Pair(people(1, 300), people(2, 260), holdout=people(3, 280), keys=["x", "c", "k"], target="t")


@pytest.fixture
def everything_there(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """No job is too small for the executors; which were done there is noted."""
    from glasshouse.engines.distributed import jobs

    monkeypatch.setattr(devices, "LEAST_PAIRS", 0)
    monkeypatch.setattr(devices, "LEAST_FOREST", 0)
    done: list[str] = []
    spread = jobs.spread

    def noted(session: Any, work: Any, *rest: Any) -> Any:
        done.append(work.__name__)
        return spread(session, work, *rest)

    monkeypatch.setattr(jobs, "spread", noted)
    return done


@pytest.mark.parametrize("rule", RULES)
def test_neighbours_are_those_of_the_processor_bit_for_bit(rule: str, pair: gh.Pair, spark: Any) -> None:
    """Several blocks, ties across them, copies, and a table searched in itself."""
    space = gower_space(pair, missing=rule)
    original, released = space.rows("original"), space.rows("released")
    here, there = cpu.prepare(space.encoded, original), Prepared(space.encoded, original, spark, block=64)
    for query, self_join in ((released, False), (original, True)):
        for k in (1, 3):
            one, other = here.nearest(query, k, self_join), there.nearest(query, k, self_join)
            assert (one.distance == other.distance).all() and (one.row == other.row).all()
        radius = one.distance[:, -1]
        assert (here.within(query, radius, self_join) == there.within(query, radius, self_join)).all()
        for a, b in zip(here.listed(query, radius), there.listed(query, radius), strict=True):
            assert (a == b).all()


@pytest.mark.parametrize("classes", [2, 3, None])
@pytest.mark.parametrize("keep", [True, False])
def test_a_forest_is_the_same_tree_by_tree(classes: int | None, keep: bool, spark: Any, everything_there: Any) -> None:
    rng = np.random.default_rng(5)
    codes = np.column_stack([rng.integers(0, m, 400) for m in (3, 7, 20)])
    y = rng.normal(size=400) if classes is None else rng.integers(0, classes, 400)
    given: dict[str, Any] = {
        "n_classes": classes, "numeric": [False, False, True], "values": [None, None, np.arange(20) ** 1.5],
        "n_levels": [3, 7, 20], "trees": 40, "seed": 3, "score": [codes[:250], codes[100:]], "keep": keep,
    }  # fmt: skip
    here = forest.grow(codes, y, **given)
    assert not everything_there
    with gh.device("spark"):
        there = forest.grow(codes, y, **given)
    assert {"_grown", "_scored"} <= set(everything_there)
    assert (here.importance == there.importance).all()
    assert all((a == b).all() for a, b in zip(here.predictions, there.predictions, strict=True))
    assert len(here.trees) == len(there.trees) == (40 if keep else 0)
    assert all((a.nodes == b.nodes).all() for a, b in zip(here.trees, there.trees, strict=True))


def test_a_whole_assessment_is_the_same_on_executors(pair: gh.Pair, spark: Any, everything_there: Any) -> None:
    asked: dict[str, Any] = {
        "measures": ["dcr", "rapid", "pmse"],
        "options": {"rapid": {"trees": 20}, "pmse": {"model": "forest", "trees": 10, "n_perm": 1}},
    }
    here = gh.assess(pair, **asked)
    assert not everything_there
    there = gh.assess(pair.replace(keys=["x", "c"]).replace(keys=["x", "c", "k"]), device="spark", **asked)
    assert {"_nearest", "_grown", "_scored"} <= set(everything_there)
    assert {n: figures(r) for n, r in here.results.items()} == {n: figures(r) for n, r in there.results.items()}


@pytest.mark.parametrize("classes", [3, None])
def test_a_tree_grown_by_an_executor_is_the_same(classes: int | None, spark: Any, everything_there: Any) -> None:
    from glasshouse.engines.models.tree import tree

    rng = np.random.default_rng(6)
    codes = np.column_stack([rng.integers(0, m, 300) for m in (3, 9)])
    y = codes.sum(axis=1) % 3 if classes else codes.sum(axis=1) + rng.normal(size=300)
    given: dict[str, Any] = {
        "n_classes": classes, "ordered": [False, True], "values": [None, np.arange(9.0)], "n_levels": [3, 9]
    }  # fmt: skip
    here = tree.grow(codes, y, **given)
    with gh.device("spark"):
        there = tree.grow(codes, y, **given)
    assert everything_there == ["_grown_tree"]
    assert (here.nodes == there.nodes).all() and (here.predict(codes) == there.predict(codes)).all()
    assert here.n_leaves > 1


def test_boosting_on_executors_is_asked_for_and_says_so(pair: gh.Pair, spark: Any, everything_there: Any) -> None:
    """Parts of a histogram are added in another order: close, and never chosen in silence."""
    pytest.importorskip("xgboost", reason="xgboost is not installed (extra: gbm)")
    from glasshouse.engines.models.design import design
    from glasshouse.engines.models.model import fit

    table, y = design(pair, ("x", "c", "k"), "released", numeric_key_na="median+flag"), pair.codes("t").of("released")
    here = fit("gbm", table, y, n_classes=2, rounds=10)
    with gh.device("spark"):
        there = fit("gbm", table, y, n_classes=2, rounds=10)
    assert not here.notes and "xgboost.spark" in there.notes[0]
    assert np.abs(here.probabilities(table) - there.probabilities(table)).max() < 0.01
    assert there.importance() == pytest.approx(here.importance(), abs=0.02)


def test_a_cluster_is_chosen_by_itself_only_for_large_jobs_on_spark_frames_and_where_it_is_wider(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "_missing", lambda name: "no card")
    with devices.home("pyspark"):
        assert devices.chosen(10**12) == "cpu"  # one local core
        monkeypatch.setattr(devices.os, "cpu_count", lambda: 0.5)
        assert devices.chosen(10**12) == "spark" and devices.trees_on_spark(10**9)
        assert devices.chosen(10**6) == "cpu" and not devices.trees_on_spark(10**5)
        with gh.device("cpu"):
            assert devices.chosen(10**12) == "cpu" and not devices.trees_on_spark(10**9)
    assert devices.chosen(10**12) == "cpu" and not devices.trees_on_spark(10**9)  # tables in memory stay here


def test_what_fails_on_executors_is_said_without_a_value(spark: Any) -> None:
    from glasshouse.engines.distributed import jobs

    shared = jobs.broadcast(spark, None)
    with pytest.raises(gh.InputError, match=r"executors could not do their part.*device='cpu'") as told:
        jobs.spread(spark, _failing, shared, [1, 2])
    assert "secret" not in str(told.value)


def test_a_session_that_cannot_broadcast_is_told_so() -> None:
    """As one of Spark Connect."""
    from glasshouse.engines.distributed import jobs

    with pytest.raises(gh.InputError, match="cannot broadcast to its executors"):
        jobs.broadcast(object(), None)


def _failing(shared: Any, part: int) -> int:
    raise ValueError("secret")
