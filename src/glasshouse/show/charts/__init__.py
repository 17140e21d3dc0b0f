"""Altair charts of results, one file per family, registered by measure and kind."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from glasshouse.core.charts import chart

__all__ = ["chart"]

for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    import_module(f"{__name__}.{_module}")
