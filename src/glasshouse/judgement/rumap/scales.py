"""Scales of the risk-utility map: where 0 and 1 are for each measure, whatever releases are compared.

Min-max scaling over the candidates makes every score relative: with two releases everything is 0 or 1, and one bad
candidate reorders the others. So each measure is anchored by releases that nobody proposes, the *ghosts*:

    risk 0     a sample of other people (the holdout), or independent columns when there is none
    risk 1     the original itself
    utility 1  a sample of the population (the holdout, or a bootstrap of the original)
    utility 0  independent columns; where those are no worse than the sample (marginal measures cannot see them),
    columns drawn evenly
               over their range

"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState, generator
from glasshouse.data.pair import Pair

SCALES = ("anchored", "minmax")
GHOSTS = ("copy", "sample", "independent", "uniform")


@dataclass(frozen=True)
class Anchor:
    """Value of a measure at 0 and at 1 of its scale, and where they come from; ``reason`` when there is no such
    scale.
    """

    zero: float | None
    one: float | None
    source: str
    reason: str | None = None

    def place(self, value: float | None) -> float | None:
        """The value on the scale, held between 0 and 1."""
        if value is None or self.zero is None or self.one is None or self.reason:
            return None
        return float(np.clip((value - self.zero) / (self.one - self.zero), 0.0, 1.0))


def ghosts(pair: Pair, random_state: RandomState) -> dict[str, pl.DataFrame]:
    """The ghost releases of an original, in its own columns."""
    original = pair.local("original").select([*pair.columns, *([pair.weights] if pair.weights else [])])
    n = original.height
    columns = [c for c in original.columns if c != pair.weights]
    shuffled, even = {}, {}
    for name in columns:
        series = original[name]
        shuffled[name] = series.gather(generator(random_state, "independent", name).permutation(n))
        rng = generator(random_state, "uniform", name)
        levels = series.drop_nulls().unique().sort()
        if levels.len() == 0:
            even[name] = series
        elif pair.is_numeric(name) and series.dtype in (pl.Float64, pl.Int64):
            low, high = (float(end) for end in levels.cast(pl.Float64).to_numpy()[[0, -1]])
            drawn = rng.uniform(low, high, n)
            even[name] = pl.Series(name, np.round(drawn) if series.dtype == pl.Int64 else drawn).cast(series.dtype)
        else:
            even[name] = levels.gather(rng.integers(0, levels.len(), n))
    if pair.weights:
        shuffled[pair.weights] = even[pair.weights] = original[pair.weights]
    if pair.has_holdout:
        sample = pair.local("holdout")
    else:
        sample = original[generator(random_state, "bootstrap").integers(0, n, n)]
    return {
        "copy": original,
        "sample": sample,
        "independent": pl.DataFrame(shuffled).select(original.columns),
        "uniform": pl.DataFrame(even).select(original.columns),
    }


def risk_anchor(found: Mapping[str, Result], has_holdout: bool, lowest: float | None) -> Anchor:
    """0 is what other people's data (or no relation at all) would show, 1 is releasing the original."""
    copy = found["copy"].value
    if copy is None:
        return Anchor(None, None, "", f"no value even for a copy of the original: {found['copy'].reason}")
    who = "sample" if has_holdout else "independent"
    zero, source = found[who].value, "holdout" if has_holdout else "independent columns"
    if zero is None:
        zero, source = found["copy"].baseline, "baseline"
    if zero is None:
        zero, source = lowest, "end of the range"
    if zero is None or abs(copy - zero) < 1e-9:
        return Anchor(
            zero,
            copy,
            source,
            "a copy of the original scores no worse than an honest sample, so the measure says nothing on these data",
        )
    return Anchor(float(zero), float(copy), f"{source} to copy")


def utility_anchor(found: Mapping[str, Result], better: str) -> Anchor:
    """0 is independent (or evenly drawn) columns, 1 is a sample of the population."""
    one = found["sample"].value
    if one is None:
        return Anchor(None, None, "", f"no value even for a sample of the original: {found['sample'].reason}")
    for ghost, spoken in (("independent", "independent columns"), ("uniform", "evenly drawn columns")):
        zero = found[ghost].value
        if zero is not None and _clearly_worse(found[ghost], float(zero), float(one), better):
            return Anchor(float(zero), float(one), f"{spoken} to sample")
    return Anchor(
        None,
        float(one),
        "",
        "destroyed data score as well as an honest sample, so the measure says nothing on these data",
    )


def _clearly_worse(ghost: Result, zero: float, one: float, better: str) -> bool:
    worse = zero > one if better == "lower" else zero < one
    # inside its own null band a ghost cannot serve as an end of the scale: the scale would be sampling noise
    return worse and abs(zero - one) > 1e-9 and (ghost.null is None or ghost.null.lost)


def minmax(values: Sequence[float | None]) -> list[float | None]:
    """(v - min) / (max - min) over the candidates; 0.5 when all are equal. Kept for comparison with riskutility."""
    known = [v for v in values if v is not None]
    if not known:
        return [None] * len(values)
    low, high = min(known), max(known)
    if high == low:
        return [None if v is None else 0.5 for v in values]
    return [None if v is None else (v - low) / (high - low) for v in values]


def ghost_pair(pair: Pair, table: Any, name: str) -> Pair:
    """The pair with a ghost as its release; the holdout cannot be release and holdout at once."""
    changes: dict[str, Any] = {"released": table, "row_paired": False}
    if name == "sample" and pair.has_holdout:
        changes["holdout"] = None
    return pair.replace(**changes)


def placed(
    columns: Mapping[str, Sequence[float | None]],
    side: str,
    scale: str,
    anchors: Mapping[str, Anchor],
    better: Mapping[str, str],
) -> np.ndarray:
    """[releases, measures] on [0, 1]: 1 is most risk on the risk side, most utility on the utility side."""
    made = []
    for name, values in columns.items():
        if scale == "anchored":
            made.append([anchors[name].place(v) for v in values])
            continue
        relative = minmax(values)
        turned = better[name] == ("higher" if side == "risk" else "lower")
        made.append([None if v is None else 1 - v for v in relative] if turned else relative)
    return np.array([[np.nan if v is None else v for v in column] for column in made], float).T


def moved_to_end(
    scaled: np.ndarray,
    names: Iterable[str],
    spreads: Mapping[str, Sequence[tuple[float, float] | None]],
    anchors: Mapping[str, Anchor],
    end: int,
) -> np.ndarray:
    """[releases, measures] with every measure at the low (0) or high (1) end of its interval."""
    moved = scaled.copy()
    for k, name in enumerate(names):
        for i, interval in enumerate(spreads.get(name, ())):
            if interval is None or not np.isfinite(moved[i, k]) or name not in anchors:
                continue
            ends = [v for v in (anchors[name].place(e) for e in interval) if v is not None]
            moved[i, k] = (min, max)[end]([*ends, moved[i, k]])
    return moved
