"""Operations that make a table safer: each a function of a table that returns the table and a record of what it did."""

from glasshouse.core.rooms import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
