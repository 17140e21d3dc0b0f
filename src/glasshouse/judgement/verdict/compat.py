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


def statuses(results: Mapping[str, Result]) -> dict[str, str]:
    """Status of every metric of that report which has been measured here.

    A failed measure is an ERROR, what does not apply is SKIPPED.
    """
    found = {}
    for result in results.values():
        if result.measure is None or result.measure.riskutility is None:
            continue
        metric, read = result.measure.riskutility
        if result.status != "ok":
            found[metric] = "ERROR" if result.status == "failed" else "SKIPPED"
            continue
        figures = read(result)
        undefined = any(v is None for v in figures.values()) and metric not in ("CAP", "TCAP", "DiSCO")
        found[metric] = "SKIPPED" if undefined else status(metric, **figures)
    return found


def _pass(met: bool) -> str:
    return "PASS" if met else "WARNING"


def _at_most(ratio: float, limit: float) -> bool:
    # 0.15 / 0.10 is 1.4999999999999998 in binary and passes either way; rounding keeps it so when it comes out above
    return round(ratio, 12) <= limit
