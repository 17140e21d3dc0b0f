"""Is the release as useful for every group, or are minorities lost?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError, closest
from glasshouse.core.evidence import NULL_LEVEL, Null
from glasshouse.core.measure import Measure, measure, registered
from glasshouse.core.plain import number
from glasshouse.core.result import Result
from glasshouse.core.words import plural
from glasshouse.data.here import Codes
from glasshouse.data.pair import Pair
from glasshouse.utility.deals import POOL
from glasshouse.utility.figures import Columns, chosen

SMALL = 30
LOST = "lost in the release"


@dataclass(frozen=True)
class Group:
    """One level of the grouping column: its records in both tables, its score (None: not scored) and why not."""

    label: str
    n_x: int
    n_y: int
    utility: float | None
    value: float | None = None
    reason: str | None = None
    band: Null | None = None

    def row(self) -> dict[str, object]:
        """The group as plain data; whether it left its band only where it was measured."""
        found: dict[str, object] = {
            "group": self.label,
            "n_x": self.n_x,
            "n_y": self.n_y,
            "utility": self.utility,
            "value": self.value,
            "reason": self.reason,
        }
        band = self.band or Null(None, None, None, "no band")
        return found if self.value is None else found | {"copy_alarm": band.copied, "lost": band.lost}


@measure(
    side="utility",
    family="subgroups",
    better="higher",
    unit="utility score",
    cost="cells",
    group="subgroups",
    cite="riskutility subgroup_utility, with lost groups counted",
    caveats="small groups score noisily: read n beside each score",
    tier="fast",
    on_map=True,
    by_roles=True,
    wide="columns",
    grows="values",
)
def subgroup_utility(
    pair: Pair,
    *,
    by: str | None = None,
    columns: Columns = None,
    measure: str | Measure = "table_utility",
    options: Mapping[str, object] | None = None,
    min_group: int = 5,
) -> Result:
    """The utility score inside each level of ``by``; the headline is the worst group, and a group the release has
    lost scores 0.

    Any utility measure can be asked. The default looks at the one-way tables of all other columns, which inside a
    group show the relations of every column with the group.

    Parameters
    ----------
    pair : Pair
        Original and release.
    by : str, optional
        Column whose levels are the groups; default: the first categorical key, else the first categorical column.
    columns : list of str or str, optional
        Columns compared inside the groups; default: all others.
    measure : str or Measure, default "table_utility"
        The utility measure to ask inside each group; its score from 0 to 1 (``result.utility``) is compared.
    options : dict, optional
        Options of that measure; default for ``table_utility``: one-way tables, 39 replicates.
    min_group : int, default 5
        Groups of fewer original records are listed but not scored.

    Returns
    -------
    Result
        ``value``: score of the worst group, 0 to 1. ``details`` has the score of all records (``overall``), the worst
        over it (``ratio``), the mean, the numbers of groups scored and lost, and all ``groups``. ``lost`` and
        ``copy_alarm`` say whether any group leaves its own null band on that side, allowing for their number.
        ``to_frame`` has one row per group.

    Notes
    -----
    value = min over groups g of utility(original restricted to g, release restricted to g), the grouping column left
    out. The p value of loss is the smallest of the groups' own times their number (Bonferroni); that of a group the
    release has lost is the chance that so few of its records fall to the release when the pooled ones are dealt at
    random (hypergeometric; whole clusters where there are any).

    References
    ----------
    subgroup_utility of the R package riskutility, with lost groups counted.

    Examples
    --------
    >>> import glasshouse as gh
    >>> pair = gh.data.load("health").pair()
    >>> found = gh.utility.subgroup_utility(pair, by="education")
    >>> {name: round(group["utility"], 2) for name, group in found.details["per_group"].items()}
    {'low': 0.6, 'medium': 0.81, 'high': 1.0}
    """
    asked = _asked(measure)
    default: Mapping[str, object] = {"order": 1, "replicates": 39} if asked.name == "table_utility" else {}
    given = dict(options or default)
    name = by or next((c for c in pair.keys if not pair.is_numeric(c)), None) or next(iter(pair.categorical), "")
    chosen(pair, [name] if name else [], [], "categorical")
    kept = [*dict.fromkeys([*chosen(pair, columns, pair.columns, "shared"), name])]
    overall = asked.run(pair if columns is None else _restricted(pair, kept), **given)
    groups = _groups(pair, name, kept, asked, given, min_group)
    rows = [group.row() for group in groups]
    scored = [(group.utility, group) for group in groups if group.utility is not None]
    if not scored:
        return Result(
            None,
            reason=f"no group of {name!r} has {min_group} records and a defined {asked.name}",
            details={"groups": rows},
        )
    worst = min(scored, key=lambda known: (known[0], known[1].label))[0]
    whole = overall.utility if overall.status == "ok" else None
    lost = sum(group.reason == LOST for group in groups)
    warnings = list(overall.warnings)
    if lost:
        warnings.append(
            f"{lost} {plural(lost, 'group')} of {name!r} {plural(lost, 'is', 'are')} lost in the release and "
            f"{plural(lost, 'scores', 'score')} 0"
        )
    small = sum(group.n_x < SMALL for _, group in scored)
    if small:
        warnings.append(
            f"{small} of {len(scored)} groups have fewer than {SMALL} original records; their scores are noisy"
        )
    null = _over_groups([group for _, group in scored])
    return Result(
        worst,
        of=min(min(group.n_x, group.n_y or group.n_x) for _, group in scored),
        details={
            "utility": worst,
            "worst": worst,
            "overall": whole,
            "ratio": worst / whole if whole else None,
            "by": name,
            "measure": asked.name,
            "mean": float(np.mean([utility for utility, _ in scored])),
            "n_groups": len(groups),
            "n_scored": len(scored),
            "n_lost": lost,
            "lost": null.lost,
            "copy_alarm": null.copied,
            "groups": rows,
            "per_group": {g.label: {"n_x": g.n_x, "n_y": g.n_y, "utility": g.utility} for g in groups},
        },
        sentence=f"The worst of {len(scored)} groups by {name} has the score {number(worst, 3)} "
        f"({asked.name})" + ("" if whole is None else f"; all records together have {number(whole, 3)}."),
        warnings=warnings,
        table=rows,
        plot_data={
            "by": name,
            "overall": whole,
            "groups": [
                {"group": g.label, "utility": utility, "n": g.n_x, "state": "lost" if g.reason == LOST else "scored"}
                for utility, g in scored
            ],
        },
        utility=worst,
        null=null,
    )


def _groups(
    pair: Pair, name: str, columns: Sequence[str], asked: Measure, options: Mapping[str, object], min_group: int
) -> list[Group]:
    """Every level of a column that occurs, with its score."""
    codes = pair.codes(name)
    made = []
    for k, level in [*enumerate(codes.levels), *([(-1, "missing")] if codes.missing else [])]:
        label = str(level)
        n_x, n_y = (int((codes.of(t) == k).sum()) for t in ("original", "released"))
        if n_x < max(1, min_group):
            if n_x or n_y:
                made.append(Group(label, n_x, n_y, None, reason="fewer than min_group records"))
        elif n_y == 0 or n_y < min(min_group, 2):
            p_lost = _p_fewer(pair, codes, k)
            band = Null(None, None, None, "records of the group", lost=p_lost <= NULL_LEVEL, p_lost=p_lost)
            made.append(Group(label, n_x, n_y, 0.0, reason=LOST, band=band))
        else:
            found = asked.run(_restricted(pair, columns, (name, k)), **options)
            score = found.utility if found.status == "ok" else None
            made.append(Group(label, n_x, n_y, score, found.value, found.reason, found.null))
    return made


def _p_fewer(pair: Pair, codes: Codes, level: int) -> float:
    """Chance that so few of a group's records (with clusters: of its clusters) fall to the release when the pooled ones
    are dealt at random.
    """
    from scipy.stats import hypergeom

    units, members = [], []
    for table in POOL:
        inside, cluster = codes.of(table) == level, pair.cluster_codes(table)
        units.append(pair.n(table) if cluster is None else len(np.unique(cluster)))
        members.append(int(inside.sum()) if cluster is None else len(np.unique(cluster[inside])))
    return float(hypergeom.cdf(members[1], sum(units), sum(members), units[1]))


def _over_groups(groups: Sequence[Group]) -> Null:
    """All groups read together: the smallest of their p values times their number."""
    bands = [group.band for group in groups if group.band is not None]
    how = "groups outside their own bands"
    return Null(None, None, None, how).among(bands)


def _asked(measure: str | Measure) -> Measure:
    if isinstance(measure, Measure):
        found = measure
    else:
        from glasshouse import utility

        known = (
            {n: m for n, m in registered().items() if m.side == "utility"}
            if measure in registered()
            else {n: getattr(utility, n) for n in dir(utility)}
        )
        if measure not in known:
            raise InputError(f"there is no utility measure {measure!r}{closest(measure, known)}")
        found = known[measure]
    if found.side != "utility" or found.name == "subgroup_utility":
        raise InputError(f"subgroup_utility needs another utility measure, not {found.name!r}")
    return found


def _restricted(pair: Pair, columns: Sequence[str], inside: tuple[str, int] | None = None) -> Pair:
    """The pair with some of its columns; ``inside`` restricts it to one level of one of them, which is then left out.
    Kinds and levels of the other columns stay as they are.
    """
    name = None if inside is None else inside[0]
    kept = [c for c in columns if c != name]
    held = [c for c in (pair.weights, pair.cluster) if c is not None]
    tables = {}
    for table in ("original", "released"):
        local = pair.local(table)
        rows = local if inside is None else local.filter(pl.Series(pair.codes(inside[0]).of(table) == inside[1]))
        tables[table] = rows.select([c for c in (*kept, *held) if c in local.columns])
    kinds = {
        c: {"kind": s.kind, "ordered": s.ordered, **({"levels": list(s.levels)} if s.levels else {})}
        for c, s in ((c, pair.schema[c]) for c in tables["original"].columns)
    }
    return Pair(
        tables["original"],
        tables["released"],
        schema=kinds,
        weights=pair.weights,
        missing=pair.missing if pair.missing_given else None,
        keys=[c for c in pair.keys if c in kept],
        target=pair.target if pair.target in kept else None,
        cluster=pair.cluster,
        special_codes={c: v for c, v in pair.special_codes.items() if c in kept} or None,
    )
