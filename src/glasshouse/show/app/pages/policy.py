"""A policy, chosen in words, with its limits in sight; a preset can be changed, and says then that it was."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from glasshouse.catalogue import all_measures
from glasshouse.core.errors import InputError
from glasshouse.core.plain import Content, percent
from glasshouse.core.settings import parse, toml_text
from glasshouse.core.words import THREATS
from glasshouse.core.writing import write_atomically
from glasshouse.judgement.policy.policy import PRESETS, Policy, preset_text
from glasshouse.judgement.selection import SETS, estimate, select
from glasshouse.show.app.desk import Desk, Form
from glasshouse.show.app.pages.files import one
from glasshouse.show.report.view import THREAT_TITLES

FIRST = "research"
LEVELS = ("fail", "warn", "tolerance")
SET_WORDS = {
    "fast": "the quick tests only",
    "default": "what a verdict needs",
    "full": "everything there is",
}


def view(desk: Desk, query: Form) -> Content:
    """The presets and the policy in force, the measures, and what they cost."""
    chosen = Policy.of(desk.said.get("policy"))
    named = desk.said.get("measures", "default")
    own = chosen.source not in ("built in", "none given")
    presets = [Policy.preset(name) for name in PRESETS]
    sets = [
        {"name": name, "words": SET_WORDS[name], "cost": str(estimate(desk.pair, name, chosen).__str__()).split(";")[0]}
        for name in SETS
    ]
    return {
        "presets": [_card(policy, chosen.name == policy.name) for policy in presets],
        "own": _card(chosen, True) if own else None,
        "none": "policy" not in desk.said,
        "numbers": _numbers(chosen if chosen.leak is not None else Policy.preset(FIRST)),
        "based_on": chosen.name if chosen.name in PRESETS else FIRST,
        "sets": sets,
        "named": named,
        "custom": None if named in SETS else [named] if isinstance(named, str) else list(named),
        "seed": desk.said.get("seed", 0),
        "threats": THREAT_TITLES,
    }


def _card(policy: Policy, chosen: bool) -> Content:
    leak = policy.leak
    limits = []
    if leak is not None:
        limits = [
            ("A leak counts as shown", f"when chance gives as much in fewer than {percent(leak.fail, 0)} of cases"),
            ("It is warned about", f"below {percent(leak.warn, 0)}"),
            ("Tolerated", f"{leak.tolerance:g} of 1,000 members exposed beyond strangers"),
        ]
        seen = [(THREAT_TITLES[t], leak.must_detect(t)) for t in THREATS]
        said = ", ".join(f"{title.lower()} {percent(share, 0)}" for title, share in seen if share is not None)
        if said:
            limits.append(("A leak of this size must have been visible", f"{said} of the people"))
    limits += [(all_measures()[rule.measure].title, rule.text()) for rule in policy.limits]
    limits.append(("Outside, counts are not told below", f"{policy.min_count}"))
    return {
        "name": policy.name,
        "title": policy.title or policy.name,
        "why": policy.why,
        "limits": limits,
        "chosen": chosen,
        "require": [THREAT_TITLES[t].lower() for t in policy.require or ()],
    }


def _numbers(policy: Policy) -> Content:
    leak = policy.leak
    assert leak is not None
    return {
        "fail": leak.fail,
        "warn": leak.warn,
        "tolerance": leak.tolerance,
        "detects": {t: leak.must_detect(t) for t in THREATS},
        "min_count": policy.min_count,
        "rapid": next((rule.fail for rule in policy.population if rule.measure == "rapid"), None),
    }


# -- acts --------------------------------------------------------------------------------------------------------------


def choose(desk: Desk, form: Form) -> Content:
    """Take a policy and a set of measures."""
    policy, measures = one(form, "policy"), one(form, "measures")
    if policy in PRESETS:
        desk.say(policy=policy)
    elif policy == "none":
        desk.say(policy=None)
    if measures in SETS:
        desk.say(measures=measures)
    if "seed" in form:
        desk.say(seed=int(_number(form, "seed", 0, 2**31 - 1, whole=True)))
    _ = select(desk.said.get("measures", "default"), Policy.of(desk.said.get("policy")))
    return {"go": "run"}


def limits(desk: Desk, form: Form) -> Content:
    """Make a policy of one's own: a preset with other numbers."""
    base = one(form, "base")
    content = own_policy(base if base in PRESETS else FIRST, form)
    text = toml_text(content)
    Policy.parse(text, "of the page").validated(all_measures())
    # a run keeps the policy it was made with, so another one is another file
    path = desk.folder / f"policy-{sha256(text.encode()).hexdigest()[:12]}.toml"
    write_atomically(path, text)
    desk.say(policy=str(path))
    return {"go": "policy", "said": "Your own limits are in force."}


def own_policy(base: str, form: Form) -> Content:
    """The content of a policy file: a preset, and the numbers of a form in the place of its own.

    Parameters
    ----------
    base : str
        The preset.
    form : mapping
        The fields.

    Returns
    -------
    dict
    """
    content: Content = parse(preset_text(base), "toml", f"preset {base}")
    leak: dict[str, Any] = {
        **content["leak"],
        "fail": _number(form, "fail", 0.0001, 0.5),
        "warn": _number(form, "warn", 0.0001, 0.5),
        "tolerance": _number(form, "tolerance", 0, 1000),
    }
    detects = {t: _number(form, f"detects-{t}", 0.0001, 1) for t in THREATS if one(form, f"detects-{t}")}
    content |= {"leak": {**leak, "detects": detects or None}}
    content["min_count"] = int(_number(form, "min_count", 3, 1000, whole=True))
    if one(form, "rapid"):
        fail = _number(form, "rapid", 0.0001, 1)
        content["population"] = {"rapid": {"statistic": "excess", "warn": fail / 2, "fail": fail}}
    return content


def _number(form: Form, name: str, low: float, high: float, whole: bool = False) -> float:
    try:
        value = float(one(form, name))
    except ValueError:
        value = float("nan")
    if not low <= value <= high or (whole and value != int(value)):
        kind = "a whole number" if whole else "a number"
        raise InputError(f"{name.replace('-', ', ')} is {kind} from {low:g} to {high:g}")
    return value


ACTS = {"choose": choose, "limits": limits}
