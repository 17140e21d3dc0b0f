"""What can be wrong with a release: leaks planted into a clean one, and changes that must not matter.

A leak takes a clean World and a generator and gives the World with part of the release replaced. Shares are shares of
the released records (of the clusters, for leaks of whole clusters).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import floor, log10

import numpy as np
import polars as pl
from studies.kinds import Frame, Kind, Rng, World

NOISE = 0.01  # of a column's standard deviation
STEP = 0.25  # a rounded number keeps about a quarter of a standard deviation
HEAPED = 0.1  # a value this many people share (no capital gain, a code for "none") is no measurement and gets no noise


@dataclass(frozen=True)
class Leak:
    """A planted leak.

    ``clean``: nobody of the original is in the release, so alarms are false. ``holdout``: size of the holdout relative
    to the original (0: none). ``where``: kinds of data it makes sense on.
    """

    name: str
    words: str
    plant: Callable[[World, Rng], World]
    clean: bool = False
    holdout: float = 1.0
    where: Callable[[Kind], bool] = lambda kind: True


# -- what the leaks are made of --------------------------------------------------------------------------------------


def numbers(world: World) -> list[str]:
    """Columns of measurements."""
    return [c for c, dtype in world.original.schema.items() if dtype.is_numeric() and c != world.kind.cluster]


def columns(world: World) -> list[str]:
    """Columns that describe people."""
    return [c for c in world.original.columns if c != world.kind.cluster]


def taken(world: World, share: float, rng: Rng, source: Frame | None = None) -> tuple[Frame, np.ndarray]:
    """Random people of the original (or of ``source``), and the places in the release they are to have."""
    source = world.original if source is None else source
    count = max(1, round(share * world.released.height))
    return source[rng.permutation(source.height)[:count]], rng.permutation(world.released.height)[:count]


def placed(world: World, rows: Frame, places: np.ndarray) -> World:
    """The release with ``rows`` in some places; the cluster a place belongs to is no information and stays."""
    released = world.released
    rows = rows.select(columns(world)).with_columns(pl.Series("_row", places))
    kept = released.with_row_index("_row").with_columns(pl.col("_row").cast(rows.schema["_row"]))
    merged = kept.update(rows, on="_row", how="left", include_nulls=True).sort("_row").drop("_row")
    return world.but(released=merged.select(released.columns).cast(released.schema))


def outlying(world: World) -> np.ndarray:
    """How far out each original record is: mean over columns of the surprise at a value as rare or as extreme."""
    surprise = np.zeros(world.original.height)
    for name in columns(world):
        column = world.original[name]
        if name in numbers(world):
            position = (column.rank("average") / column.len()).fill_null(0.5).to_numpy()
            surprise -= np.log(2 * np.minimum(position, 1 - position) + 1 / column.len())
        else:
            share = world.original.select(pl.len().over(name) / pl.len()).to_series().to_numpy()
            surprise -= np.log(share)
    return surprise


def grid(column: pl.Series) -> float | None:
    """The unit a column is written in: 1 for whole numbers, None for continuous ones."""
    values = column.drop_nulls().unique().cast(pl.Float64).to_numpy()
    return next((unit for unit in (1.0, 0.1, 0.01) if np.allclose(values / unit, np.round(values / unit))), None)


def redrawn(rows: Frame, world: World, name: str, which: np.ndarray, rng: Rng) -> Frame:
    """Cells of one column replaced by values of random released records."""
    fresh = world.released[name][rng.integers(0, world.released.height, rows.height)]
    return rows.with_columns(pl.when(pl.Series(which)).then(fresh).otherwise(pl.col(name)).alias(name))


# -- leaks -----------------------------------------------------------------------------------------------------------


def clean(world: World, rng: Rng) -> World:
    """Nothing planted."""
    return world


def verbatim(share: float) -> Callable[[World, Rng], World]:
    """People of the original as they are."""
    return lambda world, rng: placed(world, *taken(world, share, rng))


def noisy(world: World, rng: Rng) -> World:
    """Numbers moved by 1 % of their standard deviation and written in the units of the column; labels as they are."""
    rows, places = taken(world, 0.05, rng)
    for name in numbers(world):
        column = rows[name].cast(pl.Float64)
        counts = world.original[name].value_counts()
        heaped = counts.filter(pl.col("count") >= HEAPED * world.original.height)[name].to_list()
        moved = column + pl.Series(rng.normal(0, NOISE * float(world.original[name].std()), rows.height))
        unit = grid(world.original[name])
        moved = moved if unit is None else (moved / unit).round() * unit
        rows = rows.with_columns(pl.when(rows[name].is_in(heaped)).then(column).otherwise(moved).alias(name))
    return placed(world, rows, places)


def rounded(world: World, rng: Rng) -> World:
    """Numbers rounded to a step of about a quarter of their standard deviation."""
    rows, places = taken(world, 0.05, rng)
    for name in numbers(world):
        wanted = STEP * float(world.original[name].std())
        power = 10.0 ** floor(log10(wanted))
        step = max(f * power for f in (1, 2, 5) if f * power <= wanted * 1.0001)
        rows = rows.with_columns(((pl.col(name).cast(pl.Float64) / step).round() * step).alias(name))
    return placed(world, rows, places)


def one_cell(share: float) -> Callable[[World, Rng], World]:
    """People of the original with one cell drawn anew."""

    def plant(world: World, rng: Rng) -> World:
        rows, places = taken(world, share, rng)
        chosen = rng.integers(0, len(columns(world)), rows.height)
        for i, name in enumerate(columns(world)):
            rows = redrawn(rows, world, name, chosen == i, rng)
        return placed(world, rows, places)

    return plant


def keys_target(world: World, rng: Rng) -> World:
    """Keys and target of people of the original; every other cell drawn anew."""
    rows, places = taken(world, 0.05, rng)
    everybody = np.ones(rows.height, dtype=bool)
    for name in columns(world):
        if name not in (*world.kind.keys, world.kind.target):
            rows = redrawn(rows, world, name, everybody, rng)
    return placed(world, rows, places)


def one_outlier(world: World, rng: Rng) -> World:
    """The most outlying person, published as a twentieth of the file (50 times in 1,000)."""
    count = round(0.05 * world.released.height)
    person = world.original[[int(np.argmax(outlying(world)))] * count]
    return placed(world, person, rng.permutation(world.released.height)[:count])


def outliers(world: World, rng: Rng) -> World:
    """The 1 % most outlying people as they are."""
    count = max(1, round(0.01 * world.released.height))
    order = np.argsort(-outlying(world), kind="stable")[:count]
    return placed(world, world.original[order], rng.permutation(world.released.height)[:count])


def beside_noise(plant: Callable[[World, Rng], World]) -> Callable[[World, Rng], World]:
    """The same beside a column of pure noise, which says nothing about anybody."""

    def planted(world: World, rng: Rng) -> World:
        made = plant(world, rng)
        tables = {"original": made.original, "released": made.released, "holdout": made.holdout}
        return made.but(
            **{
                name: None if table is None else table.with_columns(noise=pl.Series(rng.normal(size=table.height)))
                for name, table in tables.items()
            }
        )

    return planted


def of_holdout(world: World, rng: Rng) -> World:
    """A fifth of the release is copied from the holdout: people the original does not hold."""
    return placed(world, *taken(world, 0.2, rng, world.holdout))


def minority(world: World, rng: Rng) -> World:
    """All records of one small group (2 to 8 % of people), as they are."""
    labels = [c for c in columns(world) if c not in numbers(world)]
    for name in sorted(labels):
        shares = world.original[name].drop_nulls().value_counts().sort("count", name)
        small = shares.filter((pl.col("count") / world.original.height).is_between(0.02, 0.08))
        if small.height:
            rows = world.original.filter(pl.col(name) == small[name][0])
            break
    else:  # no such label: the largest values of the first number
        name = sorted(numbers(world))[0] if numbers(world) else columns(world)[0]
        rows = world.original.sort(name, descending=True).head(round(0.03 * world.original.height))
    return placed(world, rows, rng.permutation(world.released.height)[: rows.height])


def cart(world: World, rng: Rng) -> World:
    """An honest synthesis: trees with leaves of at least five, glasshouse's own. Not clean by construction."""
    import glasshouse as gh

    source = world.original.select(columns(world))
    model = gh.synthesis.Cart(minbucket=5, n_jobs=1).fit(source)
    made = model.sample(world.released.height, random_state=int(rng.integers(2**31)))
    if world.kind.cluster is not None:
        made = made.with_columns(world.released[world.kind.cluster])
    return world.but(released=made.select(world.released.columns))


