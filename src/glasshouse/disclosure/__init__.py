"""Risk measures, one folder per family. gh.disclosure.<name>(pair).

Two measures are called like the folder they live in. Importing a folder sets its name on this package, so these two
are bound here at once, after their folders: ``gh.disclosure.rapid`` is the measure, and
``sys.modules["glasshouse.disclosure.rapid"]`` the folder.
"""

from glasshouse.core.rooms import attach_measures
from glasshouse.disclosure.attribution.table import attribution as attribution
from glasshouse.disclosure.rapid.measure import rapid as rapid

__getattr__, __dir__, __all__ = attach_measures(__name__, __file__)
