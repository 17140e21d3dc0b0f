"""synthpop's whole disclosure table for one target or all of them, with exclusions, groupings and checks as
arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import narwhals as nw

from glasshouse.core.advice import READS_OFF
from glasshouse.core.calling import bound, combine_releases
from glasshouse.core.errors import InputError, closest
from glasshouse.core.intervals import wilson
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.data.pair import Pair
from glasshouse.disclosure.attribution.checks import one_way as one_way_check
from glasshouse.disclosure.attribution.checks import two_way as two_way_check
from glasshouse.disclosure.attribution.figures import (
    Exclusions,
    attribution_figures,
    exclusion_counts,
    record_columns,
    with_exclusions,
)
from glasshouse.disclosure.attribution.matching import (
    EXCESS_LIMIT,
    KNOWS,
    LIMITS,
    RAAB,
    leak_of_counts,
    no_match_warning,
)
from glasshouse.engines.cells.counting import Cells, Part, count_cells
from glasshouse.engines.cells.grouping import Grouping, as_grouping

CHECKS = ("one_way", "two_way")


@dataclass(frozen=True)
class TableOptions:
    """What the custodian asked to leave out or to group, for one target."""

    exclude_levels: tuple[Any, ...] = ()
    missing_target: bool = True
    missing_keys: Any = True
    exclude_pairs: tuple[tuple[str, Any, Any], ...] = ()
    denominator_limit: int | None = None
    key_groups: Mapping[str, Grouping] | None = None
    target_group: Grouping | None = None

    def exclusions(self, pair: Pair, cells: Cells) -> Exclusions:
        """The four conditions on cells and the limit, in synthpop's order."""
        assert cells.target is not None
        target, keys = cells.target, {part.name: part for part in cells.keys}
        levels = any_of([target.equals(level) for level in self.exclude_levels])
        # only when the original has missing targets: a gap the synthesiser invented gives nobody away
        drop_missing = not self.missing_target and pair.n_missing(target.name) > 0
        gaps = [part.missing() for name, part in keys.items() if not per_key(self.missing_keys, name, True)]
        pairs = []
        for key, key_level, target_level in self.exclude_pairs:
            if key not in keys:
                raise InputError(f"exclude_pairs names {key!r}, which is no key{closest(key, keys)}")
            pairs.append(keys[key].equals(key_level) & target.equals(target_level))
        return Exclusions(
            (levels, target.missing() if drop_missing else None, any_of(gaps), any_of(pairs)), self.denominator_limit
        )


def any_of(conditions: Sequence[nw.Expr]) -> nw.Expr | None:
    return reduce(or_, conditions) if conditions else None


def per_key(wish: Any, key: str, default: Any) -> Any:
    """An option given once for all keys or per key."""
    return wish.get(key, default) if isinstance(wish, Mapping) else wish


@measure(
    side="disclosure",
    family="attribution",
    threat="attribute",
    better="lower",
    needs=("keys", "target"),
    limit=EXCESS_LIMIT,
    cite=RAAB,
    attacker=KNOWS,
    caveats=LIMITS,
    group="matching",
    replicates="own",
    private=("one_way", "two_way", "exclude_levels", "exclude_pairs"),
    tier="fast",
    advice=READS_OFF,
)
def attribution(
    pair: Pair,
    *,
    exclude_levels: Sequence[Any] = (),
    missing_target: bool = True,
    missing_keys: Any = True,
    exclude_pairs: Sequence[tuple[str, Any, Any]] = (),
    denominator_limit: int | None = None,
    target_groups: Any = None,
    key_groups: Any = None,
    one_way: tuple[float, float] = (50, 0.90),
    two_way: tuple[float, float] = (4, 0.80),
    confidence: float = 0.95,
) -> Result:
    """The whole table of synthpop's disclosure(): identity, attribution and CAP figures with exclusions and checks.

    Value is DiSCO; ``details`` hold UiO UiS UiOiS repU Dorig Dsyn iS DiS DiSCO DiSDiO max_denom mean_denom baseCAPd
    CAPd CAPs DCAP TCAP
    tcap_certain tcap_conditional, how many records each exclusion removed (``Nexclusions``) and the findings of both
    checks.
    ``exclude_levels`` leaves target levels out that everybody knows, ``missing_target=False`` and
    ``missing_keys=False`` leave missing values out, ``exclude_pairs`` takes (key, key level, target level),
    ``denominator_limit`` cells with more records than that. Numeric columns are grouped by ``target_groups`` and
    ``key_groups`` (a number of quantile groups, or {key: number}) with breaks pooled over the original and every
    release. ``missing_keys`` and ``key_groups`` take one value or {key: value}.
    """
    target = pair.require_target()
    _check_options(pair, exclude_levels, missing_keys, denominator_limit, one_way, two_way, key_groups)
    options = TableOptions(
        tuple([exclude_levels] if isinstance(exclude_levels, str) else exclude_levels),
        missing_target,
        missing_keys,
        tuple(exclude_pairs),
        denominator_limit,
        _key_groupings(pair, key_groups),
        as_grouping(pair, target, target_groups),
    )
    _check_levels(pair, options)
    made = [
        bound(_attribution(pair.release(i), options, one_way, two_way, confidence), attribution, pair.release(i), {})
        for i in range(pair.m)
    ]
    return made[0] if pair.m == 1 else combine_releases(made, attribution)


