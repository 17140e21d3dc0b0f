"""Members against strangers from the cell table: what an attack achieves depends on a person's cell and the release.

Without clusters the counts per outcome say all the exchange of labels needs, wherever the tables are; with clusters the
records come here, because labels go to whole clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import narwhals as nw
import numpy as np

from glasshouse.core.evidence import Counts, Exposure, ToldLeak
from glasshouse.data.arrays import Bools, Floats
from glasshouse.data.pair import Pair
from glasshouse.engines.cells.table import Cells
from glasshouse.engines.exchange import Exchange, exchange, exchange_counts, exposure, people_clusters

D, H = nw.col("d"), nw.col("h")


class Strangers(NamedTuple):
    """Members exchanged with strangers: among those asked about, and as members exposed among all of them."""

    found: Exchange
    exposed: Exposure

    def leak(self) -> ToldLeak:
        """What was found, as a Result takes it.

        Returns
        -------
        ToldLeak
        """
        return ToldLeak(
            holdout=self.found.counts.control_rate,
            difference=self.found.difference,
            difference_interval=self.found.interval,
            p_value=self.found.p,
            counts=self.found.counts,
            exposure=self.exposed,
        )


def exchange_cells(
    pair: Pair,
    cells: Cells,
    local: Callable[[], Cells],
    outcome: nw.Expr,
    *,
    among: nw.Expr | None = None,
    copied: nw.Expr | None = None,
    confidence: float = 0.95,
    name: str = "exchange",
) -> Strangers | None:
    """Exchange members and strangers whose outcome follows from their cell.

    Parameters
    ----------
    pair : Pair
        The tables.
    cells : Cells
        Counted with ``strangers=True``, with every column that ``outcome`` reads.
    local : callable
        Gives the same cells in memory, where records can be asked for.
    outcome : narwhals.Expr
        What the attack achieves in a cell, between 0 and 1; it must not tell members from strangers.
    among : narwhals.Expr, optional
        The cells whose people are asked about, under the same rule. Default: everybody.
    copied : narwhals.Expr, optional
        What the attack would achieve about somebody of the cell whose own record were released too; it says whom a leak
        could reach. Default: everybody would be found.
    confidence : float, default 0.95
        Of the interval.
    name : str
        The stream of the deals.

    Returns
    -------
    Strangers or None
        None without a holdout, or when nobody of either side is asked about.
    """
    if not cells.n_strangers:
        return None
    clusters = people_clusters(pair)
    scored = outcome.cast(nw.Float64)
    asked = nw.lit(True) if among is None else among
    added = nw.lit(1.0) if copied is None else copied.cast(nw.Float64)
    if clusters is not None:
        here = cells if cells.in_memory else local()
        return _of_records(here, clusters, scored, asked, added, confidence, name)
    table = cells.extended(outcome_=scored, asked_=asked, copied_=added).grouped(
        {by: nw.col(by) for by in ("outcome_", "asked_", "copied_")}, None, d=D.sum(), h=H.sum()
    )
    # in one order whatever the engine's, so that the deals are the same
    table = table.sort("outcome_", "asked_", "copied_")
    achieved, kept = table["outcome_"].to_numpy().astype(float), table["asked_"].to_numpy().astype(bool)
    d, h = table["d"].to_numpy().astype(np.int64), table["h"].to_numpy().astype(np.int64)

    def exchanged(mask: Bools) -> Exchange:
        scores, members, strangers = achieved[mask], d[mask], h[mask]
        if np.isin(scores, (0.0, 1.0)).all():
            return exchange_counts(
                float(scores @ members), int(members.sum()), float(scores @ strangers), int(strangers.sum()), confidence
            )
        return exchange(np.repeat(scores, members), np.repeat(scores, strangers), confidence=confidence, name=name)

    if not d[kept].sum() or not h[kept].sum():
        return None
    found = exchanged(kept)
    achieved = np.where(kept, achieved, 0.0)
    reach = _reach(achieved, table["copied_"].to_numpy().astype(float), d)
    whole = found if kept.all() else exchanged(np.ones(len(kept), bool))
    return Strangers(found, exposure(whole, reach=reach))


def _reach(now: Floats, copied: Floats, people: np.ndarray | None = None) -> float:
    """Share of those not yet exposed whom a copy of their record would expose."""
    left = float(np.average(1.0 - now, weights=people))
    return float(np.average(np.maximum(copied - now, 0.0), weights=people)) / left if left > 0 else 0.0


def _of_records(
    cells: Cells,
    clusters: tuple[np.ndarray, np.ndarray],
    outcome: nw.Expr,
    asked: nw.Expr,
    copied: nw.Expr,
    confidence: float,
    name: str,
) -> Strangers | None:
    """The same with every record's own outcome; labels go to whole clusters."""
    sides: list[tuple[Floats, Bools, Floats, np.ndarray]] = []
    for table, ids in zip(("original", "holdout"), clusters, strict=True):
        columns = cells.extended(outcome_=outcome, asked_=asked, copied_=copied).records(
            table, outcome=nw.col("outcome_"), asked=nw.col("asked_"), copied=nw.col("copied_")
        )
        present = ~np.ma.getmaskarray(columns["outcome"])  # a record dropped for its gaps is nobody to ask about
        scores, kept, after = (np.ma.getdata(columns[c])[present] for c in ("outcome", "asked", "copied"))
        sides.append((np.asarray(scores, float), np.asarray(kept, bool), np.asarray(after, float), ids[present]))
    (own, own_kept, own_copied, own_ids), (other, other_kept, _, other_ids) = sides
    if not own_kept.any() or not other_kept.any():
        return None
    some = (own_ids[own_kept], other_ids[other_kept])
    found = exchange(own[own_kept], other[other_kept], clusters=some, confidence=confidence, name=name)
    reach = _reach(own * own_kept, own_copied)
    if own_kept.all() and other_kept.all():
        return Strangers(found, exposure(found, some, reach))
    every = (own_ids, other_ids)
    whole = exchange(own * own_kept, other * other_kept, clusters=every, confidence=confidence, name=name)
    return Strangers(found, exposure(whole, every, reach))


def told(found: Strangers | None, hits: float, of: float) -> ToldLeak:
    """The leak as a Result takes it.

    Parameters
    ----------
    found : Strangers or None
        Members exchanged with strangers; None where they could not be compared.
    hits, of : float
        Successes among members and members asked about, which are then all there is.

    Returns
    -------
    ToldLeak
    """
    if found is not None:
        return found.leak()
    counts = Counts(hits, of) if of else None
    return ToldLeak(holdout=None, difference=None, difference_interval=None, p_value=None, counts=counts, exposure=None)
