"""The compiled loop of the margins engine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def tally(codes: Any, which: Any, strides: Any, cells: int, weights: Any, weighted: bool) -> Any:
    """Counts of the joint codes of up to a few columns; ``codes`` [columns, records]."""
    out = np.zeros(cells)
    n = codes.shape[1]
    if len(which) == 2 and not weighted:
        a, b, step = codes[which[0]], codes[which[1]], strides[0]
        for i in range(n):
            out[a[i] * step + b[i]] += 1.0
        return out
    for i in range(n):
        at = 0
        for k in range(len(which)):
            at += codes[which[k], i] * strides[k]
        out[at] += weights[i] if weighted else 1.0
    return out
