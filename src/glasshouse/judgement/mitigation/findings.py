"""What failed and what drives it: threats, measures, columns and records, as far as proposals follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glasshouse.core.measure import AnyMeasure
from glasshouse.core.words import spoken
from glasshouse.data.arrays import Floats
from glasshouse.data.pair import Pair
from glasshouse.judgement.mitigation.tables import own_table
from glasshouse.judgement.verdict.decision import Decision
from glasshouse.protection.held import held
from glasshouse.protection.randomising import crowded

TOO_OFTEN = (
    0.02  # share of released values that only people of the original have, from which a column counts as driving
)
FEW = 5  # released records that make a level rare


@dataclass(frozen=True)
class Columns:
    """The columns that may be changed, by what they hold, and those that drive the risk.

    Attributes
    ----------
    numeric, categorical, dates, identifiers, keys : tuple of str
        Without those that are protected. Numbers among which reasons for missing stand as codes, and numbers that
        the table holds as text, are none of them.
    exchanged : tuple of str
        Categorical columns with so few levels that records can exchange them.
    telling : tuple of str
        Numbers and dates whose released values are those of people of the original more often than those of people
        never in the data are; the most telling first.
    coarse : dict of str to float
        By numeric column a round number of about a tenth of its standard deviation.
    rare : tuple of str
        Categorical columns with levels that hardly anybody has.
    protected : tuple of str
        Columns of the release that stay as they are, whatever their role.
    hidden : tuple of str
        Columns of the release that no measure looks at, without identifiers, weights and clusters.
    """

    numeric: tuple[str, ...]
    categorical: tuple[str, ...]
    dates: tuple[str, ...]
    identifiers: tuple[str, ...]
    keys: tuple[str, ...]
    exchanged: tuple[str, ...]
    telling: tuple[str, ...]
    coarse: dict[str, float]
    rare: tuple[str, ...]
    protected: tuple[str, ...]
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failed:
    """What speaks against a release.

    Attributes
    ----------
    threats : tuple of str
        Those that fail or warn.
    measures : tuple of Measure
        The measures that decide against it.
    """

    threats: tuple[str, ...]
    measures: tuple[AnyMeasure, ...]

    @property
    def words(self) -> str:
        """ "copying (Exact copies)"."""
        titles = spoken(list(dict.fromkeys(m.title for m in self.measures))[:3])
        return f"{spoken(self.threats)} ({titles})" if titles else spoken(self.threats)


def failed(made: Decision, measures: Sequence[AnyMeasure]) -> Failed:
    """What speaks against a release, as proposals read it."""
    threats = [name for name, t in made.threats.items() if t.status in ("warn", "fail")]
    ruled = [o.limit.measure for o in made.outcomes.outcomes if o.status in ("warn", "fail")]
    own = {j.name: j.measure.threat for j in made.judged}
    threats += [str(own[name]) for name in ruled if own.get(name) is not None]
    return Failed(tuple(dict.fromkeys(threats)), tuple(measures))


def columns_of(pair: Pair, protect: Sequence[str]) -> Columns:
    """The columns that may be changed, and what is known of them before anything is tried.

    Parameters
    ----------
    pair
        The release as it came.
    protect
        Columns that stay as they are.
    """
    kept = {*protect, pair.cluster, pair.weights}
    free = [c for c in pair.columns if c not in kept]
    table = held(own_table(pair, "released"))
    known = [c for c in free if pair.is_numeric(c)]
    # a reason for missing is no number to blur or to round; texts that a schema calls numbers are none to operations
    numbers = [c for c in known if table.kind(c) in ("numeric", "date") and not pair.special_mask(c, "released").any()]
    dates = [c for c in numbers if pair.schema[c].kind == "datetime"]
    numeric = [c for c in numbers if c not in dates]
    labels = [c for c in free if c not in known]
    told = {c: telling(pair, c) for c in numbers}
    return Columns(
        numeric=tuple(numeric),
        categorical=tuple(labels),
        exchanged=tuple(c for c in labels if not crowded(table[c])),
        dates=tuple(dates),
        identifiers=tuple(c for c in pair.identifiers if c not in kept),
        keys=tuple(k for k in pair.keys if k not in kept),
        telling=tuple(sorted((c for c in numbers if told[c] > TOO_OFTEN), key=lambda c: (-told[c], c))),
        coarse={c: rounded_unit(released_numbers(pair, c)) for c in numeric},
        rare=tuple(c for c in labels if has_rare_level(pair, c)),
        protected=tuple(c for c in dict.fromkeys(protect) if c in released_columns(pair)),
        hidden=tuple(c for c in released_columns(pair) if c not in known_columns(pair)),
    )


def released_columns(pair: Pair) -> list[str]:
    """All columns of the release, also those that no measure looks at."""
    return list(pair._tables.adopted["released"].lazy.collect_schema().names())


def known_columns(pair: Pair) -> list[str]:
    """The columns that have a part in the pair: looked at, identifiers, weights and clusters."""
    return [*pair.columns, *pair.identifiers, *(c for c in (pair.cluster, pair.weights) if c)]


def telling(pair: Pair, column: str) -> float:
    """How much more often a released value is one of the original's than a value of a person never in the data is.

    Numbers that hardly repeat give their owner away by themselves. Without people never in the data: the share of
    released values that exactly one person of the original has.
    """
    codes = pair.codes(column)
    original, released = (codes.of(t) for t in ("original", "released"))
    counts = np.bincount(original[original >= 0], minlength=codes.n_levels)
    known = released[released >= 0]
    if not len(known):
        return 0.0
    if pair.has_holdout:
        held = codes.of("holdout")
        held = held[held >= 0]
        if not len(held):
            return 0.0
        return float((counts[known] > 0).mean() - (counts[held] > 0).mean())
    return float((counts[known] == 1).mean())


def has_rare_level(pair: Pair, column: str) -> bool:
    """Whether a label stands for fewer than :data:`FEW` released records."""
    codes = pair.codes(column)
    released = codes.of("released")
    counts = np.bincount(released[released >= 0], minlength=codes.n_levels)
    return bool(((counts > 0) & (counts < FEW)).any())


def released_numbers(pair: Pair, column: str) -> Floats:
    """The released numbers of a column that are there."""
    values = np.asarray(pair.values(column, "released"), float)
    return values[np.isfinite(values)]


def rounded_unit(values: Floats) -> float:
    """1, 2 or 5 times a power of ten, about a tenth of the standard deviation; 1 where nothing varies, and at least 1
    for whole numbers, which would become decimals."""
    spread = float(values.std()) if len(values) else 0.0
    if not spread > 0:
        return 1.0
    wanted = spread / 10
    power = 10.0 ** np.floor(np.log10(wanted))
    unit = float(max(lead * power for lead in (1, 2, 5) if lead * power <= wanted * 1.0001))
    return max(unit, 1.0) if (values == np.rint(values)).all() else unit
