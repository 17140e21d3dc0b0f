"""Tables in, roles decided, one encoding for all: the container every measure takes, and bundled example data."""

from glasshouse.core.rooms import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