def without_holdout(plant: Callable[[World, Rng], World]) -> Callable[[World, Rng], World]:
    """The same leak, nobody to compare with."""
    return lambda world, rng: plant(world, rng).but(holdout=None)


def whole_clusters(share: float) -> Callable[[World, Rng], World]:
    """Whole households or panel members as they are, in place of as many of the release."""

    def plant(world: World, rng: Rng) -> World:
        name = str(world.kind.cluster)
        theirs, ours = (t[name].unique(maintain_order=True) for t in (world.original, world.released))
        count = max(1, round(share * ours.len()))
        copied = theirs.to_numpy()[rng.permutation(theirs.len())[:count]]
        gone = ours.to_numpy()[rng.permutation(ours.len())[:count]]
        kept = world.released.filter(~pl.col(name).is_in(gone.tolist()))
        rows = world.original.filter(pl.col(name).is_in(copied.tolist()))
        mixed = pl.concat([kept, rows.with_columns(pl.col(name) + 10**7)])
        return world.but(released=mixed[rng.permutation(mixed.height)])

    return plant


def names(real: bool) -> Callable[[World, Rng], World]:
    """A column of names: the real ones beside made-up records, or invented ones."""

    def plant(world: World, rng: Rng) -> World:
        def called(table: Frame, first: int) -> Frame:
            some = rng.permutation(np.arange(first, first + 10**6))[: table.height]
            return table.with_columns(name=pl.Series(np.char.add("person ", some.astype(str))))

        original = called(world.original, 10**6)
        released = called(world.released, 3 * 10**6)
        if real:
            shown = original["name"].to_numpy()[rng.permutation(original.height)]
            released = world.released.with_columns(name=pl.Series(np.resize(shown, world.released.height)))
        holdout = None if world.holdout is None else called(world.holdout, 5 * 10**6)
        return world.but(original=original, released=released, holdout=holdout)

    return plant


