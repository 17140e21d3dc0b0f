"""Labels of points that neither overlap nor cover a point: greedy, the same for the same points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LETTER, LINE = 6.8, 14.0  # pixels of a letter and of a line at 11 px
POINT = 7.0  # half a point's own box
RINGS = (0.0, 12.0, 24.0, 38.0, 54.0, 72.0, 92.0, 114.0)
SIDES = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (-1, -1), (1, 1), (-1, 1))
NEAR = 18.0  # a label further from its point than that gets a line to it


class Box(NamedTuple):
    """A rectangle in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Whether two rectangles overlap."""
        apart = self.right <= other.left or other.right <= self.left
        return not (apart or self.bottom <= other.top or other.bottom <= self.top)


class Label(NamedTuple):
    """Where a text stands (its middle), None where no place was free; where a line to its point ends, None if near."""

    at: tuple[float, float] | None
    end: tuple[float, float] | None


def place(points: Sequence[tuple[float, float]], texts: Sequence[str], width: float, height: float) -> list[Label]:
    """A place for each text near its point.

    Parameters
    ----------
    points
        Positions in pixels.
    texts
        What to write at each; an empty text only keeps its point free.
    width, height
        Of the picture.

    Returns
    -------
    list of Label
        In the order of the points.
    """
    taken = [Box(x - POINT, y - POINT, x + POINT, y + POINT) for x, y in points]
    made: list[Label] = [Label(None, None)] * len(points)
    # from left to right, so that neither the order of the releases nor their names matter more than where they stand
    for i in sorted(range(len(points)), key=lambda k: (points[k], texts[k])):
        if not texts[i]:
            continue
        wide = LETTER * len(texts[i])
        for x, y in _tries(points[i], wide):
            box = Box(x - wide / 2, y - LINE / 2, x + wide / 2, y + LINE / 2)
            inside = box.left >= 0 and box.top >= 0 and box.right <= width and box.bottom <= height
            if inside and not any(box.meets(other) for other in taken):
                taken.append(box)
                made[i] = Label((x, y), _lead(box, points[i]))
                break
    return made


def _tries(point: tuple[float, float], wide: float) -> list[tuple[float, float]]:
    x, y = point
    return [
        (x + across * (POINT + 2 + ring + wide / 2), y + down * (POINT + 1 + ring + LINE / 2))
        for ring in RINGS
        for across, down in SIDES
    ]


def _lead(box: Box, point: tuple[float, float]) -> tuple[float, float] | None:
    """The end of the line from a point to a box that stands apart from it."""
    x, y = min(max(point[0], box.left), box.right), min(max(point[1], box.top), box.bottom)
    return (x, y) if (x - point[0]) ** 2 + (y - point[1]) ** 2 > NEAR**2 else None
