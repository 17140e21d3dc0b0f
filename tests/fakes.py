"""Small measures with known figures, registered for one test and forgotten after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

from glasshouse.core import measure as registry
from glasshouse.core.errors import NotApplicable
from glasshouse.core.limits import Limit
from glasshouse.core.measure import measure
from glasshouse.core.result import Result
from glasshouse.core.streams import generator


@pytest.fixture
def only_fakes() -> Iterator[dict[str, Any]]:
    """An empty registry; what a test registers is gone afterwards."""
    from glasshouse.catalogue import all_measures

    all_measures()
    before = dict(registry._registry)
    registry._registry.clear()
    yield registry._registry
    registry._registry.clear()
    registry._registry.update(before)


def fake(
    name: str,
    threat: str | None = "attribute",
    value: float | None = 0.1,
    *,
    baseline: float | None = None,
    interval: tuple[float, float] | None = None,
    limit: Limit | None = None,
    error: Exception | None = None,
    missing: str | None = None,
    side: str = "disclosure",
    needs: tuple[str, ...] = (),
    group: str = "",
    table: str = "pair",
    family: str = "fake",
    better: str = "lower",
    sentence: str = "A fake sentence.",
    random: bool = False,
    details: dict[str, Any] | None = None,
    flag: bool = False,
    evidence: dict[str, Any] | None = None,
    **declared: Any,
) -> Any:
    limit = limit or Limit("value", warn=0.05, fail=0.20)

    def compute(pair: Any) -> Result:
        if error is not None:
            raise error
        if missing is not None:
            raise NotApplicable(missing)
        records = (lambda: {"at_risk": np.arange(pair.n("original")) % 4 == 0}) if flag else None
        return Result(
            value=value,
            baseline=baseline,
            interval=interval,
            sentence=sentence,
            details=details,
            records=records,
            flag="at_risk" if flag else None,
            **(evidence or {}),
        )

    if random:

        def function(pair: Any, *, random_state: int | None = 0, n_jobs: int | None = None) -> Result:
            return Result(value=float(generator(random_state, name).random()), sentence=sentence)
    elif table == "single":

        def function(pair: Any, *, table: str = "released") -> Result:
            return compute(pair)
    else:

        def function(pair: Any) -> Result:
            return compute(pair)

    function.__name__ = name
    function.__doc__ = f"The fake {name}.\n\nA figure made up for a test."
    return measure(
        side=side,
        family=family,
        threat=threat,
        better=better,
        cite="Nobody (2026)",
        limit=limit,
        needs=needs,
        group=group or name,
        table=table,
        **declared,  # type: ignore[arg-type]
    )(function)


def four_threats(**statuses: str) -> None:
    """One measure per threat with the wanted status."""
    figures = {"pass": 0.01, "warn": 0.1, "fail": 0.5}
    for threat in ("identity", "attribute", "membership", "copying"):
        status = statuses.get(threat, "pass")
        if status == "not_assessed":
            fake(f"{threat}_measure", threat, missing=f"{threat}_measure needs a holdout: records never seen")
        else:
            fake(f"{threat}_measure", threat, figures[status])


def tables(n: int = 60, seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    rng = np.random.default_rng(seed)

    def one() -> pl.DataFrame:
        return pl.DataFrame(
            {
                "age": rng.integers(20, 60, n),
                "sex": rng.choice(["female", "male"], n),
                "region": rng.choice(["north", "south", "east"], n),
                "income": rng.choice(["low", "middle", "high"], n),
            }
        )

    return one(), one()
