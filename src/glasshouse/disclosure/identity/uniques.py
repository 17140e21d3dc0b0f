"""Replicated uniques: who stands alone on the keys in the original, in the release, in both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

import narwhals as nw
import numpy as np

from glasshouse.core.advice import STANDS_ALONE
from glasshouse.core.evidence import Counts
from glasshouse.core.intervals import wilson
from glasshouse.core.limits import LEAK_LIMIT
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.data.pair import Pair
from glasshouse.disclosure.roles import KeyGroups, automatic, grouped_note, key_groupings, spoken_keys
from glasshouse.disclosure.wording import beside_strangers
from glasshouse.engines.cells.counting import Cells, count_cells
from glasshouse.engines.cells.strangers import D, H, exchange_cells, told

RAAB = "Raab, Nowok and Dibben (2025), Practical privacy metrics for synthetic data (repU)"
S = nw.col("s")


@measure(
    side="disclosure",
    family="identity",
    threat="identity",
    better="lower",
    needs=("keys",),
    limit=LEAK_LIMIT,
    population=True,
    cite=RAAB,
    attacker="the keys of real people, and that nobody else shares them",
    group="uniques",
    caveats="a replicated unique need not be the same person; the figure grows with every key added",
    tier="fast",
    on_map=True,
    advice=STANDS_ALONE,
)
def uniques(pair: Pair, *, key_groups: KeyGroups = "auto", confidence: float = 0.95) -> Result:
    """Share of original records that are alone on the keys in the original and in the release (replicated uniques,
    repU).

    An attacker who takes the release for real data looks a person up by the keys, finds one record, and knows that
    nobody else has these keys.

    Parameters
    ----------
    pair : Pair
        The tables with keys. Missing keys count as a level of their own; "drop" leaves such records out.
    key_groups : int, sequence of float, mapping, "auto" or None, default "auto"
        Groups of numeric keys: a number of quantile groups, the breaks, "auto" for deciles of the release where a
        key has more than 20 values and fewer than 5 people share one, or None for exact values; one wish for all of
        them, or {key: wish}.
    confidence : float, default 0.95
        Level of the intervals.

    Returns
    -------
    Result
        ``value`` is repU with Wilson's interval; ``baseline`` is what a release of independent columns would
        replicate. ``counts``, ``holdout``, ``difference`` and ``p_value`` compare original with holdout people, who
        count here when they are alone among both together: the value itself cannot be compared, because fewer people
        are alone in a larger table.
        ``details`` hold UiO, UiS, UiOiS and repU, the counts behind them and ``share_of_uniques`` (repU / UiO).
        ``records`` say who is ``unique_original``, ``found`` and ``replicated_unique``, with both class sizes.

    Notes
    -----
    With d_q and s_q records of key combination q in the original and in the release, Nd and Ns in all::

        UiO   = #{q: d_q = 1} / Nd                  unique in the original
        UiS   = #{q: s_q = 1} / Ns                  unique in the release
        UiOiS = #{q: d_q = 1, s_q > 0} / Nd         ... and found in the release
        repU  = #{q: d_q = 1, s_q = 1} / Nd         ... and unique there too

    so that repU <= UiOiS <= UiO. In a release of independent columns with the same margins, q turns up a Poisson
    number of times with mean lambda_q = Ns prod_k (share of its level of key k), and the baseline is
    sum over uniques of lambda_q exp(-lambda_q) / Nd.

    Members and strangers: with h_q records of q in the holdout, a person is flagged when d_q + h_q = 1 and s_q = 1
    (once in the release, as repU asks). That does not look at who was in the data, so labels are exchanged (Fisher's
    exact test; of whole clusters, where the pair has them).

    References
    ----------
    .. [1] Raab, G. M., Nowok, B. and Dibben, C. (2025), Practical privacy metrics for synthetic data.

    Examples
    --------
    >>> import glasshouse as gh
    >>> result = gh.disclosure.uniques(gh.data.load("health").pair())
    >>> round(result.value, 3), round(result.baseline, 3), round(result.holdout, 3)
    (0.022, 0.017, 0.008)
    """
    groups = key_groupings(pair, key_groups)

    def count(in_memory: bool = False) -> Cells:
        return count_cells(pair, key_groups=groups, strangers=True, in_memory=in_memory)

    cells = count()
    figures = _unique_figures(cells)
    alone = (D + H if cells.n_strangers else D) == 1
    found = exchange_cells(
        pair, cells, lambda: count(True), alone & (S == 1), copied=alone, confidence=confidence, name="uniques"
    )
    leak = told(found, figures["n_replicated"], figures["n"])
    n, replicated = figures["n"], figures["n_replicated"]
    share = figures["repU"] / figures["UiO"] if figures["UiO"] else None
    warnings = grouped_note(automatic(pair, key_groups))
    if pair.missing == "wildcard":
        warnings.append(
            "missing='wildcard' has no meaning when two tables are matched; missing was treated as a value of its own"
        )
    if share is not None and share > 0.5:
        warnings.append(f"{percent(share)} of the people who are unique in the original are unique in the release too")

    def records() -> Mapping[str, np.ndarray]:
        return count(True).records(
            unique_original=D == 1,
            found=S > 0,
            replicated_unique=(D == 1) & (S == 1),
            original_class=D,
            released_class=S,
        )

    return Result(
        value=figures["repU"],
        baseline=figures["expected"],
        interval=wilson(replicated, n, confidence),
        **leak,
        details={**figures, "share_of_uniques": share},
        sentence=_members(leak["counts"], leak["p_value"])
        + (
            f"{'of' if found else 'Of'} {n:,} people {percent(figures['UiO'])} are alone on {spoken_keys(pair)}; "
            f"{percent(figures['repU'])} of all people are alone in the release too ({replicated:,}); unrelated "
            f"columns would give {percent(figures['expected'])}{'' if found else beside_strangers(None, None)}."
        ),
        warnings=warnings,
        records=records,
        flag="replicated_unique",
        plot_data={
            "steps": {
                "alone in the original": figures["UiO"],
                "... and found in the release": figures["UiOiS"],
                "... and alone there too": figures["repU"],
                "expected of unrelated columns": figures["expected"],
            }
        },
    )


def _members(counts: Counts | None, p: float | None) -> str:
    """Members against strangers, said before anything else; nothing without a holdout."""
    if counts is None or counts.control_rate is None:
        return ""
    return (
        f"{percent(counts.rate)} of people are alone among all real people and alone in the release"
        f"{beside_strangers(counts.control_rate, p)}. As a fact about the population: "
    )


class Uniques(TypedDict):
    """Figures under the names of the paper, and the counts behind them."""

    UiO: float
    UiS: float
    UiOiS: float
    repU: float
    expected: float
    n: int
    n_unique_original: int
    n_unique_released: int
    n_found: int
    n_replicated: int
    n_dropped: int


def _unique_figures(cells: Cells) -> Uniques:
    """Sums over the key classes; the expected share needs each key's released margin, which is a window over the same
    table.
    """
    n, m = cells.n_original, cells.n_released
    levelled = cells.extended(**{f"level{i}": part.value for i, part in enumerate(cells.keys)})
    rate: nw.Expr = nw.lit(float(m))
    for i in range(len(cells.keys)):
        rate = rate * (S.sum().over(f"level{i}").cast(nw.Float64) / float(m))
    sums = levelled.extended(rate=rate).sums(
        uio=(D == 1).cast(nw.Int64),
        uis=(S == 1).cast(nw.Int64),
        uiois=((D == 1) & (S > 0)).cast(nw.Int64),
        repu=((D == 1) & (S == 1)).cast(nw.Int64),
        expected=nw.when(D == 1).then(nw.col("rate") * (nw.col("rate") * -1.0).exp()).otherwise(nw.lit(0.0)),
    )
    return Uniques(
        UiO=sums["uio"] / n,
        UiS=sums["uis"] / m,
        UiOiS=sums["uiois"] / n,
        repU=sums["repu"] / n,
        expected=float(sums["expected"]) / n,
        n=n,
        n_unique_original=sums["uio"],
        n_unique_released=sums["uis"],
        n_found=sums["uiois"],
        n_replicated=sums["repu"],
        n_dropped=cells.dropped,
    )
