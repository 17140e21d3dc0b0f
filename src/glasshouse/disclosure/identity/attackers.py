"""Three attackers who look a person up by the keys: the prosecutor, the journalist and the marketer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import narwhals as nw
import numpy as np

from glasshouse.core.advice import STANDS_ALONE
from glasshouse.core.errors import InputError
from glasshouse.core.limits import Limit
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.data.pair import Pair
from glasshouse.disclosure.identity.tables import (
    STRUCTURE,
    given_share,
    missing_notes,
    refuse_zero_weights,
    sizes_of,
    spoken,
    structure_note,
    supposed,
)
from glasshouse.disclosure.roles import KeyGroups, spoken_keys
from glasshouse.engines.cells.classes import groupings, has_weights
from glasshouse.engines.cells.counting import count_cells

ATTACKERS = ("prosecutor", "journalist", "marketer")
POPULATION = (
    "to know the population: give sampling_fraction= (the share of the population in the file), weights= or population="
)


@measure(
    side="disclosure",
    family="identity",
    threat="identity",
    better="lower",
    needs=("keys",),
    table="single",
    limit=Limit("value", warn=0.1, fail=0.2, why="mean risk of 0.1 (riskutility); fail above 0.2: glasshouse default"),
    cite="El Emam (2013), Guide to the de-identification of personal health information; ARX (Prasser et al. 2020)",
    attacker=(
        "the keys of one person known to be in the file (prosecutor), of one person (journalist), of many people "
        "(marketer)"
    ),
    caveats=STRUCTURE,
    group="classes",
    tier="fast",
    advice=STANDS_ALONE,
    riskutility=("Attacker Risk", lambda r: {"value": r.value}),
)
def attacker_risk(
    pair: Pair,
    *,
    table: str = "released",
    attacker: str = "prosecutor",
    sampling_fraction: float | None = None,
    population: object = None,
    threshold: float = 0.1,
    key_groups: KeyGroups = None,
) -> Result:
    """Mean probability that a guess among the records with a person's keys is right, for the prosecutor, the
    journalist or the marketer.

    The prosecutor knows that the person is in the file, the journalist does not, and the marketer wants as many
    people as possible.

    Parameters
    ----------
    pair : Pair
        The tables with keys. Missing keys count as a level of their own unless the pair was given another rule.
    table : {"released", "original"}, default "released"
        The table attacked.
    attacker : {"prosecutor", "journalist", "marketer"}, default "prosecutor"
        Whose risk is the headline; the others stand in the details where they can be computed.
    sampling_fraction : float or None, default None
        Share of the population in the table, in (0, 1]. It has no default because it divides the risk.
    population : frame or None, default None
        A table of the whole population with the keys; the file must be a part of it.
    threshold : float, default 0.1
        The risk above which records are counted (``*_share_above``).
    key_groups : int, sequence of float, mapping or None, default None
        Groups of numeric keys: one wish for all of them, or {key: number of groups or breaks}.

    Returns
    -------
    Result
        ``value`` is the mean risk for the attacker chosen; there is no baseline. ``details`` hold mean, largest risk
        and share above the threshold per attacker, and ``population_from``: "population table", "weights" or
        "sampling fraction". ``records`` give ``prosecutor`` = 1/fk and the group size ``fk``, for the prosecutor only.

    Notes
    -----
    With u groups of sizes f_q in the file of n records and F_q in the population::

        prosecutor = u / n                                          record i: 1 / f_i
        journalist = max(u / sum_q F_q, sum_q (f_q / F_q) / n)      record i: 1 / F_i
        marketer   = sum_q (f_q / F_q) / n

    F comes from the population table, else from the sum of weights, else it is f / sampling_fraction.

    References
    ----------
    .. [1] El Emam, K. (2013), Guide to the De-Identification of Personal Health Information. CRC Press.
    .. [2] Prasser, F., Eicher, J., Spengler, H., Bild, R. and Kuhn, K. A. (2020), Flexible data anonymization using
       ARX: current status and challenges ahead. Software: Practice and Experience 50.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> round(gh.disclosure.attacker_risk(pair).value, 3)
    0.243
    >>> round(gh.disclosure.attacker_risk(pair, attacker="journalist", sampling_fraction=0.1).value, 4)
    0.0243
    """
    if attacker not in ATTACKERS:
        raise InputError(f"attacker={attacker!r}: choose one of {', '.join(ATTACKERS)}")
    sizes = sizes_of(pair, table, "level", key_groups=key_groups)
    n, f = sizes.n, sizes.f
    prosecutor = {
        "mean": float((sizes.number / f).sum() / n),
        "max": float(1 / f.min()),
        "share_above": float(sizes.number[1 / f > threshold + 1e-12].sum()) / n,
    }
    known = {"prosecutor": prosecutor}
    whole = _population_classes(pair, table, sampling_fraction, population, key_groups)
    if whole is not None:
        marketer = float((whole.records / whole.size).sum() / n)
        average = float(whole.classes.sum() / (whole.size * whole.classes).sum())
        largest = float(1 / whole.size.min())
        known["journalist"] = {
            "mean": max(average, marketer),
            "max": largest,
            "share_above": float(whole.records[1 / whole.size > threshold + 1e-12].sum()) / n,
        }
        known["marketer"] = {"mean": marketer, "max": largest}
    if attacker not in known:
        raise InputError(f"the {attacker} attacker needs {POPULATION}")
    chosen = known[attacker]
    details: dict[str, object] = {
        f"{name}_{figure}": x for name, figures in known.items() for figure, x in figures.items()
    }
    details |= {
        "n_classes": sizes.classes,
        "n": n,
        "n_dropped": sizes.dropped,
        "share_unique": sizes.records_of(1) / n,
        "threshold": threshold,
        "population_from": None if whole is None else whole.source,
        "sampling_fraction": sampling_fraction,
        "table": table,
    }

    def records() -> Mapping[str, np.ndarray]:
        found = sizes.records()
        return {"prosecutor": 1.0 / found["fk"], "fk": found["fk"]}

    what = {
        "prosecutor": "knows that a person is in the file",
        "journalist": "does not know whether a person is in the file",
        "marketer": "wants to identify as many people as possible",
    }[attacker]
    notes = [] if whole is not None else [f"the journalist and the marketer need {POPULATION}"]
    return Result(
        value=chosen["mean"],
        details=details,
        sentence=supposed(
            pair,
            table,
            f"An attacker who {what} picks the right record of {spoken(pair, table)} by {spoken_keys(pair)} with "
            f"probability {percent(chosen['mean'])} on average and {percent(chosen['max'])} at worst.",
            f"an attacker who {what} would pick the right one by {spoken_keys(pair)} with probability "
            f"{percent(chosen['mean'])} on average. The records of a synthetic table belong to nobody.",
        ),
        warnings=[*structure_note(pair, table), *missing_notes(sizes), *notes],
        records=records if attacker == "prosecutor" else None,
        flag="prosecutor" if attacker == "prosecutor" else None,
        plot_data={
            "attackers": {
                "attacker": list(known),
                "mean": [figures["mean"] for figures in known.values()],
                "max": [figures["max"] for figures in known.values()],
            }
        },
    )


class PopulationClasses(NamedTuple):
    """Sizes of the file's key classes in the population, the records and classes that have them, and their source."""

    size: np.ndarray
    records: np.ndarray
    classes: np.ndarray
    source: str


