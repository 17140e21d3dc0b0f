"""glasshouse: what a synthetic or anonymised data set gives away about the people in it, and what it is still good
for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from glasshouse.core.charts import drawn_in
from glasshouse.core.errors import GlasshouseError, InputError
from glasshouse.data.pair import Pair

__version__ = "0.1.0"
__all__ = ["GlasshouseError", "InputError", "Pair", "__version__"]

# Public names and where they live; imported at the first use, so that `import glasshouse` stays quick.
_PUBLIC = {
    "disclosure": "disclosure:",
    "utility": "utility:",
    "formal": "formal:",
    "synthesis": "synthesis:",
    "data": "data:",
    "Risk": "formal:Risk",
    "Policy": "judgement.policy:Policy",
    "assess": "judgement.assess:assess",
    "compare": "judgement.rumap:compare",
    "RUMap": "judgement.rumap:RUMap",
    "audit": "judgement.audit:audit",
    "rapid_cv": "disclosure.rapid_cv:rapid_cv",
    "measures": "catalogue:measures",
    "explain": "catalogue:explain",
    "check": "catalogue:check",
}

drawn_in("glasshouse.show.charts")


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"glasshouse has no {name!r}")
    module, _, attribute = _PUBLIC[name].partition(":")
    loaded = import_module(f"glasshouse.{module}")
    return getattr(loaded, attribute) if attribute else loaded


def __dir__() -> list[str]:
    return sorted([*__all__, *_PUBLIC])
