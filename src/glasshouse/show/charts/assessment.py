"""All threats of an assessment on one shared axis, as an Altair chart (the page draws the same by hand)."""

from __future__ import annotations

from typing import Any

from glasshouse.core.words import SEVERITY
from glasshouse.show.charts.generic import Mark, layered, marks


def threats(content: dict[str, Any]) -> Any:
    """Every disclosure measure whose figure is a share or a chance, grouped by threat, worst threat first."""
    rows: list[Mark] = []
    spans: list[dict[str, Any]] = []
    for name in sorted(content["threats"], key=lambda name: (-SEVERITY[content["threats"][name]["status"]], name)):
        for shown in content["results"].values():
            told = shown["value"] is not None and shown["range"] == [0, 1] and shown["role"] != "structure"
            if shown["threat"] != name or not told:
                continue
            label = f"{name}: {shown['title']}"
            rows += marks(label, shown["value"], shown["baseline"], shown["holdout"])
            if shown["interval"] is not None and None not in shown["interval"]:
                spans.append({"measure": label, "low": shown["interval"][0], "high": shown["interval"][1]})
    return layered(rows, spans, "share or chance", order=list(dict.fromkeys(row["measure"] for row in rows)))