def _population_classes(
    pair: Pair, table: str, sampling_fraction: float | None, population: object, key_groups: KeyGroups
) -> PopulationClasses | None:
    """None where nothing says how large the population is."""
    if population is not None:
        given = pair._given
        whole = Pair(population, given[table], keys=pair.keys, schema=given["schema"], missing=given["missing"])
        cells = count_cells(whole, key_groups=groupings(whole, key_groups))
        d, s = nw.col("d"), nw.col("s")
        counts = cells.grouped({"whole": d, "part": s}, s > 0, classes=nw.len())
        F, f, classes = (counts[c].to_numpy().astype(float) for c in ("whole", "part", "classes"))
        if (f > F).any():
            raise InputError(
                f"the {table} table is not a subset of the population on these keys: "
                f"{int(classes[f > F].sum()):,} key combinations are more frequent in it than in the population"
            )
        return PopulationClasses(F, f * classes, classes, "population table")
    if sampling_fraction is None and not has_weights(pair, table):
        return None
    refuse_zero_weights(pair, table)
    sizes = sizes_of(pair, table, "level", key_groups=key_groups)
    records, classes = sizes.number.astype(float), sizes.counts["classes"].to_numpy().astype(float)
    if sampling_fraction is not None:
        return PopulationClasses(sizes.f / given_share(sampling_fraction), records, classes, "sampling fraction")
    return PopulationClasses(np.maximum(sizes.F, sizes.f), records, classes, "weights")
