"""Names for the arrays that travel between rooms."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.integer]  # of any width: codes are 32 bits, positions and counts 64
Bools: TypeAlias = npt.NDArray[np.bool_]

LARGEST = 1e150  # of sums of squares, which variances and correlations are made of, no larger one has a number
