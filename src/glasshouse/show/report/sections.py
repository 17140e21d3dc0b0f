"""The parts of the page below the verdict: people, utility, data."""

from __future__ import annotations

from typing import Any

import numpy as np

from glasshouse.core.plain import number, percent
from glasshouse.judgement.figures import figure, title
from glasshouse.judgement.verdict.assessment import Assessment
from glasshouse.show.report.view import MeasureView, clip

MOST_GROUPS = 14
MOST_COLUMNS = 15
SMALL_MULTIPLES = 12


def people(assessment: Assessment, views: dict[str, MeasureView], external: bool) -> dict[str, Any] | None:
    """How many people the leading measure flags, which key matters most, and (inside the house) which groups are hit
    hardest.
    """
    found = assessment.people
    drivers = assessment.drivers
    if found is None and drivers is None:
        return None
    content: dict[str, Any] = {"drivers": None, "groups": [], "small": 0}
    if found is not None:
        low = assessment.policy.min_count
        count = f"<{low}" if external and 0 < found["flagged"] < low else f"{found['flagged']:,}"
        content |= {"measure": views[found["measure"]], "count": count, "of": f"{found['of']:,}"}
        if not external:
            groups = [g for g in found["groups"] if not g["small"] and g["value"] is not None]
            content["small"] = sum(bool(g["small"]) for g in found["groups"])
            groups.sort(key=lambda g: (-g["value"], g["column"], str(g["level"])))
            content["groups"] = [_group(g) for g in groups[:MOST_GROUPS]]
            content["more"] = max(len(groups) - MOST_GROUPS, 0)
            overall = views[found["measure"]].result.value
            content["overall"] = (
                None
                if overall is None
                else {"at": round(100 * min(float(overall), 1.0), 2), "text": percent(float(overall))}
            )
    if drivers is not None and not (external and views[drivers["measure"]].hidden):
        content["drivers"] = _drivers(drivers, views)
    return content


def _group(group: dict[str, Any]) -> dict[str, Any]:
    level = "(missing)" if group["level"] is None else clip(str(group["level"]), 40)
    low, high = group["low"], group["high"]
    return {
        "column": clip(group["column"], 40),
        "level": level,
        "n": f"{group['n']:,}",
        "value": percent(group["value"]),
        "at": round(100 * min(max(group["value"], 0), 1), 2),
        "low": round(100 * max(low, 0), 2),
        "high": round(100 * min(high, 1), 2),
    }


def _drivers(drivers: dict[str, Any], views: dict[str, MeasureView]) -> dict[str, Any]:
    measure = views[drivers["measure"]].measure
    biggest = max((abs(row["falls_by"]) for row in drivers["keys"]), default=0.0)
    rows = [
        {
            "column": clip(row["column"], 40),
            "without": figure(measure, row["without"]),
            "falls": f"{'−' if row['falls_by'] > 0 else '+'}{100 * abs(row['falls_by']):.1f} points"
            if abs(row["falls_by"]) >= 5e-4
            else "no change",
            "width": round(100 * max(row["falls_by"], 0) / biggest, 1) if biggest > 0 else 0,
        }
        for row in drivers["keys"]
    ]
    return {
        "title": title(drivers["measure"]),
        "value": figure(measure, drivers["value"]),
        "rows": rows,
        "flat": biggest < 0.01,
    }


def utility(assessment: Assessment, views: dict[str, MeasureView]) -> dict[str, Any]:
    """Every utility measure on its common scale, and the columns that lost most."""
    chosen = [v for v in views.values() if v.measure.side == "utility"]
    order = {"fail": 0, "warn": 1, "pass": 2, "no_limit": 3, "failed": 4, "not_assessed": 5}
    scaled = sorted(
        (v for v in chosen if v.utility is not None),
        key=lambda v: (order[v.status], v.utility["share"] if v.utility else 0),
    )
    other = sorted((v for v in chosen if v.ok and v.utility is None), key=lambda v: (order[v.status], v.name))
    absent = [v for v in chosen if not v.ok]
    columns = _columns(assessment, [v for v in chosen if v.ok])
    counts = {status: sum(v.status == status for v in chosen) for status in ("pass", "warn", "fail")}
    return {
        "scaled": scaled,
        "other": other,
        "absent": absent,
        "columns": columns[:MOST_COLUMNS],
        "rest": columns[MOST_COLUMNS:],
        "counts": counts,
        "lead": _utility_lead(chosen),
    }


def _utility_lead(chosen: list[MeasureView]) -> MeasureView | None:
    by_name = {v.name: v for v in chosen if v.ok}
    return next((by_name[n] for n in ("pmse", "specks", "table_utility", "total_variation") if n in by_name), None)