def _attribution(
    pair: Pair, options: TableOptions, one_way: tuple[float, float], two_way: tuple[float, float], confidence: float
) -> Result:
    target = pair.require_target()

    def table(people: str = "original", in_memory: bool = False) -> tuple[Cells, Exclusions]:
        cells = count_cells(
            pair,
            target=target,
            people=people,
            key_groups=options.key_groups,
            target_group=options.target_group,
            in_memory=in_memory,
        )
        exclusions = options.exclusions(pair, cells)
        return with_exclusions(cells, exclusions), exclusions

    cells, exclusions = table()
    figures = attribution_figures(cells, options.denominator_limit)
    counts = figures.pop("_counts")
    singles, doubles = one_way_check(cells, *one_way), two_way_check(cells, *two_way)
    held = attribution_figures(table("holdout")[0])["_counts"] if pair.has_holdout else None
    warnings = no_match_warning(figures)
    if singles:
        warnings.append(
            f"one-way check: {percent(singles[0]['PctLevelDis'])} of the disclosive records have the same {target}; "
            "consider excluding that level (details['one_way'])"
        )
    if doubles:
        warnings.append(
            f"two-way check: {len(doubles)} pairs of {target} and a key level nearly go together in the original "
            "(details['two_way'])"
        )
    return Result(
        value=figures["DiSCO"],
        baseline=figures["chance"],
        **leak_of_counts(
            counts["disco"], counts["n"], None if held is None else (held["disco"], held["n"]), confidence
        ),
        interval=wilson(counts["disco"], counts["n"], confidence),
        details={
            **figures,
            "TCAP_matched": figures["TCAP"],
            "TCAP_certain": figures["tcap_certain"],
            "TCAP_conditional": figures["tcap_conditional"],
            "Norig": counts["n"],
            "Nexclusions": exclusion_counts(cells, exclusions, counts),
            "one_way": singles,
            "two_way": doubles,
            "n_dropped": cells.dropped,
        },
        sentence=f"The release gives the right {target} away with certainty for {percent(figures['DiSCO'])} of "
        f"people; in the original itself the keys would do so for {percent(figures['Dorig'])}.",
        warnings=warnings,
        records=lambda: record_columns(table(in_memory=True)[0]),
        flag="at_risk",
        rank="cap",
    )


@measure(
    side="disclosure",
    family="attribution",
    threat="attribute",
    better="lower",
    needs=("keys",),
    limit=EXCESS_LIMIT,
    cite=RAAB,
    attacker=KNOWS,
    caveats=LIMITS,
    group="matching",
    replicates="own",
    private=("one_way", "two_way", "exclude_levels", "exclude_pairs"),
    tier="full",
    advice=READS_OFF,
)
def attribution_all(
    pair: Pair,
    *,
    targets: Sequence[str] | None = None,
    exclude_levels: Mapping[str, Sequence[Any]] | None = None,
    missing_target: Any = True,
    missing_keys: Any = True,
    exclude_pairs: Mapping[str, Sequence[tuple[str, Any, Any]]] | None = None,
    denominator_limit: int | None = None,
    target_groups: Any = None,
    key_groups: Any = None,
    one_way: tuple[float, float] = (50, 0.90),
    two_way: tuple[float, float] = (4, 0.80),
) -> Result:
    """Attribute disclosure for every target at once, the key classes shared; the worst target is the headline.

    ``to_frame()`` has one row per target, sorted by DiSCO: Dorig, DiSCO, CAPd, DCAP, checks, and with a holdout the
    train/control
    comparison R = (r_train - r_control) / (1 - r_control) of both measures (Raab 2024, Table 3): the part that being
    in the data adds. Options are those of ``attribution``; ``exclude_levels``, ``exclude_pairs``, ``missing_target``
    and ``target_groups`` may be given per target.
    """
    chosen = [c for c in pair.columns if c not in pair.keys] if targets is None else list(targets)
    if not chosen:
        raise InputError("there is no column left to be a target: every shared column is a key")
    for name, given in (("exclude_levels", exclude_levels), ("exclude_pairs", exclude_pairs)):
        for target in given or {}:
            if target not in chosen:
                raise InputError(f"{name} names {target!r}, which is no target{closest(target, chosen)}")
    rows, results = [], {}
    for target in chosen:
        groups = per_key(target_groups, target, None)
        result = attribution.run(
            pair.replace(target=target) if pair.target != target else pair,
            exclude_levels=(exclude_levels or {}).get(target, ()),
            missing_target=per_key(missing_target, target, True),
            missing_keys=missing_keys,
            exclude_pairs=(exclude_pairs or {}).get(target, ()),
            denominator_limit=denominator_limit,
            target_groups=groups if pair.is_numeric(target) else None,
            key_groups=key_groups,
            one_way=one_way,
            two_way=two_way,
        )
        results[target] = result
        rows.append(_row(pair, target, result))
    rows.sort(key=lambda row: -1.0 if row["DiSCO"] is None else row["DiSCO"])
    worst = max(results, key=lambda t: -1.0 if results[t].excess is None else float(results[t].excess or 0.0))
    top = results[worst]
    return Result(
        value=top.value,
        baseline=top.baseline,
        holdout=top.holdout,
        interval=top.interval,
        difference=top.difference,
        difference_interval=top.difference_interval,
        p_value=top.p_value,
        counts=top.counts,
        details={
            "worst_target": worst,
            "targets": len(rows),
            **{row["target"]: {k: v for k, v in row.items() if k != "target"} for row in rows},
        },
        sentence=f"Of {len(rows)} targets, {worst} is given away most beyond luck: {top.sentence}",
        warnings=[f"{target}: {w}" for target, r in results.items() for w in r.warnings],
        table=rows,
    )


