"""The parts of the page below the verdict: people, utility, data. They read the content that passed the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from glasshouse.core.plain import Content, number, percent
from glasshouse.judgement.figures import figure
from glasshouse.show.report.view import MeasureView, at, clip, percent_of, worst_first

MOST_GROUPS = 14
MOST_COLUMNS = 15
MOST_LISTED = 200  # columns that a page lists at all
TABLES = ("original", "released", "holdout")


def people(content: Content, views: dict[str, MeasureView]) -> Content | None:
    """How many people the leading measure flags, which key matters most, and which groups are hit hardest."""
    found, drivers = content["people"], content["drivers"]
    if found is None and drivers is None:
        return None
    shown: Content = {"drivers": None, "groups": [], "small": 0, "overall": None}
    if found is not None:
        flagged = found["flagged"]
        shown |= {
            "measure": views[found["measure"]],
            "count": found["shown"] if flagged is None else f"{flagged:,}",
            "of": f"{found['of']:,}" if flagged is not None else f"about {found['of']:,}",
            "beyond": _beyond(found["beyond"]),
            "strangers": None if found["strangers"] is None else percent(found["strangers"]),
        }
        groups = [g for g in found.get("groups", ()) if not g["small"] and g["value"] is not None]
        shown["small"] = sum(bool(g["small"]) for g in found.get("groups", ()))
        groups.sort(key=lambda g: (-g["value"], g["column"], str(g["level"])))
        shown["groups"] = [group(g) for g in groups[:MOST_GROUPS]]
        shown["more"] = max(len(groups) - MOST_GROUPS, 0)
        if flagged is not None and found.get("known"):
            overall = flagged / found["known"]
            shown["overall"] = {"at": at(overall), "text": percent(overall)}
    if drivers is not None:
        shown["drivers"] = _drivers(drivers, views[drivers["measure"]])
    return shown


def _beyond(people: float | None) -> str | None:
    if people is None:
        return None
    count = round(people)
    return "No more people than expected" if count < 1 else f"About {count:,} more than expected"


def population(content: Content, views: dict[str, MeasureView]) -> list[Content]:
    """What anybody can infer about anybody: each figure beside what guessing and strangers give."""
    return [
        {"view": views[name], "status": shown["status"], "limit": shown["limit"]}
        for name, shown in content["population"].items()
    ]


def group(group: Content) -> Content:
    """One group on the shared axis, ready to print."""
    return {
        "column": clip(group["column"], 40),
        "level": "(missing)" if group["level"] is None else clip(group["level"], 40),
        "n": f"{group['n']:,}",
        "value": percent(group["value"]),
        "at": at(group["value"]),
        "low": at(group["low"]),
        "high": at(group["high"]),
    }


def _drivers(drivers: Content, view: MeasureView) -> Content:
    share = view.shown["is_share"]
    biggest = max((abs(row["falls_by"]) for row in drivers["keys"]), default=0.0)
    rows = [
        {
            "column": clip(row["column"], 40),
            "without": figure(row["without"], share),
            "falls": f"{'−' if row['falls_by'] > 0 else '+'}{100 * abs(row['falls_by']):.1f} points"
            if abs(row["falls_by"]) >= 5e-4
            else "no change",
            "width": round(100 * max(row["falls_by"], 0) / biggest, 1) if biggest > 0 else 0,
        }
        for row in drivers["keys"]
    ]
    return {"title": view.title, "value": figure(drivers["value"], share), "rows": rows, "flat": biggest < 0.01}


def utility(views: dict[str, MeasureView]) -> Content:
    """Every utility measure on its common scale, and the columns that lost most."""
    chosen = [v for v in views.values() if v.side == "utility"]
    scaled = sorted(
        (v for v in chosen if v.utility is not None),
        key=lambda v: (worst_first(v), v.utility["share"] if v.utility else 0),
    )
    columns = _columns([v for v in chosen if v.ok])
    return {
        "scaled": scaled,
        "columns": columns[:MOST_COLUMNS],
        "rest": columns[MOST_COLUMNS:MOST_LISTED],
        "unlisted": len(columns[MOST_LISTED:]),
        "lead": next((v for v in chosen if v.ok and v.family == "propensity"), next((v for v in chosen if v.ok), None)),
    }


def _columns(chosen: list[MeasureView]) -> list[Content]:
    """One row per column: how many per-column checks see a loss beyond sampling noise, and the worst of them."""
    rows: dict[str, Content] = {}
    for view in chosen:
        for column, reading in view.shown["columns"].items():
            row = rows.setdefault(column, {"name": column, "checks": 0, "lost": [], "ratio": 0.0})
            row["checks"] += 1
            if reading["lost"]:
                row["lost"].append(view.title)
            row["ratio"] = max(row["ratio"], reading["of_tolerable"] or 0.0)
            row["told"] = row.get("told", False) or reading["of_tolerable"] is not None
    found = sorted(rows.values(), key=lambda r: (-len(r["lost"]), -r["ratio"], r["name"]))
    widest = max(max((r["ratio"] for r in found), default=1.0), 1.5)
    for r in found:
        r |= {
            "name": clip(r["name"], 60),
            "width": round(100 * min(r["ratio"] / widest, 1), 1),
            "text": f"{number(r['ratio'], 2)} × noise" if r["told"] else "within noise" if not r["lost"] else "lost",
            "line": round(100 / widest, 1),
        }
    return found


def drawn(distributions: Sequence[Mapping[str, Any]]) -> list[Content]:
    """Original and release side by side, as heights in a small box or widths of bars."""
    pictures = []
    for one in distributions:
        top = max(*one["original"], *one["released"]) or 1.0
        shown: Content = {"column": clip(one["column"], 50), "kind": one["kind"], "more": one["more"]}
        if one["kind"] == "bins":
            shown |= {t: _steps([share / top for share in one[t]]) for t in ("original", "released")}
        else:
            shown["rows"] = [
                {
                    "label": clip(label, 24),
                    "original": round(100 * one["original"][i] / top, 1),
                    "released": round(100 * one["released"][i] / top, 1),
                }
                for i, label in enumerate(one["labels"])
            ]
        pictures.append(shown)
    return pictures


def _steps(heights: list[float]) -> str:
    """A step line over a 100 by 40 box."""
    width = 100 / len(heights)
    points = ["0,40"]
    for i, h in enumerate(heights):
        y = round(40 - 38 * h, 1)
        points += [f"{round(i * width, 1)},{y}", f"{round((i + 1) * width, 1)},{y}"]
    return " ".join([*points, "100,40"])


def data(content: Content) -> Content:
    """Tables, roles, columns, missing values, findings."""
    shown = content["data"]
    sizes = {t["table"]: t["records"] for t in shown["tables"]}
    columns = [
        {
            "name": clip(c["name"], 80),
            "label": clip(c["label"], 200),
            "kind": c["kind"],
            "role": c["role"],
            "reason": clip(c.get("reason", ""), 120),
            "missing": [
                n if isinstance(n, str) else "–" if not n else percent_of(n, sizes[t])
                for t, n in c["missing"].items()
                if t in TABLES
            ],
        }
        for c in shown["columns"]
    ]
    return {
        **shown,
        "columns": columns,
        "shown": columns[:40],
        "folded": columns[40:MOST_LISTED],
        "unlisted": len(columns[MOST_LISTED:]),
        "table_names": [t for t in sizes if t in TABLES],
        "remarks": [(clip(k, 60), clip(v, 200)) for k, v in shown["remarks"].items()][:60],
        "findings": [{**f, "message": clip(f["message"], 400)} for f in shown["findings"]][:60],
    }
