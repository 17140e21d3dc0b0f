"""All threats of an assessment on one shared axis, as an Altair chart (the page draws the same by hand)."""

from __future__ import annotations

from typing import Any

from glasshouse.judgement.figures import title
from glasshouse.judgement.verdict.assessment import Assessment
from glasshouse.show.charts.generic import layered, marks


def threats(assessment: Assessment) -> Any:
    """Every disclosure measure whose figure is a share or a chance, grouped by threat, worst threat first."""
    order = {"fail": 0, "warn": 1, "not_assessed": 2, "pass": 3}
    rows: list[dict[str, Any]] = []
    spans: list[dict[str, Any]] = []
    for threat in sorted(assessment.threats.values(), key=lambda t: (order[t.status], t.name)):
        for judged in assessment.judged:
            result, measure = judged.result, judged.measure
            if (
                measure.threat != threat.name
                or result.status != "ok"
                or measure.range != (0, 1)
                or judged.role == "structure"
            ):
                continue
            label = f"{threat.name}: {title(judged.name)}"
            rows += marks(result, label)
            if result.interval is not None and None not in result.interval:
                spans.append({"measure": label, "low": result.interval[0], "high": result.interval[1]})
    return layered(rows, spans, "share or chance", order=list(dict.fromkeys(row["measure"] for row in rows)))
