"""Who plays which role: what an attacker may know, what is sensitive, who is one person, with hints from the data."""

from __future__ import annotations

from glasshouse.core.errors import InputError
from glasshouse.core.plain import Content
from glasshouse.show.app.desk import Desk, Form
from glasshouse.show.app.pages.columns import leave_out
from glasshouse.show.app.pages.files import one
from glasshouse.show.cli.starting import candidates, known_to_others
from glasshouse.show.report.view import clip

ROLES = (
    ("", "nothing special"),
    ("key", "an attacker may know it"),
    ("target", "sensitive: an attacker wants it"),
    ("cluster", "names the person or household"),
    ("weights", "survey weight"),
    ("exclude", "leave it out"),
)
MOST_KEYS = 3  # of a suggestion: classes of more keys are mostly single people


def view(desk: Desk, query: Form) -> Content:
    """Every column with its role and a hint."""
    pair = desk.pair
    n = max(pair.n("original"), 1)
    roles = {
        **dict.fromkeys(pair.keys, "key"),
        **dict.fromkeys(pair.targets, "target"),
        **{name: role for role in ("weights", "cluster") if (name := getattr(pair, role)) is not None},
    }
    rows = []
    for name, spec in pair.schema.items():
        distinct = pair.n_distinct(name)
        hints = [f"{distinct:,} {'value' if distinct == 1 else 'values'}"]
        if name in pair.identifiers:
            hints.append("looks like an identifier, left out unless it has a role")
        elif distinct / n > 0.5 and spec.kind not in ("numeric", "datetime"):
            hints.append("most records have a value of their own: as a key it names people")
        elif known_to_others(name):
            hints.append("by its name, neighbours, employers or registers may know it")
        rows.append({"name": name, "label": clip(spec.label, 120), "kind": spec.kind, "role": roles.get(name, ""),
                     "hint": "; ".join(hints)})  # fmt: skip
    keys, targets = candidates(pair)
    return {
        "rows": rows,
        "roles": ROLES,
        "row_paired": pair.row_paired,
        "missing": pair.missing if pair.missing_given else "",
        "keys": list(pair.keys),
        "target": pair.target,
        "suggested": None if pair.keys else (keys[:MOST_KEYS], targets[:1]),
    }


def change(desk: Desk, form: Form) -> Content:
    """Take over the roles."""
    chosen = dict(zip(form.get("column", []), form.get("role", []), strict=True))
    by_role: dict[str, list[str]] = {role: [c for c, r in chosen.items() if r == role] for role, _ in ROLES}
    for role, what in (("target", "sensitive column"), ("cluster", "column that names people"), ("weights", "weight")):
        if len(by_role[role]) > 1:
            raise InputError(f"choose one {what}; another one can be looked at in a second run")
    desk.say(
        keys=by_role["key"],
        **{role: by_role[role][0] if by_role[role] else None for role in ("target", "cluster", "weights")},
        row_paired=True if "row_paired" in form else None,
        missing=one(form, "missing") or None,
    )
    if by_role["exclude"]:
        leave_out(desk, by_role["exclude"])
    _ = desk.pair
    return {"go": "policy"}


def suggest(desk: Desk, form: Form) -> Content:
    """Take the suggestion; it can be changed as if it had been chosen."""
    keys, targets = candidates(desk.pair)
    desk.say(keys=keys[:MOST_KEYS], target=targets[0] if targets else None)
    return {"go": "roles", "said": "Suggested by what the columns are called and hold; change what does not fit."}


ACTS = {"change": change, "suggest": suggest}
