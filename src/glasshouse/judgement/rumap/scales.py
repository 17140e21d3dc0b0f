"""Scales of the risk-utility map: where 0 and 1 are for each measure, whatever releases are compared.

Min-max scaling over the candidates makes every score relative: with two releases everything is 0 or 1, and one bad
candidate reorders the others. So each measure is anchored by the ghosts of :mod:`glasshouse.judgement.rumap.ghosts`:

    risk 0     members fare like people never in the data; without a holdout, what independent columns show
    risk 1     a copy of the original, of the release's size
    utility 1  a sample of the population (the holdout, or a bootstrap of the original)
    utility 0  independent columns; where those are no worse than the sample (marginal measures cannot see them),
               columns drawn evenly over their range

A measure whose two ends are reversed, or no further apart than sampling noise, says nothing here and is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import hypot

import numpy as np

from glasshouse.core.result import Result
from glasshouse.judgement.rumap.figures import Figure, Kind, figure, leak, value

SCALES = ("anchored", "minmax")
RESOLVES = 2.0  # a scale is at least so many times as long as the noise of a figure on it
BLIND = "a copy of the original scores no worse than other people's data, so the measure says nothing on these data"
NOISY = "a copy of the original cannot be told from other people's data beyond sampling noise"


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


def risk_anchor(found: Mapping[str, Result], kind: Kind, better: str, lowest: float | None) -> Anchor:
    """0 is what other people's data would show, 1 is a copy of the original.

    Parameters
    ----------
    found
        The results of the ghosts "copy" and, as far as there are such, "strangers", "sample" and "independent".
    kind
        Which figure is placed: the zero of a leak is known, that of a value is measured.
    better, lowest
        The better side of the value and the end of its range.

    Returns
    -------
    Anchor
        With a reason where the ends are reversed or not separated.
    """
    copy = figure(found["copy"], kind)
    if copy is None:
        return Anchor(None, None, "", f"no value even for a copy of the original: {found['copy'].reason}")
    if kind == "leak":
        seen = leak(found["strangers"]) if "strangers" in found else None
        ghost = Figure(0.0, None) if seen is None else seen
        return _separated(copy, ghost, Anchor(0.0, copy.value, "no difference from strangers to copy"), "lower")
    for name, spoken in (("sample", "holdout"), ("independent", "independent columns")):
        ghost_value = value(found[name]) if name in found else None
        if ghost_value is not None:
            made = Anchor(ghost_value.value, copy.value, f"{spoken} to copy")
            return _separated(copy, ghost_value, made, better)
    for end, spoken in ((found["copy"].baseline, "baseline"), (lowest, "end of the range")):
        if end is not None:
            made = Anchor(float(end), copy.value, f"{spoken} to copy")
            return _separated(copy, Figure(float(end), None), made, better)
    return Anchor(None, copy.value, "", BLIND)


def _separated(copy: Figure, ghost: Figure, anchor: Anchor, better: str) -> Anchor:
    gap = copy.value - ghost.value if better == "lower" else ghost.value - copy.value
    if gap <= 1e-9 or (anchor.zero == 0 and better == "lower" and copy.value <= 1e-9):
        return Anchor(anchor.zero, anchor.one, anchor.source, BLIND)
    if gap <= max(hypot(copy.noise, ghost.noise), RESOLVES * copy.noise):
        return Anchor(anchor.zero, anchor.one, anchor.source, NOISY)
    return anchor


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


def placed(
    columns: Mapping[str, Sequence[float | None]],
    side: str,
    scale: str,
    anchors: Mapping[str, Sequence[Anchor]],
    better: Mapping[str, str],
) -> np.ndarray:
    """[releases, measures] on [0, 1]: 1 is most risk on the risk side, most utility on the utility side."""
    made = []
    for name, values in columns.items():
        if scale == "anchored":
            made.append([anchor.place(v) for anchor, v in zip(anchors[name], values, strict=True)])
            continue
        relative = minmax(values)
        turned = better[name] == ("higher" if side == "risk" else "lower")
        made.append([None if v is None else 1 - v for v in relative] if turned else relative)
    return np.array([[np.nan if v is None else v for v in column] for column in made], float).T


def moved_to_end(
    scaled: np.ndarray,
    names: Iterable[str],
    spreads: Mapping[str, Sequence[tuple[float, float] | None]],
    anchors: Mapping[str, Sequence[Anchor]],
    end: int,
) -> np.ndarray:
    """[releases, measures] with every measure at the low (0) or high (1) end of its interval."""
    moved = scaled.copy()
    for k, name in enumerate(names):
        for i, interval in enumerate(spreads.get(name, ())):
            if interval is None or not np.isfinite(moved[i, k]) or name not in anchors:
                continue
            ends = [v for v in (anchors[name][i].place(e) for e in interval) if v is not None]
            moved[i, k] = (min, max)[end]([*ends, moved[i, k]])
    return moved
