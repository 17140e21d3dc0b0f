"""Is the release as useful for every group, or are minorities lost?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError, closest
from glasshouse.core.evidence import Null
from glasshouse.core.measure import Measure, measure, registered
from glasshouse.core.plain import number
from glasshouse.core.result import Result
from glasshouse.data.pair import Pair
from glasshouse.utility.figures import chosen

SMALL = 30


@measure(
    side="utility",
    family="subgroups",
    better="higher",
    unit="utility score",
    cost="cells",
    group="subgroups",
    private=("groups", "per_group"),
    cite="riskutility subgroup_utility, with lost groups counted",
    caveats="small groups score noisily: read n beside each score",
    tier="fast",
    on_map=True,
)
def subgroup_utility(
    pair: Pair,
    *,
    by: str | None = None,
    measure: str | Measure = "table_utility",
    options: Mapping[str, Any] | None = None,
    min_group: int = 5,
) -> Result:
    """The utility score inside each level of ``by``; the headline is the worst group, and a group the release has
    lost scores 0.

    Any utility measure can be asked; its score in [0, 1] (``result.utility``) is computed inside each group.
    Default: the one-way tables of all other columns, which inside a group show the relations of every column with the
    group. Default group: the first categorical key, else the first categorical column. Groups of fewer than
    ``min_group`` original records are listed but not scored. ``lost`` and ``copy_alarm`` say whether more groups
    leave their own null band on that side than the 5 % expected by chance.
    """
    asked = _asked(measure)
    given = dict(options or ({"order": 1, "replicates": 20} if asked.name == "table_utility" else {}))
    name = by or next((c for c in pair.keys if not pair.is_numeric(c)), None) or next(iter(pair.categorical), None)
    chosen(pair, [name] if name else [], [], "categorical")
    assert name is not None
    codes = pair.codes(name)
    overall = asked.run(pair, **given)
    rows: list[dict[str, Any]] = []
    groups = [*enumerate(codes.levels), *([(-1, "missing")] if codes.missing else [])]
    for k, level in groups:
        n_x, n_y = (int((codes.of(t) == k).sum()) for t in ("original", "released"))
        if n_x < max(1, min_group):
            if n_x or n_y:
                rows.append(
                    {
                        "group": str(level),
                        "n_x": n_x,
                        "n_y": n_y,
                        "utility": None,
                        "value": None,
                        "reason": "fewer than min_group records",
                    }
                )
            continue
        if n_y == 0 or n_y < min(min_group, 2):
            rows.append(
                {
                    "group": str(level),
                    "n_x": n_x,
                    "n_y": n_y,
                    "utility": 0.0,
                    "value": None,
                    "reason": "lost in the release",
                }
            )
            continue
        found = asked.run(_inside(pair, name, k), **given)
        figure = found.utility if found.status == "ok" else None
        rows.append(
            {
                "group": str(level),
                "n_x": n_x,
                "n_y": n_y,
                "utility": figure,
                "value": found.value,
                "reason": found.reason,
                "copy_alarm": found.null is not None and found.null.copied,
                "lost": found.null is not None and found.null.lost,
            }
        )
    scored = [r for r in rows if r["utility"] is not None]
    if not scored:
        return Result(
            None,
            reason=f"no group of {name!r} has {min_group} records and a defined {asked.name}",
            details={"groups": rows},
        )
    worst = min(scored, key=lambda r: (r["utility"], r["group"]))
    whole = overall.utility if overall.status == "ok" else None
    lost = [r for r in rows if r["reason"] == "lost in the release"]
    warnings = list(overall.warnings)
    if lost:
        warnings.append(
            f"{len(lost)} group{'' if len(lost) == 1 else 's'} of {name!r} "
            f"{'is' if len(lost) == 1 else 'are'} lost in the release and score{'s' if len(lost) == 1 else ''} 0"
        )
    small = sum(r["n_x"] < SMALL for r in scored)
    if small:
        warnings.append(
            f"{small} of {len(scored)} groups have fewer than {SMALL} original records; their scores are noisy"
        )
    outside = {k: _more_than_chance([bool(r.get(k)) for r in scored]) for k in ("lost", "copy_alarm")}
    outside["lost"] |= bool(lost)
    relative = worst["utility"] / whole if whole else None
    return Result(
        worst["utility"],
        details={
            "utility": worst["utility"],
            "worst": worst["utility"],
            "overall": whole,
            "ratio": relative,
            "by": name,
            "measure": asked.name,
            "mean": float(np.mean([r["utility"] for r in scored])),
            "n_groups": len(rows),
            "n_scored": len(scored),
            "n_lost": len(lost),
            **outside,
            "groups": rows,
            "per_group": {r["group"]: {"n_x": r["n_x"], "n_y": r["n_y"], "utility": r["utility"]} for r in rows},
        },
        sentence=f"The worst of {len(scored)} groups by {name} has the score {number(worst['utility'], 3)} "
        f"({asked.name})" + ("" if whole is None else f"; all records together have {number(whole, 3)}."),
        warnings=warnings,
        table=rows,
        plot_data={"groups": rows, "overall": whole},
        utility=worst["utility"],
        null=Null(
            None, None, None, "groups outside their own bands", lost=outside["lost"], copied=outside["copy_alarm"]
        ),
    )


def _more_than_chance(flags: list[bool], rate: float = 0.05) -> bool:
    """Are more groups flagged than a rate of 5 % makes plausible (binomial tail below 5 %)?"""
    from scipy.stats import binom

    return bool(flags) and sum(flags) > 0 and float(binom.sf(sum(flags) - 1, len(flags), rate)) < 0.05


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


def _inside(pair: Pair, name: str, level: int) -> Pair:
    """The pair restricted to one level of a column, which is then left out; kinds and levels of the other columns
    stay as they are.
    """
    tables = {}
    for table in ("original", "released"):
        rows = pl.Series(pair.codes(name).of(table) == level)
        tables[table] = pair.local(table).filter(rows).drop(name)
    kinds = {
        c: {"kind": s.kind, "ordered": s.ordered, **({"levels": list(s.levels)} if s.levels else {})}
        for c, s in pair.schema.items()
        if c in tables["original"].columns and c != name
    }
    return Pair(
        tables["original"],
        tables["released"],
        schema=kinds,
        weights=pair.weights,
        missing=pair.missing if pair.missing_given else None,
        keys=[c for c in pair.keys if c != name],
        target=None if pair.target == name else pair.target,
        special_codes={c: v for c, v in pair.special_codes.items() if c != name} or None,
    )
