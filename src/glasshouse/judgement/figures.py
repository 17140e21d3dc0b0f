"""How a figure is written for a reader: a share as a percentage, a count as a count, everything else with four
digits.
"""

from __future__ import annotations

from glasshouse.core.measure import Measure
from glasshouse.core.plain import number, percent

TITLES = {
    "disco": "DiSCO",
    "cap": "CAP",
    "tcap": "TCAP",
    "weap": "WEAP",
    "rapid": "RAPID",
    "dcr": "DCR",
    "nndr": "NNDR",
    "nnaa": "NNAA",
    "domias": "DOMIAS",
    "pmse": "pMSE",
    "specks": "SPECKS",
    "po50": "PO50",
    "mmd": "MMD",
    "pca": "PCA",
    "tstr": "TSTR",
    "suda": "SUDA",
    "drisk": "dRisk",
    "k_anonymity": "k-anonymity",
    "l_diversity": "l-diversity",
    "t_closeness": "t-closeness",
    "delta_presence": "δ-presence",
    "u_statistic": "U statistic",
    "ci_overlap": "CI overlap",
    "ci_proximity": "CI proximity",
    "epsilon_identifiability": "ε-identifiability",
    "kolmogorov_smirnov": "Kolmogorov–Smirnov",
    "jensen_shannon": "Jensen–Shannon",
    "identical": "Identical records",
}


def title(name: str) -> str:
    """A measure's name as the field writes it."""
    return TITLES.get(name, name.replace("_", " ").capitalize())


def is_share(measure: Measure | None) -> bool:
    """Whether a measure's figure is a share of people or records, written in percent."""
    return measure is not None and measure.unit == "share" and measure.range == (0, 1) and measure.side == "disclosure"


def figure(measure: Measure | None, value: float | int | None) -> str:
    """A figure as text in the unit of its measure."""
    if value is None:
        return "–"
    return percent(float(value)) if is_share(measure) else number(value)
