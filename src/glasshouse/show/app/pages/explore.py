"""Look closer: cut a measure by a column, move its threshold, change what the attacker knows, see the records."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import narwhals as nw
import numpy as np

from glasshouse.core.errors import InputError
from glasshouse.core.plain import Content, number, percent
from glasshouse.core.records import grouped
from glasshouse.core.result import Result
from glasshouse.data.findings import spoken
from glasshouse.disclosure.rapid.answers import ClassAnswers
from glasshouse.disclosure.rapid.records import quarters
from glasshouse.disclosure.rapid.result import RapidResult
from glasshouse.judgement.policy.policy import Policy
from glasshouse.judgement.run import attempt, safely
from glasshouse.judgement.scenarios.run import scenarios
from glasshouse.judgement.selection import estimate, select
from glasshouse.show.app.desk import Desk, Form, Made
from glasshouse.show.app.pages.files import one
from glasshouse.show.cli.assessing import named
from glasshouse.show.report.drawing import MOST_BYTES, cannot_draw, markup, svg_of
from glasshouse.show.report.scenarios import LEVELS, table_rows
from glasshouse.show.report.sections import group
from glasshouse.show.report.view import clip, percent_of

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

MOST_GROUPS = 30
MOST_LEVELS = 2000
MOST_RECORDS = 25
K = (2, 20)  # ends of the slider for the size of a group
FEWEST = 10  # records of a group that is shown
FIRST = ("rapid", "disco")
_DAYS = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def view(desk: Desk, query: Form) -> Content:
    """One measure, at a threshold, cut by a column."""
    found = desk.assessment
    measures = {name: r for name, r in found.results.items() if r.status == "ok" and (has_records(r) or lever(r))}
    if not measures:
        return {"measures": [], "measure": None, "scenarios": _scenarios(desk), "columns": _columns(desk)}
    asked = one(query, "measure")
    name = asked if asked in measures else next((n for n in FIRST if n in measures), next(iter(measures)))
    result = measures[name]
    column = one(query, "column")
    columns = list(found.pair.schema)
    column = column if column in columns else next((c for c in (*found.pair.keys, *columns)), "")
    moved, threshold = at_threshold(found, result, one(query, "at"))
    records = desk.shown_records == name and "part" not in query
    if records:
        desk.shown_records = None
    return {
        "measures": sorted(((n, _title(r)) for n, r in measures.items()), key=lambda m: m[1].casefold()),
        "measure": name,
        "title": _title(result),
        "sentence": clip(result.sentence),
        "threshold": threshold,
        "count": _count(moved),
        "picture": picture(moved),
        "no_charts": cannot_draw(),
        "columns": _columns(desk),
        "column": column,
        "groups": _groups(found.pair, moved, column) if has_records(moved) and column else None,
        "can_cut": has_records(result),
        "records": _records(moved) if records else None,
        "ranked": result._rank is not None,
        "scenarios": _scenarios(desk),
    }


def _title(result: Result) -> str:
    return result.name if result.measure is None else result.measure.title


def has_records(result: Result) -> bool:
    """Whether a result can be cut by a column."""
    return result.flag is not None and result._records is not None


# -- thresholds --------------------------------------------------------------------------------------------------------


def lever(result: Result) -> bool:
    """Whether a result has a threshold that can be moved while one looks: of RAPID, and of what only counts."""
    measure = result.measure
    counts = measure is not None and measure.cost == "cells" and "k" in measure.options
    return isinstance(result, RapidResult) or counts


def at_threshold(found: Any, result: Result, asked: str) -> tuple[Result, Content | None]:
    """The result at the threshold asked for, and the slider."""
    if isinstance(result, RapidResult):
        answers = result.answers()[0]
        own, top = float(answers.threshold), float(answers.usual_grid()[-1])
        at = min(max(_number(asked, own), 0.0), top)
        name = "tau" if isinstance(answers, ClassAnswers) else "epsilon"
        stepped = abs(own * 100 / top - round(own * 100 / top)) < 1e-9  # else the slider could not stand at its own
        step = top / 100 if stepped else "any"
        slider = {"name": name, "low": 0, "high": top, "step": step, "at": round(at, 6), "own": own}
        return (result if at == own else result.at(at)), slider
    if not lever(result) or result.measure is None:
        return result, None
    options = dict(result.settings.get("options", {}))
    own_k = options.get("k", result.measure.options["k"])
    if not isinstance(own_k, int):
        return result, None
    low, high = min(K[0], own_k), max(K[1], own_k)
    at_k = round(min(max(_number(asked, own_k), low), high))
    slider = {"name": "k", "low": low, "high": high, "step": 1, "at": at_k, "own": own_k}
    if at_k == own_k:
        return result, slider
    given = {**{k: v for k, v in options.items() if k in result.measure.options}, "k": at_k}
    return attempt(result.measure, found.pair, given), slider


def _number(text: str, otherwise: float) -> float:
    try:
        return float(text) if float(text) == float(text) else otherwise
    except ValueError:
        return otherwise


def _count(result: Result) -> Content | None:
    """How many records are flagged, of how many; of a figure that is no yes or no its mean."""
    if result.status != "ok":
        return {"said": result.reason, "of": "", "interval": "", "chance": ""}
    if not has_records(result):
        return None
    flags, known = result.flags()
    total = int(known.sum())
    whose = f"{total:,} records of the {spoken(result._record_table)} table"
    if not _is_share(result):
        mean = number(_mean(result)) if total else "–"
        return {"said": mean, "of": f"mean of {result.flag} over {whose}", "interval": "", "chance": ""}
    ends = result.interval if isinstance(result, RapidResult) else None
    flagged = float(flags[known].sum())
    weights = result._group_weights(result._record_table, known)
    return {
        "said": percent_of(round(flagged), total) if weights is None else f"{percent(_mean(result))} by weight",
        "of": f"of {whose}" if weights is None else f"{round(flagged):,} of {whose}",
        "interval": "" if ends is None else f"interval {percent(ends[0])} to {percent(ends[1])}",
        "chance": f"luck alone: {percent(result.baseline)}"
        if isinstance(result, RapidResult) and result.baseline is not None
        else "",
    }


def _mean(result: Result) -> float:
    """The mean of the figures per record, by weight where records have weights."""
    flags, known = result.flags()
    weights = result._group_weights(result._record_table, known)
    return float(np.average(flags[known], weights=weights)) if known.any() else 0.0


def _is_share(result: Result) -> bool:
    """Whether the figures per record say who is at risk, rather than how much of something each record has."""
    flags, known = result.flags()
    return result._counts_people() or bool(np.isin(flags[known], (0.0, 1.0)).all())


def picture(result: Result) -> Any:
    """The default chart of a result; None where it cannot be drawn."""
    svg, _ = safely(lambda: svg_of(result.plot()))
    return markup(svg) if svg is not None and len(svg) <= MOST_BYTES else None


# -- groups and records ------------------------------------------------------------------------------------------------


def _groups(pair: Pair, result: Result, column: str) -> Content | None:
    """The figure inside each level of a column, the highest first."""
    made, problem = safely(lambda: _by(pair, result, column))
    if made is None:
        return {"problem": problem, "rows": [], "more": 0, "small": 0, "overall": None, "share": True}
    level, rows = made
    known = [r for r in rows if r["n"] and not r["small"] and r["value"] is not None]
    known.sort(key=lambda r: -r["value"])
    share = _is_share(result)
    overall = _mean(result)
    return {
        "problem": None,
        "rows": [
            group({**r, "column": column, "low": max(r["low"], 0), "high": r["high"]})
            if share
            else {"level": clip(r["level"], 60), "n": f"{r['n']:,}", "value": number(r["value"])}
            for r in known[:MOST_GROUPS]
        ],
        "more": max(len(known) - MOST_GROUPS, 0),
        "small": sum(bool(r["small"]) for r in rows),
        "overall": {"at": round(100 * overall, 2), "text": percent(overall)} if share else None,
        "share": share,
        "name": level,
    }


def _by(pair: Pair, result: Result, column: str) -> tuple[str, list[Content]]:
    """The levels of a column with their figures, as ``result.by`` gives them; numbers and dates of many values are cut
    into quarters, of whatever measure."""
    flags, known = result.flags()
    table = result._record_table
    cut = quarters(pair, column, table, known)
    if cut is None:
        levels = pair.n_distinct(column)
        if levels > MOST_LEVELS:
            raise InputError(f"{column} has {levels:,} values, so its groups are single people; choose another column")
        found = nw.from_native(result.by(column)).lazy().collect("polars").to_dict(as_series=False)
        name = next(iter(found))
        rows = [dict(zip(("level", *list(found)[1:]), row, strict=True)) for row in zip(*found.values(), strict=True)]
        return name, rows
    labels, codes = cut
    if pair.schema[column].kind == "datetime":
        labels = [None if one is None else _DAYS.sub(_day, str(one)) for one in labels]
    weights = result._group_weights(table, known)
    figures = grouped(flags[known], codes, len(labels), 0.95, FEWEST, weights, result._counts_people())
    rows = [dict(zip(("level", *figures), row, strict=True)) for row in zip(labels, *figures.values(), strict=True)]
    return column, rows


def _day(days: re.Match[str]) -> str:
    """A date from its days since 1970."""
    return str(np.datetime64(math.floor(float(days[0])), "D"))


def _records(result: Result) -> Content:
    """The records most at risk, as a table: values of people, shown once and only after asking."""
    made, problem = safely(lambda: result.top(MOST_RECORDS))
    if made is None:
        return {"problem": problem, "names": [], "rows": []}
    table = nw.from_native(made).lazy().collect("polars").to_dict(as_series=False)
    cells = zip(*table.values(), strict=True)
    return {
        "problem": None,
        "names": list(table),
        "rows": [
            ["–" if v is None else number(v) if isinstance(v, float) else clip(v, 60) for v in row] for row in cells
        ],
    }


def ask_records(desk: Desk, form: Form) -> Content:
    """Show the records at risk of one measure, this once."""
    name = one(form, "measure")
    result = desk.assessment.results.get(name)
    if result is None or not has_records(result):
        raise InputError("this measure has no figures per record")
    desk.shown_records = name
    rest = "".join(f"&{field}={quote(one(form, field))}" for field in ("column", "at") if one(form, field))
    return {"go": f"explore?measure={quote(name)}{rest}#records"}


# -- scenarios ---------------------------------------------------------------------------------------------------------


def _columns(desk: Desk) -> list[str]:
    return list(desk.assessment.pair.schema)


def _scenarios(desk: Desk) -> Content | None:
    """The verdicts side by side for what different attackers know."""
    pair = desk.assessment.pair
    choices = [c for c in pair.columns if c not in pair.targets]
    if desk.scenarios is None:
        return {"choices": choices, "keys": list(pair.keys), "rows": None}
    content = desk.scenarios.found.content()
    return {"choices": choices, "keys": list(pair.keys), "rows": content["table"], "plain": table_rows(content),
            "headline": clip(desk.scenarios.found.headline, 700), "levels": LEVELS}  # fmt: skip


def compare_keys(desk: Desk, form: Form) -> Content:
    """Assess the same release against an attacker who knows other columns, beside the one assessed."""
    chosen = form.get("key", [])
    made = desk.assessed
    if not chosen or made is None:
        raise InputError("tick at least one column that the other attacker knows")
    pair = desk.assessment.pair
    cases: dict[str, Mapping[str, Any] | list[str]] = {"as assessed": list(pair.keys)}
    if desk.scenarios is not None and desk.scenarios.said == made.said:
        cases |= {name: list(found.pair.keys) for name, found in desk.scenarios.found.items()}
    name = ", ".join(chosen)
    if sorted(chosen) == sorted(pair.keys) or name in cases:
        raise InputError("this attacker has been assessed; tick other columns")
    cases[name] = chosen
    asked = desk.asked_of(made.said)
    policy = Policy.of(asked.policy)
    costs = estimate(pair, named(asked), policy)
    running = asked.running(select(named(asked), policy, pair.row_paired))
    which = "default" if asked.measures is None else asked.measures
    with desk.telling({c.measure: c.seconds for c in costs.costs}) as step:
        found = scenarios(pair, keys=cases, measures=which, progress=step, **running)
    desk.scenarios = Made(made.said, found)
    return {"go": "explore#scenarios"}


ACTS = {"records": ask_records, "keys": compare_keys}
