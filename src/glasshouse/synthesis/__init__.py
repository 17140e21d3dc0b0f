"""Synthesisers behind one interface: ``fit(original)``, ``sample(n, random_state)``, ``save`` and ``load``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PUBLIC = {
    "Synthesiser": "contract",
    "load": "contract",
    "Cart": "cart",
    "Mst": "dp.mst",
    "Aim": "dp.aim",
    "Domain": "dp.domain",
    "sdc": "control",
    "replicated_uniques": "control",
    "adapt": "adapters",
    "FromCallable": "adapters",
    "FromFiles": "adapters",
    "FromLibrary": "adapters",
}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"glasshouse.synthesis has no {name!r}")
    return getattr(import_module(f"{__name__}.{_PUBLIC[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_PUBLIC)
