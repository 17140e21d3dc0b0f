"""synthpop's disclosure table for every target at once, the worst target being the headline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from glasshouse.core.advice import READS_OFF
from glasshouse.core.calling import bound
from glasshouse.core.errors import InputError, closest
from glasshouse.core.limits import LEAK_LIMIT
from glasshouse.core.measure import measure
from glasshouse.data.pair import Pair
from glasshouse.disclosure.attribution.checks import AllTargetsResult, Level
from glasshouse.disclosure.attribution.figures import Shares
from glasshouse.disclosure.attribution.matching import KNOWS, LIMITS, RAAB
from glasshouse.disclosure.attribution.table import POINTED, Looked, look_up, over_releases
from glasshouse.disclosure.attribution.table_options import (
    Excluded,
    MissingKeys,
    Threshold,
    per_key,
    table_options,
)
from glasshouse.disclosure.roles import Groups, KeyGroups, grouped_note
from glasshouse.engines.cells.grouping import AUTO, Grouping

Shown: TypeAlias = Literal["UiO", "repU", "Dorig", "DiSCO", "DiSDiO", "CAPd", "DCAP", "TCAP", "baseCAPd", "iS"]
SHOWN: tuple[Shown, ...] = get_args(Shown)
COMPARED: tuple[Shown, ...] = ("DiSCO", "DCAP")


@measure(
    side="disclosure",
    family="attribution",
    threat="attribute",
    better="lower",
    needs=("keys",),
    limit=LEAK_LIMIT,
    population=True,
    cite=RAAB,
    attacker=KNOWS,
    caveats=LIMITS,
    group="matching",
    replicates="own",
    tier="full",
    advice=READS_OFF,
)
def attribution_all(
    pair: Pair,
    *,
    targets: Sequence[str] | None = None,
    exclude_levels: Mapping[str, str | float | Sequence[Level]] | None = None,
    missing_target: bool | Mapping[str, bool] = True,
    missing_keys: MissingKeys = True,
    exclude_pairs: Mapping[str, Sequence[Excluded]] | None = None,
    denominator_limit: int | None = None,
    target_groups: KeyGroups = "auto",
    key_groups: KeyGroups = "auto",
    one_way: Threshold = (50, 0.90),
    two_way: Threshold = (4, 0.80),
) -> AllTargetsResult:
    """Attribute disclosure for every target at once, the key classes shared; the worst target is the headline.

    Parameters
    ----------
    pair : Pair
        The tables with keys; with several releases the table shows their mean, and the headline is the worst.
    targets : sequence of str or None, default None
        The targets; None takes every column that is no key.
    exclude_levels : mapping of str to level or sequence, or None, default None
        {target: levels} that everybody knows, which are left out.
    missing_target : bool or mapping of str to bool, default True
        False leaves out people whose target is missing in the original, who have nothing to be given away.
    missing_keys : bool or mapping of str to bool, default True
        False leaves out people with a missing key; once for all keys, or {key: bool}.
    exclude_pairs : mapping of str to sequence of (str, level, level), or None, default None
        {target: cells left out}, a cell being (key, key level, target level) or a finding: ``result.checks`` of an
        earlier run is taken as it is.
    denominator_limit : int or None, default None
        Leaves out cells with more original records than that, because many people share them. None keeps all.
    target_groups : int, sequence of float, mapping, "auto" or None, default "auto"
        Groups of numeric targets: a number of quantile groups, the breaks, "auto" for deciles of the release where
        a column has more than 20 values and fewer than 5 people share one, or None for exact values; one wish for all
        of them, or {target: wish}.
    key_groups : int, sequence of float, mapping, "auto" or None, default "auto"
        The same for numeric keys.
    one_way : tuple of float, default (50, 0.90)
        The one-way check names a target level that more than this many, and above this share, of the disclosive
        records have.
    two_way : tuple of float, default (4, 0.80)
        The two-way check looks at disclosive cells of more than this many records, and names pairs where above this
        share of the original records with the key level have the target level.

    Returns
    -------
    AllTargetsResult
        Value, baseline, interval and the comparison with holdout people are those of the target with the largest
        excess over luck among all real people, members and strangers together. ``to_frame()`` has one row per target,
        sorted by DiSCO: UiO repU Dorig DiSCO DiSDiO CAPd DCAP TCAP baseCAPd iS, the excess, how many findings both
        checks have, and with a holdout DiSCO and DCAP of holdout people (``*_control``) and the part that being in the
        data adds (``*_R``). Of several releases the table shows the means (``over`` says so) with the worst DiSCO and
        DCAP beside them, the headline is the worst release, and ``replicates`` hold one result per release, about the
        same target. ``checks`` are the findings of both checks by target. ``details`` hold the same rows by target and
        ``worst_target``. There are no records.

    Notes
    -----
    The formulas are those of ``attribution``. With the figure r of original and r_h of holdout people,
    R = (r - r_h) / (1 - r_h). The headline's target is chosen without looking at who was in the data, so that its p
    value stands although several targets were looked at.

    References
    ----------
    .. [1] Raab, G. M., Nowok, B. and Dibben, C. (2025), Practical privacy metrics for synthetic data.
    .. [2] Raab, G. M. (2024), Privacy risk from synthetic data: practical proposals. Privacy in Statistical
       Databases. Table 3 for the comparison, whose words are training and control data.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> result = gh.disclosure.attribution_all(pair, targets=["disease_status", "income"], target_groups=5)
    >>> result.details["worst_target"], round(result.value, 3)
    ('disease_status', 0.298)
    """
    chosen = [c for c in pair.columns if c not in pair.keys] if targets is None else list(targets)
    if not chosen:
        raise InputError("there is no column left to be a target: every shared column is a key")
    for name, given in (("exclude_levels", exclude_levels), ("exclude_pairs", exclude_pairs)):
        for target in given or {}:
            if target not in chosen:
                raise InputError(f"{name} names {target!r}, which is no target{closest(target, chosen)}")
    looked: dict[str, list[Looked]] = {}
    grouped: dict[str, Mapping[str, Grouping]] = {}
    for target in chosen:
        own = _about(pair, target)
        groups: Groups = per_key(target_groups, target, AUTO)
        options = table_options(
            own,
            exclude_levels=(exclude_levels or {}).get(target, ()),
            missing_target=per_key(missing_target, target, True),
            missing_keys=missing_keys,
            exclude_pairs=(exclude_pairs or {}).get(target, ()),
            denominator_limit=denominator_limit,
            target_groups=groups if own.is_numeric(target) else None,
            key_groups=key_groups,
            one_way=one_way,
            two_way=two_way,
        )
        looked[target] = [look_up(own.release(i), options) for i in range(own.m)]
        grouped[target] = options.automatic
    beyond = {t: _mean([one.people.excess for one in each]) or 0.0 for t, each in looked.items()}
    worst = max(beyond, key=lambda t: beyond[t])
    whole = _table(pair, looked, grouped, worst)
    if pair.m == 1:
        return whole
    single = [{target: [each[i]] for target, each in looked.items()} for i in range(pair.m)]
    # every release speaks of the same target, so that their mean and the worst of them mean something
    made = [_table(pair.release(i), one, grouped, worst) for i, one in enumerate(single)]
    return whole._copy(
        over="worst", replicates=[bound(one, attribution_all, pair.release(i), {}) for i, one in enumerate(made)]
    )


def _about(pair: Pair, target: str) -> Pair:
    return pair.replace(target=target) if pair.target != target else pair


def _table(
    pair: Pair, looked: Mapping[str, Sequence[Looked]], grouped: Mapping[str, Mapping[str, Grouping]], worst: str
) -> AllTargetsResult:
    """One row per target, the headline being that of ``worst``, the target given away most beyond luck; ``grouped``: by
    target the columns put into groups."""
    results = {target: over_releases(_about(pair, target), each) for target, each in looked.items()}
    rows = [_row(pair, target, each) for target, each in looked.items()]
    shown = {t: _mean([one.shares["DiSCO"] for one in each]) or 0.0 for t, each in looked.items()}
    rows.sort(key=lambda row: shown[str(row["target"])])
    top = results[worst]
    said = grouped_note({column: groups for own in grouped.values() for column, groups in own.items()})
    warnings = [
        f"{target}: {warning.replace(POINTED, _pointed(target))}"
        for target, result in results.items()
        for warning in result.warnings
        if warning not in grouped_note(grouped[target])
    ]
    made = AllTargetsResult(
        value=top.value,
        baseline=top.baseline,
        holdout=top.holdout,
        interval=top.interval,
        difference=top.difference,
        difference_interval=top.difference_interval,
        p_value=top.p_value,
        counts=top.counts,
        exposure=top.exposure,
        of=top.of,
        of_holdout=top.of_holdout,
        details={
            "worst_target": worst,
            "targets": len(rows),
            **{str(row["target"]): {k: v for k, v in row.items() if k != "target"} for row in rows},
        },
        sentence=f"Of {len(rows)} targets, {worst} is given away most beyond luck: {top.sentence}",
        warnings=[*said, *warnings],
        table=rows,
        plot_data={"targets": rows, "releases": max(len(each) for each in looked.values())},
    )
    made._set(checks={target: result.checks for target, result in results.items() if result.checks})
    return made


def _pointed(target: str) -> str:
    return f"look at result.checks[{target!r}]; exclude_pairs=result.checks leaves out what everybody knows"


def _row(pair: Pair, target: str, looked: Sequence[Looked]) -> dict[str, object]:
    """One line of the table; means over the releases where there are several."""
    means = _means([one.shares for one in looked])
    row: dict[str, object] = {
        "target": target,
        **{str(name): mean for name, mean in means.items()},
        "excess": _mean([one.result.excess for one in looked]),
        "one_way_checks": max(len(one.one_way) for one in looked),
        "two_way_checks": max(len(one.two_way) for one in looked),
    }
    if len(looked) > 1:
        found = [one.shares["DiSCO"] for one in looked]
        row |= {
            "over": f"mean of {len(looked)} releases",
            "DiSCO_worst": max(found),
            "DCAP_worst": max(one.shares["DCAP"] for one in looked),
            "worst_release": pair.release_names[found.index(max(found))],
        }
    if pair.has_holdout:
        held = {
            "DiSCO": _mean([one.people.strangers_disco for one in looked]),
            "DCAP": _mean([one.people.strangers_dcap for one in looked]),
        }
        for name in COMPARED:
            row[f"{name}_control"] = held[name]
            row[f"{name}_R"] = _added(means[name], held[name])
    return row


def _means(shares: Sequence[Shares]) -> dict[Shown, float | None]:
    """The shares shown, their means over releases."""
    return {name: _mean([own[name] for own in shares]) for name in SHOWN}


def _added(original: float | None, held: float | None) -> float | None:
    """The part of a figure that being in the data adds."""
    return None if original is None or held is None or held >= 1 else (original - held) / (1 - held)


def _mean(figures: Sequence[float | None]) -> float | None:
    known = [f for f in figures if f is not None]
    return sum(known) / len(known) if known else None