def _has_numbers(kind: Kind) -> bool:
    return kind.name not in ("categorical", "coarse")


def _has_clusters(kind: Kind) -> bool:
    return kind.cluster is not None


def _one_row_each(kind: Kind) -> bool:
    return kind.cluster is None


LEAKS: dict[str, Leak] = {
    leak.name: leak
    for leak in (
        Leak("clean", "clean", clean, clean=True),
        *(
            Leak(f"verbatim_{percent:g}", f"{percent:g} % copied as they are", verbatim(percent / 100))
            for percent in (0.5, 1, 2, 5, 10)
        ),
        Leak("noisy_5", "5 % copied, numbers moved by 1 % of their sd", noisy, where=_has_numbers),
        Leak("rounded_5", "5 % copied, numbers rounded to about a quarter of their sd", rounded, where=_has_numbers),
        Leak("cell_2", "2 % copied, one cell redrawn", one_cell(0.02)),
        Leak("cell_5", "5 % copied, one cell redrawn", one_cell(0.05)),
        Leak("keys_5", "keys and target of 5 %, the rest redrawn", keys_target),
        Leak("outlier_50", "one outlier is a twentieth of the release", one_outlier),
        Leak("outlying_1", "the 1 % most outlying copied as they are", outliers),
        Leak("beside_noise", "clean, beside a noise column", beside_noise(clean), clean=True),
        Leak("beside_noise_2", "2 % copied beside a noise column", beside_noise(verbatim(0.02))),
        Leak("minority", "one small group copied as it is", minority),
        Leak("clusters_1", "1 % of the clusters copied whole", whole_clusters(0.01), where=_has_clusters),
        Leak("clusters_2", "2 % of the clusters copied whole", whole_clusters(0.02), where=_has_clusters),
        Leak("clusters_5", "5 % of the clusters copied whole", whole_clusters(0.05), where=_has_clusters),
        Leak("clusters_10", "10 % of the clusters copied whole", whole_clusters(0.10), where=_has_clusters),
        Leak("holdout_20", "20 % copied from the holdout", of_holdout, clean=True),
        Leak("small_holdout", "clean, holdout a quarter of the size", clean, clean=True, holdout=0.25),
        Leak("small_holdout_2", "2 % copied, holdout a quarter of the size", verbatim(0.02), holdout=0.25),
        Leak("no_holdout", "clean, no holdout", without_holdout(clean), clean=True),
        Leak("no_holdout_1", "1 % copied, no holdout", without_holdout(verbatim(0.01))),
        Leak("no_holdout_5", "5 % copied, no holdout", without_holdout(verbatim(0.05))),
        Leak("names_invented", "clean, a column of invented names", names(False), clean=True, where=_one_row_each),
        Leak("names", "every real name published", names(True), where=_one_row_each),
        Leak("cart", "trees with leaves of at least 5 (CART, values drawn from the leaves)", cart),
    )
}  # fmt: skip
