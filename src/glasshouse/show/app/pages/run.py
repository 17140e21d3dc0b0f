"""What will be run, what it will cost, what is missing; and the run itself."""

from __future__ import annotations

from pathlib import Path

from glasshouse.core.plain import Content
from glasshouse.core.words import counted
from glasshouse.judgement.policy.policy import Policy
from glasshouse.judgement.selection import estimate
from glasshouse.show.app.desk import TABLES, Desk, Form, Made
from glasshouse.show.app.pages.verdict import draw
from glasshouse.show.cli.assessing import assessed, named
from glasshouse.show.report.view import clip


def view(desk: Desk, query: Form) -> Content:
    """A summary of what was said, and what could not be judged with it."""
    pair, asked = desk.pair, desk.asked
    policy = Policy.of(asked.policy)
    costs = estimate(pair, named(asked), policy)
    waiting = []
    if not pair.has_holdout:
        waiting.append("There is no holdout: membership cannot be judged, nor most leaks. What is open never passes.")
    if not pair.keys:
        waiting.append("No column is named that an attacker may know: identity and attribute stay open.")
    if not pair.targets:
        waiting.append("No sensitive column is named: what can be inferred stays open.")
    return {
        "tables": [(name, Path(desk.said[name]).name, pair.n(name)) for name in TABLES if name in desk.said],
        "keys": list(pair.keys),
        "target": pair.target,
        "columns": counted(len(pair.columns), "column"),
        "policy": policy.title or policy.name,
        "costs": str(costs),
        "waiting": waiting,
        "first": [clip(found.message, 400) for found in pair.check() if found.first],
        "before": desk.assessed is not None,
    }


def assess(desk: Desk, form: Form) -> Content:
    """Run what the settings ask for, as the command line does."""
    said, asked, pair = dict(desk.said), desk.asked, desk.pair
    costs = estimate(pair, named(asked), asked.policy)
    with desk.telling({one.measure: one.seconds for one in costs.costs}) as step:
        desk.assessed, desk.scenarios = Made(said, assessed(asked, pair, step)), None
        step(1, 1, "drawing the report")
        draw(desk)
    return {"go": "verdict"}


ACTS = {"assess": assess}
