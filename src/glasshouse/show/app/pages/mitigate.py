"""What would make it safe: one operation tried, with its arrow on the map, or the search for the whole way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from glasshouse.core.errors import InputError
from glasshouse.core.plain import Content, number
from glasshouse.core.words import spoken
from glasshouse.judgement.mitigation.mitigate import mitigate
from glasshouse.judgement.mitigation.trying import to_try, tried
from glasshouse.judgement.policy.policy import Policy
from glasshouse.judgement.rumap.candidates import axes, run_for_verdict
from glasshouse.show.app.desk import Desk, Form, Made
from glasshouse.show.app.pages.files import one
from glasshouse.show.report.mitigation import way_of
from glasshouse.show.report.view import clip

POLICY = "research"  # that of gh.mitigate where none is chosen
MOST_STEPS = 10


def view(desk: Desk, query: Form) -> Content:
    """What can be tried, and what came of it."""
    choices: dict[str, list[tuple[int, str]]] = {}
    for at, (operation, arguments) in enumerate(to_try(desk.pair)):
        choices.setdefault(operation.title, []).append((at, f"{operation.title}: {_with(arguments)}"))
    return {
        "choices": choices,
        "choice": desk.choice,
        "columns": list(desk.pair.columns),
        "policy": Policy.of(desk.said.get("policy", POLICY)).title,
        "holdout": desk.pair.has_holdout,
        "most": MOST_STEPS,
        "tried": _way(desk.tried),
        "found": _way(desk.mitigated),
    }


def _with(arguments: Mapping[str, Any]) -> str:
    """The arguments in words."""
    return clip("; ".join(_words(name, value) for name, value in arguments.items()), 160)


def _words(name: str, value: Any) -> str:
    said = _said(value)
    if value is True:
        return name.replace("_", " ")
    alone = isinstance(value, (str, Mapping)) or name in ("columns", "keys")
    return said if alone else f"{name.replace('_', ' ')} {said}"


def _said(value: Any) -> str:
    """What an argument holds: a number, a name, several of them, or one for each column."""
    if isinstance(value, Mapping):
        return spoken([f"{column} {_said(one)}" for column, one in value.items()])
    if isinstance(value, (list, tuple)):
        return spoken([_said(one) for one in value])
    return number(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def _way(made: Made | None) -> Content | None:
    return None if made is None else way_of(made.found, made.found.content())


def try_one(desk: Desk, form: Form) -> Content:
    """Try one operation on the release."""
    choices = to_try(desk.pair)
    given = one(form, "choice")
    if not given.isdigit() or int(given) >= len(choices):
        raise InputError("choose an operation")
    operation, arguments = choices[int(given)]
    said, asked = dict(desk.said), desk.asked
    policy = Policy.of(asked.policy)
    placed = axes(None, None, asked.measures)
    running = asked.running([*placed.values(), *run_for_verdict(placed, None, asked.measures, policy)])
    seed = running.pop("random_state")
    with desk.telling() as step:
        found = tried(desk.pair, operation, arguments, seed=seed, progress=step, measures=asked.measures, **running)
    desk.tried, desk.choice = Made(said, found), int(given)
    return {"go": "mitigate#tried"}


def search(desk: Desk, form: Form) -> Content:
    """Search for the way to a release that meets the policy, as the command line does."""
    given = one(form, "steps")
    if not given.isdigit() or not 1 <= int(given) <= MOST_STEPS:
        raise InputError(f"steps is a whole number from 1 to {MOST_STEPS}")
    said, asked = dict(desk.said), desk.asked
    with desk.telling() as step:
        found = mitigate(
            desk.pair,
            policy=POLICY if asked.policy is None else asked.policy,
            protect=form.get("protect", []),
            steps=int(given),
            random_state=asked.seed,
            n_jobs=asked.said.get("jobs"),
            progress=step,
        )
    desk.mitigated = Made(said, found)
    return {"go": "mitigate#found"}


ACTS = {"try": try_one, "search": search}
