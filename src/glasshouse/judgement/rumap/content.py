"""The gate of the risk-utility map: everything a reader may see, as plain data with a versioned schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glasshouse.core.errors import InputError
from glasshouse.core.plain import Content, plain
from glasshouse.judgement.content import AUDIENCES, Insider, Reader
from glasshouse.judgement.redaction import Redactor
from glasshouse.judgement.rumap.recommendation import recommend
from glasshouse.judgement.rumap.words import score_columns, text

if TYPE_CHECKING:
    from glasshouse.judgement.rumap.map import RUMap

SCHEMA = "glasshouse.map"
SCHEMA_VERSION = 2
_RISKS = ("risk", "risk_low", "risk_high")


def content(ru: RUMap, audience: str) -> Content:
    """Everything a reader of ``audience`` may see of a map; no record and no data value is in it.

    Parameters
    ----------
    ru
        The map.
    audience
        "internal", or "external": reasons that name values of the data and figures that stand for few people are left
        out.

    Returns
    -------
    dict
        Numbers, text, lists and mappings only.
    """
    if audience not in AUDIENCES:
        raise InputError(f"audience={audience!r} is not known; it is 'internal' or 'external'")
    reader: Reader = Redactor(ru.source) if audience == "external" and ru.source is not None else Insider()
    outside = isinstance(reader, Redactor)
    columns = score_columns(ru)
    if outside:
        # risk to two decimals, and nobody counted: a share times the number of records would be a count of people
        columns |= {k: [None if v is None else round(v, 2) for v in columns[k]] for k in _RISKS}
        columns |= {"exposed": [None] * len(ru.releases)}
    found = recommend(ru)
    shown: Content = plain(
        {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "audience": audience,
            "verdicts": ru.verdicts,
            "recommended": found["release"],
            "recommendation": reader.text(found["reason"]),
            "releases": [{k: v[i] for k, v in columns.items()} for i in range(len(ru.releases))],
            "pareto": ru.pareto,
            "pareto_all_measures": ru.pareto_all_measures,
            "scale": ru.scale,
            "composite": ru.composite,
            "weights": ru.measure_weights,
            "measures": {
                n: {
                    "side": s,
                    "figure": ru.kinds.get(n, "value"),
                    "family": ru.families[n],
                    "better": ru.better[n],
                    "anchor": _anchor(ru, n),
                    **_figures(ru, s, k, n, reader),
                }
                for s in ru._sides
                for k, n in enumerate(ru._sides[s])
            },
            "ghosts": ru.ghosts,
            "alpha": ru.alpha,
            "omega": ru.omega,
            "left_out": {name: reader.text(why) for name, why in ru.left_out.items()},
            "copy_alarms": ru.alarms,
            "text": [line for line in text(ru, audience=audience).splitlines() if reader.may_hold(line)],
        }
    )
    return shown


def _figures(ru: RUMap, side: str, k: int, name: str, reader: Reader) -> Content:
    """The figures of one measure by release, without those that stand for few people."""
    told = [
        result is None
        or (reader.value(result)[1] is None and (ru.kinds.get(name) != "leak" or reader.tells_leak(result)))
        for result in (ru.results.get(release, {}).get(name) for release in ru.releases)
    ]
    return {
        key: [value if ok else None for value, ok in zip(table[side][:, k], told, strict=True)]
        for key, table in (("raw", ru._raw), ("scaled", ru._scaled))
    }


def _anchor(ru: RUMap, name: str) -> Content | None:
    anchor = ru.anchors.get(name)
    return None if anchor is None else {"zero": anchor.zero, "one": anchor.one, "source": anchor.source}
