"""The gate of the risk-utility map: everything a reader may see, as plain data with a versioned schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from glasshouse.core.errors import InputError
from glasshouse.core.plain import plain
from glasshouse.judgement.content import AUDIENCES, Insider, Reader
from glasshouse.judgement.redaction import Redactor
from glasshouse.judgement.rumap.words import score_columns, text

if TYPE_CHECKING:
    from glasshouse.judgement.rumap.map import RUMap

SCHEMA = "glasshouse.map"
SCHEMA_VERSION = 1


def content(ru: RUMap, audience: str) -> dict[str, Any]:
    """Everything a reader of ``audience`` may see of a map; no record and no data value is in it.

    Parameters
    ----------
    ru
        The map.
    audience
        "internal", or "external": reasons that name values of the data are left out.

    Returns
    -------
    dict
        Numbers, text, lists and mappings only.
    """
    if audience not in AUDIENCES:
        raise InputError(f"audience={audience!r} is not known; it is 'internal' or 'external'")
    outside = audience == "external" and ru.source is not None
    reader: Reader = Redactor(ru.source) if outside and ru.source is not None else Insider()
    columns = score_columns(ru)
    left_out = {name: reader.text(why) for name, why in ru.left_out.items()}
    shown: dict[str, Any] = plain(
        {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "audience": audience,
            "releases": [{k: v[i] for k, v in columns.items()} for i in range(len(ru.releases))],
            "pareto": ru.pareto,
            "pareto_all_measures": ru.pareto_all_measures,
            "scale": ru.scale,
            "composite": ru.composite,
            "weights": ru.measure_weights,
            "measures": {
                n: {
                    "side": s,
                    "family": ru.families[n],
                    "better": ru.better[n],
                    "anchor": _anchor(ru, n),
                    "raw": ru._raw[s][:, k],
                    "scaled": ru._scaled[s][:, k],
                }
                for s in ru._sides
                for k, n in enumerate(ru._sides[s])
            },
            "ghosts": ru.ghosts,
            "alpha": ru.alpha,
            "omega": ru.omega,
            "left_out": left_out,
            "copy_alarms": ru.alarms,
            "text": [line for line in text(ru, 0.5, None).splitlines() if reader.may_hold(line)],
        }
    )
    return shown


def _anchor(ru: RUMap, name: str) -> dict[str, Any] | None:
    anchor = ru.anchors.get(name)
    return None if anchor is None else {"zero": anchor.zero, "one": anchor.one, "source": anchor.source}
