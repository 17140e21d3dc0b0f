"""The release looked up for real people of either side, in the data or not."""

from __future__ import annotations

from typing import NamedTuple

import narwhals as nw

from glasshouse.disclosure.attribution.figures import CORRECT, D, only, part, ratio, within
from glasshouse.engines.cells.counting import Cells


class People(NamedTuple):
    """The release looked up for real people of either side: strangers alone, and everybody together."""

    strangers_disco: float | None
    strangers_dcap: float | None
    excess: float


def people_figures(cells: Cells) -> People:
    """DiSCO and DCAP of holdout people, and DiSCO's excess over luck among all real people.

    Parameters
    ----------
    cells : Cells
        From ``with_exclusions``, counted with strangers.

    Returns
    -------
    People
        The excess does not look at who was in the data, so that a target may be chosen by it.
    """
    n, m = cells.n_original, cells.n_strangers
    h = nw.col("h") if m else nw.lit(0)
    real = cells.extended(r_=D + h)
    real = real.extended(rq_=nw.col("r_").sum().over(*cells.by), rt_=nw.col("r_").sum().over("t"))
    stays = CORRECT & (nw.col("step") == 0)
    sums = real.totals(
        hits=within(nw.col("r_"), stays),
        lucky=within((nw.col("rq_") * nw.col("rt_")).cast(nw.Float64), stays),
        disco=within(h, stays),
    )
    shared = h.cast(nw.Float64) * ratio(nw.col("os"), nw.col("osq"))
    sums |= real.sums(dcap=only(shared, nw.col("step") == 0))
    everybody = n + m
    luck = float(sums["lucky"]) / everybody**2
    excess = (sums["hits"] / everybody - luck) / (1 - luck) if luck < 1 else 0.0
    return People(part(sums["disco"], m), part(sums["dcap"], m), excess)
