"""Independent random streams, one per name, so that adding a measure never changes another one's numbers."""

from __future__ import annotations

import hashlib
from typing import TypeAlias

import numpy as np

from glasshouse.core.errors import InputError

RandomState: TypeAlias = "int | np.random.Generator | None"


def _entropy(names: tuple[str, ...]) -> list[int]:
    digest = hashlib.sha256("\x1f".join(names).encode()).digest()
    return [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4)]


def check_random_state(random_state: object) -> None:
    """Refuse what is no seed, also where a measure would not have drawn a number from it."""
    if random_state is not None and not isinstance(random_state, (int, np.integer, np.random.Generator)):
        raise InputError(
            "random_state must be a whole number, a numpy Generator or None, not a value of type "
            f"{type(random_state).__name__}"
        )


def generator(random_state: RandomState, *names: object) -> np.random.Generator:
    """A generator for the stream called ``names``: the same for the same seed, independent of every other stream.

    An integer seed and the names fix the stream. A Generator is drawn from once; None gives fresh entropy.
    """
    check_random_state(random_state)
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        seed = int(random_state.integers(0, 2**63 - 1))
    else:
        seed = int(random_state)
    if seed < 0:
        seed %= 2**64
    return np.random.default_rng(np.random.SeedSequence([seed, *_entropy(tuple(str(n) for n in names))]))


def integer_seed(random_state: RandomState, *names: object) -> int:
    """A 31-bit seed for libraries and kernels that take an integer."""
    return int(generator(random_state, *names).integers(0, 2**31 - 1))
