"""What to do about a finding, in one or two sentences with the real column names (wording follows report.md 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from glasshouse.core.plain import number, percent
from glasshouse.judgement.policy.outcomes import SEVERITY
from glasshouse.judgement.verdict.threats import Judged, why_open

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair


@dataclass(frozen=True)
class Recommendation:
    """Advice that follows from one measure."""

    measure: str
    status: str
    text: str

    def to_dict(self) -> dict[str, Any]:
        return {"measure": self.measure, "status": self.status, "text": self.text}


def recommend(pair: Pair, judged: Sequence[Judged], drivers: Mapping[str, Any] | None) -> tuple[Recommendation, ...]:
    """One recommendation per kind of finding, worst first. Measures that say the same thing say it once."""
    facts = _Facts(pair, drivers)
    failing = sorted(
        (j for j in judged if j.status in ("warn", "fail") and (j.decides or j.measure.side == "utility")),
        key=lambda j: (-SEVERITY[j.status], not j.decides, -(j.result.excess or 0)),
    )
    said: dict[str, Recommendation] = {}
    unproven = [j for j in failing if _unproven(j)]
    for j in failing:
        if j in unproven:
            continue
        kind = _KIND.get(j.name) or _KIND.get(j.measure.family)
        if kind is None or (j.measure.side == "utility" and kind != "too_similar"):
            kind = None if j.measure.side == "utility" else j.measure.threat
        if kind in _TEXT and kind not in said:
            said[kind] = Recommendation(j.name, j.status, _TEXT[kind](j, facts))
    too_close = next((j for j in judged if j.name == "pmse" and _too_similar(j)), None)
    if too_close is not None:
        said["too_similar"] = Recommendation("pmse", "warn", _TEXT["too_similar"](too_close, facts))
    if unproven:
        said["unproven"] = Recommendation(unproven[0].name, "warn", _more_attacks([j.name for j in unproven]))
    return (*said.values(), *_open(judged))


def _unproven(j: Judged) -> bool:
    """A warning only because too little was seen: the interval of attack minus control holds 0."""
    limits = j.result.details.get("difference_interval")
    return j.status == "warn" and limits is not None and bool(limits[0] <= 0)


def _more_attacks(names: Sequence[str]) -> str:
    return (
        f"{_listed(names)}: no leak is shown, but one above the limit cannot be excluded with so few attacks. Use a "
        "larger holdout or more attacks (n_attacks) before changing the release."
    )


def _open(judged: Sequence[Judged]) -> list[Recommendation]:
    reasons = " ".join(why_open(j) for j in judged if j.status == "not_assessed")
    found = []
    if "holdout" in reasons:
        found.append(
            Recommendation(
                "holdout",
                "not_assessed",
                "No holdout was supplied: memorisation and membership cannot be judged. Withhold 20 to 50 % "
                "of the records before synthesis, and run again with holdout=. A split made afterwards proves nothing.",
            )
        )
    if "needs keys" in reasons:
        found.append(
            Recommendation(
                "keys",
                "not_assessed",
                "No keys were named: identity and attribute disclosure cannot be judged. List the columns an "
                "attacker may know.",
            )
        )
    if "needs a target" in reasons:
        found.append(
            Recommendation(
                "target",
                "not_assessed",
                "No target was named: attribute disclosure cannot be judged. Name the column an attacker would "
                "want to learn.",
            )
        )
    return found


def _too_similar(j: Judged) -> bool:
    ratio = j.result.details.get("pmse_ratio")
    return bool(j.result.details.get("copy_alarm")) or (isinstance(ratio, (int, float)) and ratio < 0.5)


class _Facts:
    """The names a recommendation speaks of."""

    def __init__(self, pair: Pair, drivers: Mapping[str, Any] | None) -> None:
        self.keys = _listed(pair.keys) or "the keys"
        self.target = pair.target or (pair.targets[0] if pair.targets else "the target")
        falling = [row["column"] for row in (drivers or {}).get("keys", ()) if row["falls_by"] > 0]
        self.top_key = falling[0] if falling else (pair.keys[0] if pair.keys else "the finest key")
        self.top_keys = _listed(falling[:2]) or self.keys
        self.numeric = _listed(pair.numeric[:4]) or "the numeric columns"
        self.m = pair.m


def _listed(names: Sequence[str]) -> str:
    names = [str(n) if len(str(n)) <= 60 else f"{str(n)[:57]}…" for n in names]
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + f" and {names[-1]}" if names else ""


def _share(value: float | None) -> str:
    return "–" if value is None else percent(value)


def _matching(j: Judged, f: _Facts) -> str:
    guess = f" (guessing: {_share(j.result.baseline)})" if j.result.baseline is not None else ""
    return (
        f"Knowing {f.keys}, an attacker reads off the right {f.target} for {_share(j.result.value)} of "
        f"people{guess}. Coarsen {f.top_key}, merge categories of {f.target} "
        "that few records hold, or stop the synthesiser from splitting into cells this small (larger leaves, "
        "smoothing)."
    )


def _model(j: Judged, f: _Facts) -> str:
    excess = j.result.excess if j.result.excess is not None else j.result.value
    return (
        f"A model trained on the release predicts {f.target} of real people better than chance allows (excess "
        f"{_share(excess)}). If users do not need a relation this "
        f"strong, weaken or drop {f.top_keys}; otherwise treat it as a fact about the population, and document it."
    )


def _classes(j: Judged, f: _Facts) -> str:
    return (
        f"Some released records stand alone or nearly so on {f.keys} ({j.name.replace('_', ' ')}: "
        f"{number(j.result.value)}). For perturbed or partially synthetic data: "
        f"recode or suppress {f.top_keys}. For fully synthetic data read this together with the linkage and "
        "copying results."
    )


def _copies(j: Judged, f: _Facts) -> str:
    expected = f", {_share(j.result.baseline)} expected by chance" if j.result.baseline is not None else ""
    return (
        f"{_share(j.result.value)} of released records equal a real record{expected}. Remove or re-draw "
        "them, and check the synthesiser for memorisation."
    )


def _near(j: Judged, f: _Facts) -> str:
    expected = j.result.baseline if j.result.baseline is not None else 0.5
    return (
        "Released records sit closer to the records the synthesiser saw than to people it never saw "
        f"({number(j.result.value, 3)} where {number(expected, 3)} is expected). "
        "Reduce the capacity of the model or its training, regularise, use differential privacy, or train on "
        "more records."
    )


def _bracketed(j: Judged, f: _Facts) -> str:
    if j.name == "hitting_rate":
        return (
            f"{_share(j.result.value)} of released records lie very near a real one "
            f"({_share(j.result.baseline)} expected). Add more noise to {f.numeric}, or use larger "
            "groups for microaggregation."
        )
    return (
        f"{_share(j.result.value)} of real values can be bracketed closely from the release. Add more noise "
        f"to {f.numeric}, or use larger groups for microaggregation."
    )


def _singled(j: Judged, f: _Facts) -> str:
    seen = f" ({_share(j.result.holdout)} for people the synthesiser never saw)" if j.result.holdout is not None else ""
    return (
        f"Descriptions learnt from the release fit exactly one real person in {_share(j.result.value)} of "
        f"tries{seen}. Top- and bottom-code {f.numeric}, and merge rare categories."
    )


def _linked(j: Judged, f: _Facts) -> str:
    return (
        f"Records can be joined through the release for {_share(j.result.value)} of people. Release fewer "
        f"columns jointly, or break the link between {f.keys} and the rest."
    )


def _members(j: Judged, f: _Facts) -> str:
    tpr = j.result.details.get("tpr_at_1pct_fpr", j.result.details.get("tpr_0.01"))
    rate = f", {_share(tpr)} of members at 1 % false alarms" if isinstance(tpr, (int, float)) else ""
    return (
        f"Being in the data can be detected ({j.name.replace('_', ' ')} {number(j.result.value, 3)}{rate}). Use "
        "a differentially private generator or stop training earlier, "
        "and ask whether membership itself is sensitive here."
    )


def _weap(j: Judged, f: _Facts) -> str:
    return (
        f"Many released key groups hold a single value of {f.target} ({_share(j.result.value)}). Group "
        f"sparse combinations of {f.keys}, or add noise to {f.target} within them."
    )


def _presence(j: Judged, f: _Facts) -> str:
    return f"For some key groups the release shows almost all real members. Sub-sample, or coarsen {f.top_keys}."


def _similar(j: Judged, f: _Facts) -> str:
    return (
        "The release is too similar to the original: it behaves like a lightly perturbed copy. Read the "
        "copying results before anything else."
    )


_TEXT = {
    "matching": _matching,
    "model": _model,
    "classes": _classes,
    "copies": _copies,
    "near": _near,
    "bracketed": _bracketed,
    "singled": _singled,
    "linked": _linked,
    "members": _members,
    "weap": _weap,
    "presence": _presence,
    "too_similar": _similar,
    # a measure this page does not know by name still gets the advice of its threat
    "identity": _linked,
    "attribute": _matching,
    "membership": _members,
    "copying": _near,
}
_KIND = {
    "disco": "matching",
    "cap": "matching",
    "tcap": "matching",
    "attribution": "matching",
    "attribution_all": "matching",
    "weap": "weap",
    "rapid": "model",
    "inference": "model",
    "information": "model",
    "k_anonymity": "classes",
    "l_diversity": "classes",
    "t_closeness": "classes",
    "individual_risk": "classes",
    "attacker_risk": "classes",
    "suda": "classes",
    "population_uniqueness": "classes",
    "uniques": "classes",
    "delta_presence": "presence",
    "identical": "copies",
    "dcr": "near",
    "nndr": "near",
    "forest_proximity": "near",
    "epsilon_identifiability": "near",
    "drisk": "bracketed",
    "hitting_rate": "bracketed",
    "singling_out": "singled",
    "linkability": "linked",
    "record_linkage": "linked",
    "nnaa": "members",
    "domias": "members",
    "membership_classifier": "members",
    "membership": "members",
}
