"""The generalisation that loses least: exact in lattices that can be gone through, any-time in those that cannot."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from glasshouse.protection.lattice import Checked, Lattice, Node

EPS = 1e-12


@dataclass(frozen=True)
class Found:
    """The best node, and how it was found.

    Parameters
    ----------
    best : Checked or None
        None where no node is valid.
    exact : bool
        Whether no other node loses less.
    """

    best: Checked | None
    exact: bool


class _Best:
    """The best valid node so far."""

    def __init__(self) -> None:
        self.node: Checked | None = None

    def offer(self, one: Checked) -> None:
        if one.valid and (self.node is None or one.rank < self.node.rank):
            self.node = one

    def beats(self, bound: float) -> bool:
        """Whether nothing of at least this loss can be better; equal loss can still suppress fewer."""
        return self.node is not None and bound > self.node.loss + EPS


def exact(lattice: Lattice) -> Found:
    """The best node of all.

    Parameters
    ----------
    lattice : Lattice
        The lattice.

    Returns
    -------
    Found

    Notes
    -----
    Nodes are taken in ascending order of a lower bound: what they lose with nothing suppressed, which can only grow
    upward, while the loss with suppression can fall. A node whose bound exceeds the best loss ends the search. From
    every node that is not known yet a path leads to the top, on which a binary search finds the lowest valid node; all
    above it is valid, all below is not, and is never counted (Kohlmayer, Prasser et al. 2012). Where validity is not
    monotone, every node is counted.
    """
    best, top = _Best(), lattice.heights
    valid: dict[Node, bool] = {}
    bottom: Node = tuple(0 for _ in top)
    queue: list[tuple[float, int, Node]] = [(lattice.bound(bottom) if lattice.separable() else 0.0, 0, bottom)]
    seen = {bottom}
    while queue:
        bound, _, node = heapq.heappop(queue)
        if best.beats(bound):
            break
        if lattice.monotone and node not in valid:
            _path(lattice, node, valid, best)
        if not lattice.monotone or valid[node]:
            one = lattice.check(node)
            best.offer(one)
            bound = max(bound, one.bound)
        for up in lattice.above(node):
            if up not in seen:
                seen.add(up)
                heapq.heappush(queue, (lattice.bound(up) if lattice.separable() else bound, sum(up), up))
    return Found(best.node, True)


def _path(lattice: Lattice, node: Node, valid: dict[Node, bool], best: _Best) -> None:
    """A path of unknown nodes to the top; its lowest valid node by binary search, and what follows for others."""
    path = [node]
    while True:
        ups = [up for up in lattice.above(path[-1]) if up not in valid]
        if not ups:
            break
        path.append(min(ups, key=lambda up: _order(lattice, up)))
    low, high = 0, len(path)
    while low < high:
        middle = (low + high) // 2
        one = lattice.check(path[middle])
        best.offer(one)
        _tell(lattice, path[middle], one.valid, valid)
        if one.valid:
            high = middle
        else:
            low = middle + 1


def _order(lattice: Lattice, node: Node) -> tuple[float, float, Node]:
    """Which successor a path takes: low in the lattice, little generalised; the same whatever the order of records."""
    degree = sum(level / max(top, 1) for level, top in zip(node, lattice.heights, strict=True))
    return (degree, lattice.bound(node), node)


def _tell(lattice: Lattice, node: Node, is_valid: bool, valid: dict[Node, bool]) -> None:
    """All above a valid node is valid; all below one that is not is not."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one in valid:
            continue
        valid[one] = is_valid
        waiting += [next_ for next_ in (lattice.above(one) if is_valid else lattice.below(one)) if next_ not in valid]


def anytime(lattice: Lattice, steps: int) -> Found:
    """A good node of a lattice that is too large to go through.

    Parameters
    ----------
    lattice : Lattice
        The lattice.
    steps : int
        Nodes that may be counted.

    Returns
    -------
    Found

    Notes
    -----
    Best first from the bottom: of all nodes that were counted the one that loses least is expanded. Every h-th time, h
    the height of the lattice, the search dives instead: from the best node along the successor that loses least to the
    top, so that a valid node is found early (Prasser, Bild, Eicher, Spengler, Kohlmayer & Kuhn 2016).
    """
    best, top = _Best(), lattice.heights
    bottom: Node = tuple(0 for _ in top)
    height = max(sum(top), 1)
    first = lattice.check(bottom)
    best.offer(first)
    best.offer(lattice.check(top))
    queue: list[tuple[float, Node]] = [(first.loss, bottom)]
    expanded: set[Node] = set()
    turn = 0
    while queue and len(lattice.checked) < steps:
        _, node = heapq.heappop(queue)
        if node in expanded or best.beats(lattice.check(node).bound):
            continue
        turn += 1
        dive = turn % height == 0 or turn == 1
        while True:
            expanded.add(node)
            ups = [lattice.check(up) for up in lattice.above(node) if up not in expanded]
            for one in ups:
                best.offer(one)
                heapq.heappush(queue, (one.loss, one.node))
            if not dive or not ups or len(lattice.checked) >= steps:
                break
            node = min(ups, key=lambda one: one.rank).node
    done = not queue or all(best.beats(lattice.check(node).bound) or node in expanded for _, node in queue)
    return Found(best.node, done)
