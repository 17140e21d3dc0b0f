"""Every measure on bundled data, once: the figures and the charts that the pages of the site show."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import polars as pl

import glasshouse as gh
from glasshouse.catalogue import all_measures
from glasshouse.core.charts import kinds
from glasshouse.core.result import Result
from glasshouse.show.report.drawing import svg_of

LARGEST = 200_000  # bytes of a picture; beyond it the page would be slow, and the chart is named and not drawn


@dataclass(frozen=True)
class Case:
    """A pair to try a measure on, in words and as the lines that make it."""

    words: str
    lines: str
    options: str = ""

    @property
    def call(self) -> str:
        return f", {self.options}" if self.options else ""


USUAL = Case(
    "the bundled health example",
    'pair = gh.data.load("health").pair()',
)
# measures that ask for something else than a synthetic release with a holdout
OTHERS = {
    "weights": Case(
        "the bundled health example, each person standing for twenty",
        """import polars as pl

health = gh.data.load("health")
tables = [t.with_columns(weight=pl.lit(20.0)) for t in (health.original, health.released, health.holdout)]
pair = gh.Pair(tables[0], tables[1], holdout=tables[2], keys=health.keys, target=health.target, weights="weight")""",
    ),
    "row_paired": Case(
        "the bundled health people, their ages and incomes with a little noise",
        """health = gh.data.load("health")
noisy = gh.protection.add_noise(health.original, ["age", "income"], scale=0.2)
pair = gh.Pair(health.original, noisy, keys=health.keys, target=health.target, row_paired=True)""",
    ),
    "record_linkage": Case(
        "the bundled health people, their ages and incomes with a little noise",
        """health = gh.data.load("health")
noisy = gh.protection.add_noise(health.original, ["age", "income"], scale=0.2)
pair = gh.Pair(health.original, noisy, keys=health.keys, target=health.target, row_paired=True)""",
    ),
    "delta_presence": Case(
        "every second person of the bundled health example as the release",
        """health = gh.data.load("health")
keys = ["gender", "education"]
pair = gh.Pair(health.original, health.original[::2], keys=keys, target=health.target)""",
    ),
    "population_uniqueness": Case(
        "the bundled health example, taken for a sample of one in ten",
        'pair = gh.data.load("health").pair()',
        "sampling_fraction=0.1",
    ),
    "shared_identifiers": Case(
        "the bundled health example, its records with a number that looks like that of a patient",
        """import polars as pl

health = gh.data.load("health")
numbers = pl.Series("patient", [f"P{1_000_003 * i % 9_999_991:07d}" for i in range(1_500)])
original = health.original.with_columns(numbers[:1000])
released = health.released.with_columns(numbers[500:])
holdout = health.holdout.with_columns(numbers[1000:])
pair = gh.Pair(original, released, holdout=holdout, keys=health.keys, target=health.target)""",
    ),
}


def case_of(name: str) -> Case:
    """What a measure is tried on."""
    if name in OTHERS:
        return OTHERS[name]
    needs = all_measures()[name].needs
    return next((OTHERS[need] for need in needs if need in OTHERS), USUAL)


@cache
def _pair(lines: str) -> Any:
    names: dict[str, Any] = {"gh": gh, "pl": pl}
    exec(lines, names)
    return names["pair"]


@cache
def result_of(name: str) -> Result:
    """The measure on its case."""
    case = case_of(name)
    options = eval(f"dict({case.options})")
    return all_measures()[name](_pair(case.lines), **options)  # type: ignore[no-any-return]


def drawn(thing: Any, kind: str | None = None) -> str:
    """A chart as SVG; "" where it is too large for a page."""
    found = svg_of(thing.plot(kind))
    return found if len(found) <= LARGEST else ""


def charts(name: str) -> dict[str, str]:
    """By kind, every chart of a measure as SVG; the generic one where it has none of its own."""
    return {kind or "figures": drawn(result_of(name), kind) for kind in (kinds(name) or [None])}
