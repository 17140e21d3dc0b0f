"""Tables in, roles decided, one encoding for all: the container every measure takes, and bundled example data."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PUBLIC = {
    "Pair": "pair",
    "simulate_health": "simulate",
    "simulate_case_study": "simulate",
    "load": "examples",
    "split_before_synthesis": "split",
    "from_synthpop": "adapters",
    "from_sdcmicro": "adapters",
    "from_simpop": "adapters",
    "from_sdv": "adapters",
}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"glasshouse.data has no {name!r}")
    return getattr(import_module(f"{__name__}.{_PUBLIC[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_PUBLIC)
