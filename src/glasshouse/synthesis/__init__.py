"""Synthesisers behind one interface: ``fit(original)``, ``sample(n, random_state)``, ``save`` and ``load``."""

from glasshouse.core.rooms import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
