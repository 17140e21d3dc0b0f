"""Arrays and numbers as bytes, for the way between this machine and executors: nothing that could run travels.

What is packed is a number, a text, None, an array of numbers, or a tuple or list of such; lists come back as tuples.
"""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any, TypeAlias

import numpy as np

Packable: TypeAlias = Any  # a nested type: numbers, arrays, tuples of them


def packed(value: Packable) -> bytes:
    """The bytes of a value.

    Parameters
    ----------
    value : number, text, None, array, tuple or list
        What is to travel.

    Returns
    -------
    bytes
    """
    arrays: list[np.ndarray] = []

    def plain(part: Packable) -> object:
        if isinstance(part, np.ndarray):
            arrays.append(part)
            return {"array": len(arrays) - 1}
        if isinstance(part, (tuple, list)):
            return [plain(one) for one in part]
        if isinstance(part, dict):
            raise TypeError("a mapping does not travel")
        return part.item() if isinstance(part, np.generic) else part

    head = json.dumps(plain(value)).encode()
    out = BytesIO()
    out.write(len(head).to_bytes(8, "little"))
    out.write(head)
    for array in arrays:
        np.lib.format.write_array(out, array, allow_pickle=False)
    return out.getvalue()


def unpacked(data: bytes | memoryview) -> Packable:
    """The value of bytes.

    Parameters
    ----------
    data : bytes
        What ``packed`` gave.

    Returns
    -------
    value
    """
    given = BytesIO(data)
    value = json.loads(given.read(int.from_bytes(given.read(8), "little")))
    arrays: list[np.ndarray] = []

    def count(part: Any) -> int:
        return sum(map(count, part)) if isinstance(part, list) else int(isinstance(part, dict))

    for _ in range(count(value)):
        arrays.append(np.lib.format.read_array(given, allow_pickle=False))

    def full(part: Any) -> Packable:
        if isinstance(part, list):
            return tuple(full(one) for one in part)
        return arrays[part["array"]] if isinstance(part, dict) else part

    return full(value)
