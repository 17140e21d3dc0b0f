"""A policy, chosen in words, with its limits in sight; a preset can be changed, and says then that it was."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
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
# the fields of the form
LABELS = {
    "fail": "A leak counts as shown when chance gives as much in fewer than this share of cases",
    "warn": "It is warned about below",
    "tolerance": "Members of 1,000 that may be exposed beyond strangers",
    **{
        f"detects-{threat}": f"{THREAT_TITLES[threat]}: a leak of this share of the people must have been visible"
        for threat in THREATS
    },
    "rapid": "What anybody can infer (RAPID beyond luck) fails above; empty: it decides nothing",
    "min_count": "Outside, counts are not told below",
}
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
    sets = [
        {"name": name, "words": SET_WORDS[name], "cost": str(estimate(desk.pair, name, chosen).__str__()).split(";")[0]}
        for name in SETS
    ]
    in_force = "own" if own else "nothing" if chosen.source == "none given" else chosen.name
    numbers = _numbers(chosen if chosen.leak is not None else Policy.preset(FIRST))
    typed = desk.refused.get("policy", {})  # what could not be taken over is not typed again
    return {
        "presets": [_card(Policy.preset(name)) for name in PRESETS],
        "own": _card(chosen) if own else None,
        "chosen": one(typed, "policy") or in_force,
        "numbers": [(name, LABELS[name], value, typed.get(name, [value])[0]) for name, value in numbers.items()],
        "sets": sets,
        "named": one(typed, "measures") or named,
        "custom": None if named in SETS else [named] if isinstance(named, str) else list(named),
        "seed": typed.get("seed", [desk.said.get("seed", 0)])[0],
        "open": own or bool(typed),
    }


def _card(policy: Policy) -> Content:
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
        "require": [THREAT_TITLES[t].lower() for t in policy.require or ()],
    }


def _numbers(policy: Policy) -> dict[str, str]:
    """The numbers of a policy as the fields show them."""
    leak = policy.leak
    assert leak is not None
    detects = {f"detects-{threat}": leak.must_detect(threat) for threat in THREATS}
    rapid = next((r.fail for r in policy.population if (r.measure, r.statistic) == ("rapid", "excess")), None)
    found = {"fail": leak.fail, "warn": leak.warn, "tolerance": leak.tolerance, **detects, "rapid": rapid,
             "min_count": policy.min_count}  # fmt: skip
    return {name: "" if value is None else f"{value:g}" for name, value in found.items()}


# -- acts --------------------------------------------------------------------------------------------------------------


def choose(desk: Desk, form: Form) -> Content:
    """Take a policy, with other limits where some were typed, and a set of measures."""
    measures = one(form, "measures")
    if measures in SETS:
        desk.say(measures=measures)
    if "seed" in form:
        desk.say(seed=int(_number(form, "seed", "Seed", 0, 2**31 - 1, whole=True)))
    given = one(form, "policy")
    changed = [name for name in LABELS if name in form and one(form, name) != one(form, f"was-{name}")]
    if changed:
        desk.say(policy=_of_ones_own(desk, given, form, changed))
    elif given in PRESETS:
        desk.say(policy=given)
    elif given == "nothing":
        desk.say(policy=None)
    _ = select(desk.said.get("measures", "default"), Policy.of(desk.said.get("policy")))
    return {"go": "run"}


def limits(desk: Desk, form: Form) -> Content:
    """As :func:`choose`; the page then shows the limits that are in force."""
    before = desk.said.get("policy")
    choose(desk, form)
    own = desk.said.get("policy") not in (before, None, *PRESETS)
    return {"go": "policy", "said": "Your own limits are in force." if own else "Changed."}


def _of_ones_own(desk: Desk, given: str, form: Form, changed: list[str]) -> str:
    """A policy with other numbers, written down; where it lies."""
    path = desk.said.get("policy")
    if given in PRESETS or path in (None, *PRESETS):
        base = given if given in PRESETS else FIRST if path is None else path
        content: Content = parse(preset_text(base), "toml", f"preset {base}")
        policy = Policy.preset(base)
    else:
        kind = Path(path).suffix.removeprefix(".").lower() or "toml"
        content, policy = parse(Path(path).read_text(encoding="utf-8"), kind, Path(path).name), Policy.load(path)
    text = toml_text(own_policy(content, policy, form, changed))
    Policy.parse(text, "of the page").validated(all_measures())
    # a run keeps the policy it was made with, so another one is another file
    own = desk.folder / f"policy-{sha256(text.encode()).hexdigest()[:12]}.toml"
    write_atomically(own, text)
    return str(own)


def own_policy(content: Content, policy: Policy, form: Form, changed: Iterable[str]) -> Content:
    """The content of a policy file with the numbers of a form in the place of its own.

    Parameters
    ----------
    content : dict
        Of the policy that is changed.
    policy : Policy
        The same, read.
    form : mapping
        The fields.
    changed : iterable of str
        The fields whose numbers are taken; all others stay as they are in the policy.

    Returns
    -------
    dict
    """
    leak: dict[str, Any] = dict(content.get("leak", {}))
    known = {t: policy.leak.must_detect(t) for t in THREATS} if policy.leak is not None else {}
    detects: dict[str, float] = {threat: share for threat, share in known.items() if share is not None}
    population = dict(content.get("population", {}))
    made = dict(content)
    for name in changed:
        what, _, threat = name.partition("-")
        if what == "detects" and not one(form, name):
            detects.pop(threat, None)
        elif what == "detects":
            detects[threat] = _number(form, name, LABELS[name], 0.0001, 1)
        elif name == "rapid" and not one(form, name):
            population.pop("rapid", None)
        elif name == "rapid":
            fail = _number(form, name, LABELS[name], 0.0001, 1)
            population["rapid"] = {"statistic": "excess", "warn": fail / 2, "fail": fail}
        elif name == "min_count":
            made["min_count"] = int(_number(form, name, LABELS[name], 3, 1000, whole=True))
        else:
            leak[name] = _number(form, name, LABELS[name], *((0, 1000) if name == "tolerance" else (0.0001, 0.5)))
    made |= {"leak": {**leak, "detects": detects or None}, "population": population}
    return {name: value for name, value in made.items() if value != {}}


def _number(form: Form, name: str, label: str, low: float, high: float, whole: bool = False) -> float:
    try:
        value = float(one(form, name).replace(",", "."))  # half of Europe writes a comma
    except ValueError:
        value = float("nan")
    if not low <= value <= high or (whole and value != int(value)):
        raise InputError(f"{label}: {'a whole number' if whole else 'a number'} from {low:,} to {high:,}")
    return value


ACTS = {"choose": choose, "limits": limits}
