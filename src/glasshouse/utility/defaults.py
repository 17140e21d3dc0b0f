"""The utility measures run by default: marginals, and enough joint measures to see a release whose relations are
gone.

Of the measures of the field only those that look at several columns at once can tell a release of independent columns
from a perfect one: two-way tables, associations, a propensity model with two-way terms, regressions, and models
trained on the release.
"""

from __future__ import annotations

DEFAULT_UTILITY: tuple[str, ...] = (
    "pmse",
    "table_utility",
    "hellinger",
    "wasserstein",
    "association",
    "regression_fidelity",
    "tstr",
    "subgroup_utility",
    "missingness",
)
