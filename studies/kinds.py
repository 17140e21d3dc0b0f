"""Twelve kinds of data to calibrate verdicts on: two real surveys and ten simulated populations.

Every kind is a population with stated keys, target and (for households and panels) the column that names the cluster.
``worlds`` draws an original, a release and a holdout from it that share nobody: the release is then clean by
construction, as good as any synthesiser could make it and with nothing in it about anybody of the original.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

Frame = pl.DataFrame
Rng = np.random.Generator
SHARED = Path(os.environ.get("GLASSHOUSE_SHARED", Path(__file__).resolve().parents[2] / "shared"))


class Missing(Exception):
    """Data that cannot be committed are not on this machine."""


@dataclass(frozen=True)
class Kind:
    """A kind of data: how to draw people, and the roles of the columns.

    ``draw(units, rng)`` gives that many people; with ``cluster``, that many households or panel members of
    ``rows_per_unit`` rows on average. ``distinctive``: hardly two people have the same record.
    """

    name: str
    draw: Callable[[int, Rng], Frame]
    keys: tuple[str, ...]
    target: str
    words: str
    cluster: str | None = None
    rows_per_unit: float = 1.0
    distinctive: bool = True

    def units(self, n: int) -> int:
        """People or clusters that give about ``n`` records."""
        return max(1, round(n / self.rows_per_unit))


@dataclass(frozen=True)
class World:
    """One original, its release, and people of the same population who are in neither (None: no holdout)."""

    kind: Kind
    original: Frame
    released: Frame
    holdout: Frame | None

    def pair(self):  # type: ignore[no-untyped-def]
        """The same as a glasshouse Pair."""
        import glasshouse as gh

        return gh.Pair(
            self.original,
            self.released,
            holdout=self.holdout,
            keys=list(self.kind.keys),
            target=self.kind.target,
            cluster=self.kind.cluster,
        )

    def but(self, **changes: Frame | Kind | None) -> World:
        """A changed copy."""
        return replace(self, **changes)


def world(kind: Kind, n: int, rng: Rng, holdout: float = 1.0) -> World:
    """A clean release: three draws of one population that share nobody, each of about ``n`` records.

    The number of people (or clusters) is fixed, so that labels are exchangeable exactly. ``holdout`` is the size of the
    holdout relative to the original.
    """
    units = kind.units(n)
    sizes = (units, units, max(1, round(holdout * units)))
    everybody = kind.draw(sum(sizes), rng)
    if kind.cluster is None:
        place = np.arange(everybody.height)
    else:
        place = everybody[kind.cluster].rank("dense").to_numpy().astype(int) - 1
    ends = np.cumsum(sizes)
    parts = [
        everybody.filter(pl.Series((place >= end - size) & (place < end)))
        for size, end in zip(sizes, ends, strict=True)
    ]
    return World(kind, *parts)


# -- real people -----------------------------------------------------------------------------------------------------


@cache
def _table(folder: str, names: tuple[str, ...]) -> Frame:
    paths = [SHARED / "data" / folder / name for name in names]
    if not all(path.is_file() for path in paths):
        raise Missing(f"third-party data in shared/data/{folder} are not here; they cannot be committed")
    return pl.concat([pl.read_csv(path, infer_schema_length=None) for path in paths], how="vertical_relaxed")


def _some(table: Frame, units: int, rng: Rng) -> Frame:
    if units > table.height:
        raise Missing(f"{units:,} people are asked for and the file has {table.height:,}")
    return table[rng.permutation(table.height)[:units]]


def adult(units: int, rng: Rng) -> Frame:
    """UCI Adult, training and test part together."""
    return _some(_table("adult", ("adult_train.csv.gz", "adult_holdout.csv.gz")), units, rng)


def sd2011(units: int, rng: Rng) -> Frame:
    """Polish survey of living conditions, nine columns, with missing values."""
    return _some(_table("sd2011", ("sd2011_9.csv.gz",)), units, rng)


# -- simulated people ------------------------------------------------------------------------------------------------


def _pick(rng: Rng, n: int, labels: str, weights: tuple[float, ...] | None = None) -> np.ndarray:
    levels = np.array(labels.split())
    share = None if weights is None else np.array(weights) / sum(weights)
    return rng.choice(levels, n, p=share)


def _cut(score: np.ndarray, at: tuple[float, ...], labels: str) -> np.ndarray:
    return np.array(labels.split())[np.searchsorted(np.array(at), score)]


def weak(n: int, rng: Rng) -> Frame:
    """Mixed columns that have little to do with each other."""
    health = rng.normal(size=n)
    return Frame(
        {
            "age": rng.integers(18, 90, n),
            "sex": _pick(rng, n, "f m"),
            "region": _pick(rng, n, "north east south west centre coast"),
            "income": np.round(np.exp(10 + 0.5 * rng.normal(size=n)), -1),
            "visits": rng.poisson(3, n),
            "pressure": np.round(120 + 15 * rng.normal(size=n), 1),
            "ill": np.where(0.4 * health + rng.normal(size=n) > 0.8, "yes", "no"),
        }
    )


def strong(n: int, rng: Rng) -> Frame:
    """Mixed columns that follow closely from two hidden traits: much can be inferred about anybody."""
    wealth, health = rng.normal(size=(2, n))
    return Frame(
        {
            "age": np.round(50 - 12 * health + 4 * rng.normal(size=n)).clip(18, 95).astype(int),
            "school": _cut(wealth + 0.3 * rng.normal(size=n), (-0.7, 0.2, 1.1), "none basic upper degree"),
            "job": _cut(wealth + 0.3 * rng.normal(size=n), (-1, -0.3, 0.4, 1.2), "out manual clerk skilled manager"),
            "income": np.round(np.exp(10 + 0.6 * wealth + 0.1 * rng.normal(size=n)), -1),
            "rent": np.round(np.exp(6.5 + 0.4 * wealth + 0.1 * rng.normal(size=n)), 0),
            "pressure": np.round(130 - 14 * health + 4 * rng.normal(size=n), 0),
            "ill": np.where(health + 0.3 * rng.normal(size=n) < -0.8, "yes", "no"),
        }
    )


def rare(n: int, rng: Rng) -> Frame:
    """Skewed numbers and rare levels: a few people stand far out."""
    wealth = rng.normal(size=n)
    codes = np.minimum(rng.geometric(0.25, n), 30)
    return Frame(
        {
            "area": np.char.add("a", np.minimum(rng.zipf(1.7, n), 60).astype(str)),
            "diagnosis": np.char.add("d", codes.astype(str)),
            "sex": _pick(rng, n, "f m"),
            "income": np.round(np.exp(9.5 + 1.2 * wealth), 0),
            "debt": np.where(rng.random(n) < 0.7, 0.0, np.round(np.exp(8 + 1.5 * rng.normal(size=n)), 0)),
            "stay": np.round(rng.exponential(4, n) ** 1.5, 0),
            "outcome": _cut(0.5 * wealth + rng.normal(size=n), (-1.2, 1.6), "bad fair good"),
        }
    )


def categorical(n: int, rng: Rng) -> Frame:
    """Eight questions with three to nine answers, moderately related."""
    trait = rng.normal(size=n)
    answers = {}
    for i, levels in enumerate((9, 7, 6, 5, 5, 4, 4)):
        score = 0.6 * trait + rng.normal(size=n)
        answers[f"q{i + 1}"] = np.char.add("v", np.searchsorted(np.linspace(-1.8, 1.8, levels - 1), score).astype(str))
    return Frame({**answers, "vote": _cut(trait + rng.normal(size=n), (-0.8, 0.8), "left middle right")})


def numeric(n: int, rng: Rng) -> Frame:
    """Seven continuous measurements; no two people share a value."""
    base = rng.normal(size=(n, 2))
    load = np.array([[1, 0.2], [0.8, -0.3], [0.5, 0.5], [0.1, 1], [-0.4, 0.8], [0.3, 0.3], [0.6, -0.6]])
    values = base @ load.T + 0.7 * rng.normal(size=(n, 7))
    values[:, 1] = np.exp(values[:, 1])
    values[:, 4] = values[:, 4] ** 3
    return Frame({f"x{i + 1}": values[:, i] for i in range(7)})


def coarse(n: int, rng: Rng) -> Frame:
    """Four questions with two to four answers: a few dozen different records, so copies cannot be told from twins."""
    trait = rng.normal(size=n)
    return Frame(
        {
            "sex": _pick(rng, n, "f m"),
            "agegroup": _pick(rng, n, "young middle old", (3, 4, 3)),
            "school": _cut(trait + rng.normal(size=n), (-1, 0, 1.2), "none basic upper degree"),
            "smokes": np.where(0.5 * trait + rng.normal(size=n) > 0.8, "yes", "no"),
        }
    )


def holes(n: int, rng: Rng) -> Frame:
    """Numbers with values missing: a tenth to a third of each, more often where another number is high."""
    base = rng.normal(size=n)
    found = {"age": np.round(50 + 15 * rng.normal(size=n), 0), "sex": _pick(rng, n, "f m")}
    for i, share in enumerate((0.1, 0.2, 0.3)):
        value = np.round(100 + 10 * (0.7 * base + rng.normal(size=n)), 1)
        gone = rng.random(n) < share * np.where(base > 0, 1.5, 0.5)
        found[f"lab{i + 1}"] = np.where(gone, np.nan, value)
    found["grade"] = _cut(base + rng.normal(size=n), (-0.7, 0.9), "a b c")
    return Frame(found).with_columns(pl.col("lab1", "lab2", "lab3").fill_nan(None))


def wide(n: int, rng: Rng) -> Frame:
    """Forty columns, half numbers and half labels, with five hidden traits behind them."""
    traits = rng.normal(size=(n, 5))
    found = {}
    for i in range(20):
        score = 0.6 * traits[:, i % 5] + rng.normal(size=n)
        found[f"n{i + 1}"] = np.round(10 * score, 1)
    for i in range(20):
        score = 0.6 * traits[:, i % 5] + rng.normal(size=n)
        found[f"c{i + 1}"] = np.char.add("v", np.searchsorted(np.linspace(-1, 1, 2 + i % 4), score).astype(str))
    return Frame(found)


def households(units: int, rng: Rng) -> Frame:
    """Households of one to five people who share region, tenure and rent and resemble each other in the rest."""
    size = rng.integers(1, 6, units)
    house = np.repeat(np.arange(units), size)
    wealth = rng.normal(size=units)
    tenure = np.where(wealth + rng.normal(size=units) > 0, "owner", "tenant")
    rent = np.round(np.exp(6.3 + 0.4 * wealth + 0.2 * rng.normal(size=units)), 0)
    n = len(house)
    own = 0.8 * wealth[house] + 0.6 * rng.normal(size=n)
    first = np.concatenate([[True], house[1:] != house[:-1]])
    return Frame(
        {
            "house": house,
            "region": _pick(rng, units, "north east south west centre coast")[house],
            "tenure": tenure[house],
            "rent": rent[house],
            "age": np.where(first, rng.integers(25, 85, n), rng.integers(1, 60, n)),
            "sex": _pick(rng, n, "f m"),
            "income": np.round(np.exp(9.5 + 0.5 * own), -1),
            "health": _cut(own + rng.normal(size=n), (-1.2, 0.6), "bad fair good"),
        }
    )


def panel(units: int, rng: Rng) -> Frame:
    """Five yearly interviews per person: who they are hardly changes, what they earn moves a little."""
    person, wave = np.repeat(np.arange(units), 5), np.tile(np.arange(5), units)
    n = len(person)
    wealth = rng.normal(size=units)
    school = _cut(wealth + rng.normal(size=units), (-0.8, 0.4, 1.3), "none basic upper degree")
    region = _pick(rng, units, "north east south west centre coast")
    moved = rng.random(n) < 0.02
    return Frame(
        {
            "person": person,
            "wave": wave,
            "age": rng.integers(20, 75, units)[person] + wave,
            "sex": _pick(rng, units, "f m")[person],
            "region": np.where(moved, _pick(rng, n, "north east south west centre coast"), region[person]),
            "school": school[person],
            "income": np.round(np.exp(9.8 + 0.5 * wealth[person] + 0.1 * rng.normal(size=n)), -1),
            "jobless": np.where(-0.6 * wealth[person] + rng.normal(size=n) > 1.2, "yes", "no"),
        }
    )


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("adult", adult, ("age", "sex", "race", "marital_status"), "income", "UCI Adult, 13 columns"),
        Kind("sd2011", sd2011, ("sex", "age", "region", "placesize"), "depress", "SD2011 survey, 9 columns, gaps"),
        Kind("weak", weak, ("age", "sex", "region"), "ill", "mixed columns, weakly related"),
        Kind("strong", strong, ("age", "school", "job"), "ill", "mixed columns, strongly related"),
        Kind("rare", rare, ("area", "diagnosis", "sex"), "outcome", "lognormal numbers, rare levels"),
        Kind("categorical", categorical, ("q1", "q2", "q3"), "vote", "labels only, 8 columns"),
        Kind("numeric", numeric, ("x1", "x4", "x6"), "x7", "continuous numbers only, 7 columns"),
        Kind(
            "coarse", coarse, ("sex", "agegroup", "school"), "smokes", "48 possible records", distinctive=False
        ),
        Kind("holes", holes, ("age", "sex", "lab1"), "grade", "numbers with missing values"),
        Kind("wide", wide, ("n1", "c1", "c2", "c3"), "c4", "40 columns"),
        Kind(
            "households", households, ("region", "age", "sex"), "health", "1 to 5 people per household", "house", 3.0
        ),
        Kind("panel", panel, ("age", "sex", "region"), "jobless", "5 interviews per person", "person", 5.0),
    )
}  # fmt: skip
