"""The gate of a mitigation: everything a reader may see of the way from one release to another.

How many records or cells a step touched is a count of people: re-drawn records are copies of somebody, swapped ones are
those of a column chosen by what it tells. Outside none of them is told, nor why a column was chosen, nor the arguments.
Risk and utility are those of the map as it is told outside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from glasshouse.core.errors import InputError
from glasshouse.core.forking import entering
from glasshouse.core.outside import AUDIENCES
from glasshouse.core.plain import Content, plain
from glasshouse.core.words import spoken
from glasshouse.judgement.mitigation.halves import DEALT, NOBODY, PAIRED, TOO_FEW
from glasshouse.judgement.mitigation.mitigated import CAME, CHOSEN, UNCHANGED, VOID, Mitigated

if TYPE_CHECKING:
    from glasshouse.judgement.mitigation.mitigated import StepTaken

SCHEMA = "glasshouse.mitigation"
SCHEMA_VERSION = 1
STATIC = (DEALT, NOBODY, TOO_FEW, PAIRED, CHOSEN, *UNCHANGED.values())


def content(fixed: Mitigated, audience: str) -> Content:
    """Everything a reader of ``audience`` may see; no record and no data value is in it.

    Parameters
    ----------
    fixed
        What came of the search.
    audience
        "internal", or "external": no count of records or cells, no arguments, figures as the map tells them outside.

    Returns
    -------
    dict
        Plain data with a versioned schema.
    """
    if audience not in AUDIENCES:
        raise InputError(f"audience={audience!r} is not known; it is 'internal' or 'external'")
    entering()
    inside = audience == "internal"
    shown = None if fixed.map is None else fixed.map.content(audience)
    recipe = [plain({"operation": s.operation, **dict(s.arguments)}) for s in fixed.recipe.steps]
    places = {} if shown is None else {row["release"]: row for row in shown["releases"]}
    return {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "audience": audience,
        "met": fixed.met,
        "exit_code": fixed.exit_code,
        "changed": fixed.changed,
        "verified": fixed.verified,
        "summary": fixed.summary(),
        "before": {
            "verdict": fixed.before.verdict,
            "threats": {name: t.status for name, t in fixed.before.threats.items()},
        },
        "verdict": fixed.verdict.content(audience),
        "steps": [
            _step(one, fixed.taken[at - 1].name if at else CAME, places, inside) for at, one in enumerate(fixed.taken)
        ],
        "map": shown,
        "recipe": recipe if inside else None,
        "tried": fixed.tried if inside else None,
        "seed": fixed.seed,
        "notes": list(fixed.notes) if inside else _notes(fixed),
    }


def _step(one: StepTaken, before: str, places: Content, inside: bool) -> Content:
    told: dict[str, Any] = {}
    for side in ("risk", "utility"):
        for when, release in (("before", before), ("after", one.name)):
            row = places.get(release)
            told[f"{side}_{when}"] = None if row is None else row[side]
            told[f"{side}_{when}_shown"] = None if row is None else row[f"{side}_shown"]
    acts = f"acts on {spoken(one.threats)}, which {'fails' if len(one.threats) == 1 else 'fail'}"
    return {
        "name": one.name,
        "operation": one.operation.name,
        "title": one.operation.title,
        "why": one.why if inside else acts,
        "threats": list(one.threats),
        "arguments": plain(dict(one.step.arguments)) if inside else None,
        **told,
        "records": one.records if inside else None,
        "cells": one.cells if inside else None,
        "looked_at_original": one.voids_dp,
    }


def _notes(fixed: Mitigated) -> list[str]:
    """Notes of our own words, which no data decide: what was done with the holdout, and to a claim of privacy."""
    void = [one.operation.title for one in fixed.taken if one.voids_dp]
    said = [VOID.format(steps=spoken(void).capitalize())] if void else []
    return [note for note in fixed.notes if note in STATIC] + said
