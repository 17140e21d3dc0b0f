"""SDMetrics: the distances to the closest record, new rows, and the quality report."""

from __future__ import annotations

from typing import Any

from harness import serve


def _metadata(table: Any) -> dict[str, Any]:
    kinds = {c: "numerical" if d.kind in "iuf" else "categorical" for c, d in table.dtypes.items()}
    return {"columns": {c: {"sdtype": kind} for c, kind in kinds.items()}}


def overfitting(tables: dict[str, Any], **_: Any) -> dict[str, Any]:
    from sdmetrics.single_table import DCROverfittingProtection

    return DCROverfittingProtection.compute_breakdown(
        tables["original"], tables["released"], tables["holdout"], _metadata(tables["original"]), table_name=None
    )


def baseline(tables: dict[str, Any], **_: Any) -> dict[str, Any]:
    from sdmetrics.single_table import DCRBaselineProtection

    return DCRBaselineProtection.compute_breakdown(
        tables["original"], tables["released"], _metadata(tables["original"]), table_name=None
    )


def new_rows(tables: dict[str, Any], **_: Any) -> dict[str, Any]:
    from sdmetrics.single_table import NewRowSynthesis

    kinds = _metadata(tables["original"])
    return NewRowSynthesis.compute_breakdown(tables["original"], tables["released"], kinds)


def quality(tables: dict[str, Any], **_: Any) -> dict[str, Any]:
    from sdmetrics.reports.single_table import QualityReport

    report = QualityReport()
    report.generate(tables["original"], tables["released"], _metadata(tables["original"]), verbose=False)
    return {"score": report.get_score()}


def decide(tables: dict[str, Any], **_: Any) -> dict[str, Any]:
    """The scores on privacy of one release."""
    found = {}
    for ask in (overfitting, baseline, new_rows):
        try:
            found[ask.__name__] = {"score": ask(tables)["score"]}
        except Exception as problem:
            found[ask.__name__] = {"failed": f"{type(problem).__name__}: {str(problem)[:200]}"}
    return found


if __name__ == "__main__":
    serve({f.__name__: f for f in (overfitting, baseline, new_rows, quality, decide)})