def _row(pair: Pair, target: str, result: Result) -> dict[str, Any]:
    """One line of the table; means over the releases where there are several."""
    parts = result.replicates or [result]
    figures = {
        name: _mean([p.details[name] for p in parts])
        for name in ("UiO", "repU", "Dorig", "DiSCO", "DiSDiO", "CAPd", "DCAP", "TCAP", "baseCAPd", "iS")
    }
    row: dict[str, Any] = {"target": target, **figures}
    row["excess"] = _mean([p.excess for p in parts])
    row["one_way_checks"] = max(len(p.details["one_way"]) for p in parts)
    row["two_way_checks"] = max(len(p.details["two_way"]) for p in parts)
    if pair.has_holdout:
        control = [attribution_figures(_control(pair.release(i), target)) for i in range(pair.m)]
        for name in ("DiSCO", "DCAP"):
            held = _mean([c[name] for c in control])
            row[f"{name}_control"] = held
            row[f"{name}_R"] = (
                None if held is None or held >= 1 or row[name] is None else (row[name] - held) / (1 - held)
            )
    return row


def _control(pair: Pair, target: str) -> Cells:
    return with_exclusions(count_cells(pair, target=target, people="holdout"), Exclusions())


def _mean(figures: Sequence[float | None]) -> float | None:
    known = [f for f in figures if f is not None]
    return sum(known) / len(known) if known else None


def _key_groupings(pair: Pair, wish: Any) -> dict[str, Grouping]:
    """Groupings per key; a number given once is meant for the numeric keys only."""
    found = {}
    for key in pair.keys:
        own = per_key(wish, key, None)
        if own and (pair.is_numeric(key) or isinstance(wish, Mapping)):
            grouping = as_grouping(pair, key, own)
            if grouping is not None:
                found[key] = grouping
    return found


def _check_options(
    pair: Pair, exclude_levels: Any, missing_keys: Any, limit: int | None, one_way: Any, two_way: Any, key_groups: Any
) -> None:
    if limit is not None and (limit < 1 or int(limit) != limit):
        raise InputError(f"denominator_limit must be a positive whole number, not {limit}")
    for name, given in (("missing_keys", missing_keys), ("key_groups", key_groups)):
        for key in given if isinstance(given, Mapping) else ():
            if key not in pair.keys:
                raise InputError(f"{name} names {key!r}, which is no key{closest(key, pair.keys)}")
    for name, limits in (("one_way", one_way), ("two_way", two_way)):
        if len(limits) != 2 or not 0 <= limits[1] <= 1:
            raise InputError(f"{name} takes a count and a share, e.g. (50, 0.90)")


def _check_levels(pair: Pair, options: TableOptions) -> None:
    """A misspelt level would silently exclude nothing. Lazy tables are asked for the level, not collected."""
    if not options.exclude_levels and not options.exclude_pairs:
        return
    cells = count_cells(
        pair.release(0), target=pair.target, key_groups=options.key_groups, target_group=options.target_group
    )
    assert cells.target is not None
    parts: dict[str, Part] = {p.name: p for p in cells.keys}
    wanted = [("exclude_levels", cells.target, level) for level in options.exclude_levels]
    for key, key_level, target_level in options.exclude_pairs:
        if key in parts:
            wanted += [("exclude_pairs", parts[key], key_level), ("exclude_pairs", cells.target, target_level)]
    for option, part, level in wanted:
        found = cells.totals(n=nw.when(part.equals(level)).then(nw.col("d")).otherwise(nw.lit(0)).sum())["n"]
        if not found:
            raise InputError(f"{option} names a level of {part.name!r} that no original record has; check its spelling")
