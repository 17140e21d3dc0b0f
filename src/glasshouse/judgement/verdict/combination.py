"""Several p values of the same people made one, whatever ties them together: the Cauchy combination.

Liu & Xie (2020), Cauchy combination test, Journal of the American Statistical Association 115.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

# A p value above one half says no more than one half does. Without this cap one test that sees nothing at all (p = 1)
# would cancel any other that does.
CAP = 0.5


def combined(p_values: Iterable[float]) -> float | None:
    """One p value from several, each with the same weight; None from none.

    Notes
    -----
    T = mean of tan(pi (1/2 - p)) is standard Cauchy in its upper tail under any dependence, so p = 1/2 - arctan(T)/pi.
    It is never smaller than the smallest of its parts: whatever is shown together is shown by at least one part.
    """
    values = [min(max(p, 1e-15), CAP) for p in p_values]
    if not values:
        return None
    mean = math.fsum(math.tan(math.pi * (0.5 - p)) for p in values) / len(values)
    # for small p the two terms of 1/2 - arctan(T)/pi cancel; arctan(1/T)/pi is the same number
    return math.atan2(1.0, mean) / math.pi
