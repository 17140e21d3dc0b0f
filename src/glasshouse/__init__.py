"""glasshouse: what a synthetic or anonymised data set gives away about the people in it, and what it is still good
for."""

from glasshouse.core.charts import drawn_in
from glasshouse.core.rooms import attach

__version__ = "0.2.0"

# Public names live in __init__.pyi and are imported at the first use, so that `import glasshouse` stays quick.
__getattr__, __dir__, __all__ = attach(__name__, __file__)

drawn_in("glasshouse.show.charts")
