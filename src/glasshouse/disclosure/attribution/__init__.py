"""Attribution by matching keys: CAP, TCAP, WEAP, DiSCO and synthpop's whole table.

This folder is called like one of its measures and can be called like it: ``gh.disclosure.attribution(pair)``.
"""

from glasshouse.core.rooms import like_its_measure

like_its_measure(__name__)
