"""What would make it safe: one operation tried, with its arrow on the map, or the search for the whole way."""

from __future__ import annotations

from glasshouse.core.errors import InputError
from glasshouse.core.plain import Content
from glasshouse.core.words import spoken
from glasshouse.judgement.mitigation.mitigate import mitigate
from glasshouse.judgement.mitigation.trying import to_try, tried
from glasshouse.judgement.policy.policy import Policy
from glasshouse.judgement.rumap.candidates import axes, run_for_verdict
from glasshouse.protection.recipe import Recipe, Step
from glasshouse.show.app.desk import Desk, Form, Made
from glasshouse.show.app.pages.files import one
from glasshouse.show.report.mitigation import way_of
from glasshouse.show.report.view import clip

POLICY = "research"  # that of gh.mitigate where none is chosen
MOST_STEPS = 10


def view(desk: Desk, query: Form) -> Content:
    """What can be tried, and what came of it."""
    choices = [
        {"at": i, "title": one_.title, "acts": spoken(list(one_.acts_on)), "with": _with(one_.name, arguments)}
        for i, (one_, arguments) in enumerate(to_try(desk.pair))
    ]
    return {
        "choices": choices,
        "columns": list(desk.pair.columns),
        "policy": Policy.of(desk.said.get("policy", POLICY)).title,
        "steps": MOST_STEPS,
        "tried": _way(desk.tried),
        "found": _way(desk.mitigated),
    }


def _with(name: str, arguments: object) -> str:
    """The arguments in words, as the recipe writes them."""
    lines = Recipe([Step(name, dict(arguments))]).to_toml().strip().split("\n")  # type: ignore[call-overload]
    return clip("; ".join(line for line in lines if line and not line.startswith(("#", "[[", "operation"))), 200)


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
    desk.tried = Made(said, found)
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