def _columns(assessment: Assessment, chosen: list[MeasureView]) -> list[dict[str, Any]]:
    """One row per column: how many per-column checks see a loss beyond sampling noise, and the worst of them."""
    rows: dict[str, dict[str, Any]] = {
        c: {"name": c, "checks": 0, "lost": [], "ratio": 0.0} for c in assessment.pair.columns
    }
    for view in chosen:
        table = view.result.details.get("columns")
        if not isinstance(table, dict):
            continue
        for column, figures in table.items():
            if (
                column not in rows
                or not isinstance(figures, dict)
                or not isinstance(figures.get("figure"), (int, float))
            ):
                continue
            row = rows[column]
            row["checks"] += 1
            if figures.get("lost"):
                row["lost"].append(view.title)
            top = figures.get("null_high")
            scaled = figures.get("wasserstein_scaled", figures["figure"])
            if isinstance(top, (int, float)) and top > 0 and isinstance(scaled, (int, float)):
                row["ratio"] = max(row["ratio"], scaled / top)
    found = [r for r in rows.values() if r["checks"]]
    found.sort(key=lambda r: (-len(r["lost"]), -r["ratio"], r["name"]))
    widest = max((r["ratio"] for r in found), default=1.0) or 1.0
    for r in found:
        r |= {
            "name": clip(r["name"], 60),
            "width": round(100 * min(r["ratio"] / max(widest, 1.5), 1), 1),
            "text": number(r["ratio"], 2),
            "line": round(100 / max(widest, 1.5), 1),
        }
    return found


def distributions(assessment: Assessment) -> list[dict[str, Any]]:
    """Original and release side by side, column by column: bins and shares only, never points.

    Inside the house only.
    """
    pair = assessment.pair
    pictures = []
    for column in pair.columns[:SMALL_MULTIPLES]:
        bars = (
            _numeric_bars(assessment, column)
            if pair.is_numeric(column) and len(pair.codes(column).levels) > 12
            else _level_bars(assessment, column)
        )
        if bars is not None:
            pictures.append({"column": clip(column, 50), **bars})
    return pictures


def _numeric_bars(assessment: Assessment, column: str) -> dict[str, Any] | None:
    pair = assessment.pair
    original, released = (v[np.isfinite(v)] for v in (pair.values(column, "original"), pair.values(column, "released")))
    if not len(original) or not len(released):
        return None
    low, high = (float(q) for q in np.quantile(np.concatenate([original, released]), (0.005, 0.995)))
    if high <= low:
        return None
    edges = np.linspace(low, high, 25)
    shares = [np.histogram(np.clip(v, low, high), edges)[0] / len(v) for v in (original, released)]
    top = max(float(s.max()) for s in shares) or 1.0
    return {
        "kind": "steps",
        "original": _steps(shares[0] / top),
        "released": _steps(shares[1] / top),
        "low": "",
        "high": "",
        "n": len(edges) - 1,
    }


def _steps(heights: np.ndarray) -> str:
    """A step line over a 100 by 40 box."""
    width = 100 / len(heights)
    points = ["0,40"]
    for i, h in enumerate(heights.tolist()):
        y = round(40 - 38 * h, 1)
        points += [f"{round(i * width, 1)},{y}", f"{round((i + 1) * width, 1)},{y}"]
    return " ".join([*points, "100,40"])


def _level_bars(assessment: Assessment, column: str) -> dict[str, Any] | None:
    pair = assessment.pair
    codes = pair.codes(column)
    if not codes.n_levels:
        return None
    counts = [
        np.bincount(codes.of(t)[codes.of(t) >= 0], minlength=codes.n_levels).astype(float)
        for t in ("original", "released")
    ]
    shares = [c / max(c.sum(), 1) for c in counts]
    order = np.argsort(-shares[0], kind="stable")[:6]
    top = max(float(s[order].max()) for s in shares) or 1.0
    rows = [
        {
            "label": clip(str(codes.levels[i]), 24),
            "original": round(100 * shares[0][i] / top, 1),
            "released": round(100 * shares[1][i] / top, 1),
        }
        for i in order.tolist()
    ]
    return {"kind": "levels", "rows": rows, "more": codes.n_levels - len(rows)}


def data(assessment: Assessment, external: bool) -> dict[str, Any]:
    """Tables, roles, columns, missing values, findings."""
    content = assessment.to_dict("external" if external else "internal")["data"]
    sizes = {t["table"]: t["records"] for t in content["tables"]}
    columns = [
        {
            "name": clip(c["name"], 80),
            "kind": c["kind"],
            "role": c["role"],
            "reason": clip(c.get("reason", ""), 120),
            "missing": [
                n if isinstance(n, str) else "–" if not n else f"{n:,} ({percent(n / sizes[t])})"
                for t, n in c["missing"].items()
                if t in ("original", "released", "holdout")
            ],
        }
        for c in content["columns"]
    ]
    return {
        **content,
        "columns": columns,
        "shown": columns[:40],
        "folded": columns[40:],
        "table_names": [t for t in sizes if t in ("original", "released", "holdout")],
        "remarks": [] if external else [(clip(k, 60), clip(v, 200)) for k, v in content["remarks"].items()],
        "findings": [{**f, "message": clip(f["message"], 300)} for f in content["findings"]][:60],
    }
