"""Identity risk seen from the population: three attackers, and how many file uniques are unique among everybody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np

from glasshouse.core.advice import STANDS_ALONE
from glasshouse.core.errors import InputError, NotApplicable
from glasshouse.core.limits import Limit
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.data.pair import Pair
from glasshouse.disclosure.identity.population_estimators import all_estimates, dankar
from glasshouse.disclosure.identity.tables import (
    STRUCTURE,
    is_synthetic,
    missing_notes,
    population_share,
    refuse_zero_weights,
    sizes_of,
    spoken,
    spoken_keys,
    structure_note,
)
from glasshouse.engines.cells.classes import groupings, has_weights
from glasshouse.engines.cells.counting import count_cells

ATTACKERS = ("prosecutor", "journalist", "marketer")
NEEDS_POPULATION = (
    "needs to know the population: give sampling_fraction= (the share of the population in the file), weights= "
    "or population="
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
    population: Any = None,
    threshold: float = 0.1,
    key_groups: Any = None,
) -> Result:
    """Mean probability that a guess among the records with a person's keys is right, for the prosecutor, the
    journalist or the marketer.

    Prosecutor (knows the person is in the file): 1/f_i, mean u/n with u classes. Journalist (does not): 1/F_i, mean
    max(u / sum_q F_q, (1/n) sum_q f_q / F_q). Marketer (wants many): (1/n) sum_q f_q / F_q. F comes from a population
    table, else from the sum of weights, else f / sampling_fraction, which has no default because it divides the risk.
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
    F, per_class, source = _population_sizes(pair, table, sampling_fraction, population, key_groups)
    known: dict[str, dict[str, float] | None] = {"prosecutor": prosecutor, "journalist": None, "marketer": None}
    if F is not None:
        size, records_with, classes = F, per_class["records"], per_class["classes"]
        marketer = float((records_with / size).sum() / n)
        average = float(classes.sum() / (size * classes).sum())
        known["marketer"] = {"mean": marketer, "max": float(1 / size.min())}
        known["journalist"] = {
            "mean": max(average, marketer),
            "max": float(1 / size.min()),
            "share_above": float(records_with[1 / size > threshold + 1e-12].sum()) / n,
        }
    chosen = known[attacker]
    if chosen is None:
        raise InputError(f"the {attacker} attacker {NEEDS_POPULATION}")
    details: dict[str, Any] = {
        f"{name}_{figure}": x for name, figures in known.items() if figures for figure, x in figures.items()
    }
    details |= {
        "n_classes": sizes.classes,
        "n": n,
        "n_dropped": sizes.dropped,
        "share_unique": sizes.records_of(1) / n,
        "threshold": threshold,
        "population_from": source,
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
    notes = [] if F is not None else [f"the journalist and the marketer {NEEDS_POPULATION.replace('needs', 'need', 1)}"]
    return Result(
        value=chosen["mean"],
        details=details,
        sentence=(
            f"An attacker who {what} picks the right record of {spoken(pair, table)} by {spoken_keys(pair)} with "
            f"probability {percent(chosen['mean'])} on average and {percent(chosen['max'])} at worst."
        ),
        warnings=[*structure_note(pair, table), *missing_notes(sizes), *notes],
        records=records if attacker == "prosecutor" else None,
        flag="prosecutor" if attacker == "prosecutor" else None,
        plot_data={
            "attackers": {
                "attacker": [k for k, v in known.items() if v],
                "mean": [v["mean"] for v in known.values() if v],
                "max": [v["max"] for v in known.values() if v],
            }
        },
    )


def _population_sizes(
    pair: Pair, table: str, sampling_fraction: float | None, population: Any, key_groups: Any
) -> tuple[np.ndarray | None, dict[str, np.ndarray], str | None]:
    """Population class sizes with the records and classes that have them, and where they come from."""
    if population is not None:
        whole = Pair(
            population, pair._given[table], keys=pair.keys, schema=pair._given["schema"], missing=pair._given["missing"]
        )
        cells = count_cells(whole, key_groups=groupings(whole, key_groups))
        d, s = nw.col("d"), nw.col("s")
        counts = cells.grouped({"whole": d, "part": s}, s > 0, classes=nw.len())
        F, f, classes = (counts[c].to_numpy().astype(float) for c in ("whole", "part", "classes"))
        if (f > F).any():
            raise InputError(
                f"the {table} table is not a subset of the population on these keys: "
                f"{int(classes[f > F].sum()):,} key combinations are more frequent in it than in the population"
            )
        return F, {"records": f * classes, "classes": classes}, "population table"
    if sampling_fraction is None and not has_weights(pair, table):
        return None, {}, None
    refuse_zero_weights(pair, table)
    sizes = sizes_of(pair, table, "level", key_groups=key_groups)
    counted = {"records": sizes.number.astype(float), "classes": sizes.counts["classes"].to_numpy().astype(float)}
    if sampling_fraction is not None:
        share = population_share(pair, table, sampling_fraction)
        assert share is not None
        return sizes.f / share, counted, "sampling fraction"
    return np.maximum(sizes.F, sizes.f), counted, "weights"


@measure(
    side="disclosure",
    family="identity",
    threat="identity",
    better="lower",
    needs=("keys",),
    table="single",
    cite=(
        "Zayatz (1991); Hoshino (2001), Pitman's sampling formula; Chen and Keller-McNulty (1998), shifted "
        "negative binomial; Dankar, El Emam, Neisa and Roffey (2012)"
    ),
    attacker="that a person is alone in the file, and a register of the population",
    caveats=(
        "no estimator is nearest everywhere: read the range; on synthetic data it has a meaning on the original only"
    ),
    group="classes",
    tier="fast",
    advice=STANDS_ALONE,
    riskutility=("Population Uniqueness", lambda r: {"value": r.value}),
)
def population_uniqueness(
    pair: Pair,
    *,
    table: str = "released",
    sampling_fraction: float | None = None,
    population_size: int | None = None,
    rule: str | None = None,
    key_groups: Any = None,
) -> Result:
    """Probability that a record alone in the file is alone in the population too, by three published estimators shown
    as a range.

    From the number n_j of classes with j records and the sampling fraction: Zayatz, Pitman's sampling formula by
    maximum likelihood and the shifted negative binomial. The headline is the largest of the three (the cautious end)
    and the interval is their range, not a confidence interval. ``rule="dankar"`` reads the one that Dankar et al.
    (2012) would choose.
    """
    if rule not in (None, "dankar"):
        raise InputError(f"rule={rule!r}: choose 'dankar' or leave it out")
    sizes = sizes_of(pair, table, "level", key_groups=key_groups)
    n = sizes.n
    if population_size is not None:
        if population_size < n:
            raise InputError(f"population_size={population_size:,} is smaller than the {n:,} records of the file")
        N = int(population_size)
    else:
        share = population_share(pair, table, sampling_fraction)
        if share is None:
            raise NotApplicable(
                "population_uniqueness needs the size of the population: give sampling_fraction= (in (0, 1]), "
                "population_size= or weights="
            )
        N = max(n, round(n / share))
    histogram = sizes.histogram()
    j, counts = np.array(list(histogram)), np.array(list(histogram.values()))
    single = histogram.get(1, 0)
    fraction = n / N
    notes = [*structure_note(pair, table), *missing_notes(sizes)]
    if is_synthetic(pair, table):
        notes.append("the classes of a synthetic file are not a sample of the population; use table='original'")
    if sizes.rule == "wildcard" and sizes.incomplete:
        raise NotApplicable(
            "population uniqueness counts classes that do not overlap; use missing='level' or missing='drop'"
        )
    if single == 0 or n == N:
        known = 1.0 if single else 0.0
        estimates = {
            name: {"p_conditional": known, "population_uniques": float(single)}
            for name in ("zayatz", "pitman_mle", "shifted_nb")
        }
        failed: dict[str, str] = {}
    else:
        estimates, failed = all_estimates(j, counts, N)
    notes += [f"{name} has no estimate: {why}" for name, why in failed.items()]
    ps = {name: e["p_conditional"] for name, e in estimates.items()}
    chosen = dankar(estimates, fraction)
    low, high = min(ps.values()), max(ps.values())
    value = high if rule is None else ps[chosen] if chosen else None
    if value is None:
        raise NotApplicable("none of the estimators the rule chooses among has a solution on these class sizes")
    details: dict[str, Any] = {
        **estimates,
        **dict.fromkeys(failed),
        "low": low,
        "high": high,
        "dankar": chosen,
        "sample_uniques": single,
        "n_classes": sizes.classes,
        "n": n,
        "population_size": N,
        "sampling_fraction": fraction,
        "n_dropped": sizes.dropped,
        "table": table,
        "expected_population_uniques_low": single * low,
        "expected_population_uniques_high": single * high,
    }
    if len(ps) > 1:
        reach = f"between {percent(low)} and {percent(high)} ({single * low:,.0f} to {single * high:,.0f} records)"
    else:
        reach = f"{percent(high)} ({single * high:,.0f} records, by one estimator only)"
    return Result(
        value=value,
        interval=(low, high),
        details=details,
        sentence=(
            f"{single:,} of the {n:,} records of {spoken(pair, table)} are alone on {spoken_keys(pair)}; of these "
            f"{reach} are estimated to be alone in the population of {N:,} too."
        ),
        warnings=notes,
        plot_data={"estimates": {"estimator": list(ps), "p": list(ps.values())}},
    )
