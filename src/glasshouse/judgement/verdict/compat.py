"""The verdict rule of riskutility 0.1.0's ``disclosure_report()``, so that its verdicts can be compared with ours.

Reproduced as it is, defects included: FAIL, N/A and SKIPPED count nowhere, any ERROR means HIGH, delta-presence
cannot fail, and a missing ratio of CAP or TCAP is a WARNING. It is used only when a policy says ``verdict_rule =
"riskutility"``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from glasshouse.core.result import Result

LEVEL = {"pass": "LOW", "warn": "MEDIUM", "fail": "HIGH", "incomplete": "INCOMPLETE"}
VERDICT = {level: verdict for verdict, level in LEVEL.items()}
SENTENCE = {
    "LOW": "riskutility's rule: no warning was counted.",
    "MEDIUM": "riskutility's rule: one or two warnings, no error.",
    "HIGH": "riskutility's rule: three or more warnings, or an error.",
}


def status(metric: str, **figures: Any) -> str:
    """PASS, WARNING, FAIL or N/A of one metric by the report's own thresholds.

    Figures are named as in the package: ``cap`` and ``baseline``; ``ratio``; ``pct_disclosive``; ``value``; ``k``;
    ``l``; ``t``; ``mean_risk``; ``share`` and ``wilcoxon_p``; ``ratio`` and ``pct_suspicious``; ``pct``; ``risk``;
    ``privacy_loss``; ``auc``.
    """
    if metric in ("CAP", "TCAP"):
        cap, baseline = figures.get("cap"), figures.get("baseline")
        ratio = None if cap is None or not baseline else cap / baseline
        return _pass(ratio is not None and _at_most(ratio, 1.5))
    if metric == "DiSCO":
        return "N/A" if figures.get("ratio") is None else _pass(_at_most(figures["ratio"], 1.5))
    if metric == "k-Anonymity":
        return "PASS" if figures["k"] >= 5 else "WARNING" if figures["k"] >= 2 else "FAIL"
    if metric == "delta-Presence":
        return "PASS"
    if metric not in _TESTS:
        raise KeyError(metric)
    return _pass(_TESTS[metric](figures))


_TESTS = {
    "WEAP": lambda f: f["pct_disclosive"] <= 5,
    "RAPID": lambda f: f["value"] < 0.15,
    "l-Diversity": lambda f: f["l"] >= 2,
    "t-Closeness": lambda f: f["t"] <= 0.2,
    "Individual Risk": lambda f: f["mean_risk"] < 0.1,
    "Population Uniqueness": lambda f: f["value"] <= 0.1,
    "Attacker Risk": lambda f: f["value"] <= 0.1,
    "DCR": lambda f: f["share"] <= 0.55 and f["wilcoxon_p"] > 0.05,
    "NNDR": lambda f: f["ratio"] >= 0.8 and f["pct_suspicious"] <= 5,
    "IMS": lambda f: f["pct"] < 1,
    "dRisk": lambda f: f["value"] < 0.05,
    "Hitting Rate": lambda f: f["value"] < 0.05,
    "RF Privacy": lambda f: f["share"] <= 0.55 and f["p"] > 0.05,
    "Epsilon-Identifiability": lambda f: f["value"] <= 0.1,
    "Singling Out": lambda f: f["risk"] < 0.1,
    "Linkability": lambda f: f["risk"] < 0.1,
    "NNAA": lambda f: f["privacy_loss"] < 0.05,
    "DOMIAS": lambda f: f["auc"] < 0.6,
}


def level(statuses: Sequence[str]) -> str:
    """LOW, MEDIUM or HIGH from the statuses, as the package counts them."""
    warnings, errors = statuses.count("WARNING"), statuses.count("ERROR")
    if errors == 0 and warnings == 0:
        return "LOW"
    return "MEDIUM" if errors == 0 and warnings <= 2 else "HIGH"


def threat_level(threats: Mapping[str, str]) -> str:
    """The rule of this house in that package's words: LOW, MEDIUM, HIGH or INCOMPLETE from PASS, WARN, FAIL,
    NOT_ASSESSABLE.
    """
    from glasshouse.judgement.verdict.threats import overall

    words = {"PASS": "pass", "WARN": "warn", "FAIL": "fail", "NOT_ASSESSABLE": "not_assessed", "ERROR": "not_assessed"}
    return LEVEL[overall({name: words[s] for name, s in threats.items()}, tuple(threats))]


def statuses(results: Mapping[str, Result]) -> dict[str, str]:
    """Status of every metric of that report which has been measured here.

    A failed measure is an ERROR, what does not apply is SKIPPED.
    """
    found = {}
    for metric, (name, read) in _READERS.items():
        result = results.get(name)
        if result is None:
            continue
        if result.status != "ok":
            found[metric] = "ERROR" if result.status == "failed" else "SKIPPED"
            continue
        figures = read(result)
        found[metric] = (
            "SKIPPED"
            if any(v is None for v in figures.values()) and metric not in ("CAP", "TCAP", "DiSCO")
            else status(metric, **figures)
        )
    return found


def _detail(result: Result, *names: str) -> Any:
    return next((result.details[n] for n in names if result.details.get(n) is not None), None)


def _nndr_ratio(result: Result) -> float | None:
    """Mean distance ratio to training records over the one to holdout records; None without a holdout."""
    train, holdout = _detail(result, "mean_train"), _detail(result, "mean_holdout")
    return None if train is None or not holdout else float(train / holdout)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


_READERS: dict[str, tuple[str, Any]] = {
    "CAP": ("cap", lambda r: {"cap": r.value, "baseline": r.baseline}),
    "TCAP": ("tcap", lambda r: {"cap": r.value, "baseline": r.baseline}),
    "WEAP": ("weap", lambda r: {"pct_disclosive": _percent(_detail(r, "pct_disclosive"))}),
    "DiSCO": ("disco", lambda r: {"ratio": None if not r.baseline or r.value is None else r.value / r.baseline}),
    "RAPID": ("rapid", lambda r: {"value": r.value}),
    "DCR": ("dcr", lambda r: {"share": r.value, "wilcoxon_p": _detail(r, "wilcoxon_p", "wilcoxon_p_less")}),
    "NNDR": ("nndr", lambda r: {"ratio": _nndr_ratio(r), "pct_suspicious": _percent(r.value)}),
    "IMS": ("identical", lambda r: {"pct": _percent(r.value)}),
    "dRisk": ("drisk", lambda r: {"value": r.value}),
    "Hitting Rate": ("hitting_rate", lambda r: {"value": r.value}),
    "Epsilon-Identifiability": ("epsilon_identifiability", lambda r: {"value": r.value}),
    "k-Anonymity": ("k_anonymity", lambda r: {"k": r.value}),
    "l-Diversity": ("l_diversity", lambda r: {"l": r.value}),
    "t-Closeness": ("t_closeness", lambda r: {"t": r.value}),
    "Individual Risk": (
        "individual_risk",
        lambda r: {"mean_risk": _detail(r, "mean", "global") if _detail(r, "mean", "global") is not None else r.value},
    ),
    "Population Uniqueness": ("population_uniqueness", lambda r: {"value": r.value}),
    "Attacker Risk": (
        "attacker_risk",
        lambda r: {
            "value": _detail(r, "prosecutor", "prosecutor_mean")
            if _detail(r, "prosecutor", "prosecutor_mean") is not None
            else r.value
        },
    ),
    "delta-Presence": ("delta_presence", lambda r: {}),
    "Singling Out": ("singling_out", lambda r: {"risk": r.value}),
    "Linkability": ("linkability", lambda r: {"risk": r.value}),
    "NNAA": (
        "nnaa",
        lambda r: {"privacy_loss": _detail(r, "privacy_loss") if _detail(r, "privacy_loss") is not None else r.value},
    ),
    "DOMIAS": ("domias", lambda r: {"auc": r.value}),
}


def _pass(met: bool) -> str:
    return "PASS" if met else "WARNING"


def _at_most(ratio: float, limit: float) -> bool:
    # 0.15 / 0.10 is 1.4999999999999998 in binary and passes either way; rounding keeps it so when it comes out above
    return round(ratio, 12) <= limit
