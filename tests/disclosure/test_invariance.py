"""What must not matter to a copying, membership or linkage measure: rows, columns, labels, units, an identifier."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

import glasshouse as gh
from glasshouse.catalogue import all_measures

FAMILIES = ("copying", "membership", "gdpr", "linkage")
ELSEWHERE = ("inference",)  # its own room tests it
MEASURES = sorted(n for n, m in all_measures().items() if m.family in FAMILIES and n not in ELSEWHERE)
OPTIONS = {"forest_proximity": {"trees": 15}, "membership_classifier": {"trees": 15}, "linkability": {"n_splits": 3}}
Tables = dict[str, pl.DataFrame]
NAMES = {"town": list("abcdefg"), "job": ["nurse", "smith", "clerk"], "ill": ["yes", "no"]}


def people(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n).astype(float)
    age[rng.random(n) < 0.05] = np.nan
    return pl.DataFrame(
        {
            "town": rng.choice(NAMES["town"], n, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.07, 0.03]),
            "income": np.round(rng.lognormal(8, 1, n)),
            "job": rng.choice(NAMES["job"], n, p=[0.6, 0.3, 0.1]),
            "age": pl.Series(age).fill_nan(None),
            "ill": rng.choice(NAMES["ill"], n),
        }
    )


def tables(row_paired: bool) -> Tables:
    original, holdout = people(160, 1), people(160, 2)
    if row_paired:
        noise = pl.Series(np.random.default_rng(4).normal(size=160) * 50)
        return {"original": original, "released": original.with_columns(income=pl.col("income") + noise)}
    released = pl.concat([people(140, 3), original[:20]])
    return {"original": original, "released": released, "holdout": holdout}


def other_rows(given: Tables) -> Tables:
    if "holdout" not in given:  # rows that belong together move together
        return {name: table.sample(fraction=1, shuffle=True, seed=7) for name, table in given.items()}
    return {name: table.sample(fraction=1, shuffle=True, seed=i) for i, (name, table) in enumerate(given.items())}


def other_columns(given: Tables) -> Tables:
    return {name: table.select(table.columns[::-1]) for name, table in given.items()}


def other_labels(given: Tables) -> Tables:
    """New labels, in the opposite alphabetical order."""
    renamed = {c: {old: f"{chr(122 - i)}{old}" for i, old in enumerate(sorted(levels))} for c, levels in NAMES.items()}
    change = [pl.col(c).replace_strict(names) for c, names in renamed.items()]
    return {name: table.with_columns(change) for name, table in given.items()}


def other_units(given: Tables) -> Tables:
    return {name: table.with_columns(pl.col("income", "age") * 1024) for name, table in given.items()}


def with_identifier(given: Tables) -> Tables:
    return {
        name: table.with_columns(pid=pl.Series([f"{name[0]}{i:05d}" for i in range(len(table))]))
        for name, table in given.items()
    }


CHANGES = (other_rows, other_columns, other_labels, other_units, with_identifier)


def figures(measure: str, given: Tables) -> list[float | None]:
    held = {"holdout": given["holdout"]} if "holdout" in given else {"row_paired": True}
    pair = gh.Pair(given["original"], given["released"], **held)
    found = all_measures()[measure].run(pair, **OPTIONS.get(measure, {}))
    assert found.status == "ok", found.reason
    exposed = None if found.exposure is None else found.exposure.share
    return [found.value, found.holdout, found.difference, found.p_value, exposed]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("measure", MEASURES)
def test_what_must_not_matter(measure: str, change: Callable[[Tables], Tables]) -> None:
    given = tables(row_paired=measure == "record_linkage")
    before, after = figures(measure, given), figures(measure, change(given))
    assert [v is None for v in before] == [v is None for v in after]
    known = [(b, a) for b, a in zip(before, after, strict=True) if b is not None]
    assert [a for _, a in known] == pytest.approx([b for b, _ in known], abs=1e-9)


def test_every_measure_of_these_rooms_is_asked() -> None:
    assert {"exact_copies", "dcr", "domias", "membership_classifier", "singling_out", "record_linkage"} <= set(MEASURES)
