"""Compiled loops of the classification and regression tree: the search for a split and the growing with its pruning.

Split search (Breiman, Friedman, Olshen & Stone 1984): ordered keys at the midpoints between neighbouring values;
categories by groups of levels. For two classes or a number the levels are ordered by their mean and only contiguous
groups can be best; for more classes every subset is tried in Gray-code order while a node holds at most
``exact_levels`` levels, and above that the levels are ordered by the first principal component of their class shares
(Coppersmith, Hong & Hosking 1999).
"""

from __future__ import annotations

import numpy as np

from glasshouse.engines.compiled import njit
from glasshouse.engines.models.tree.search import (
    TINY,
    all_subsets,
    halfway,
    present,
    principal_scores,
    sweep,
    sweep_rows,
)


@njit(nogil=True)
def grow(
    codes: np.ndarray,
    ordered: np.ndarray,
    n_levels: np.ndarray,
    values: np.ndarray,
    value_offset: np.ndarray,
    y_class: np.ndarray,
    y_value: np.ndarray,
    n_classes: int,
    minsplit: int,
    minbucket: int,
    cp: float,
    maxdepth: int,
    exact_levels: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    """Grow a tree with the complexity rule applied on the way.

    Returns (index, nodes, cuts, directions, importance, n_approximate). ``nodes`` [n, 6] int64: start, stop (the
    node's slice of ``index``), left child, right child (-1: leaf), key, offset into ``directions`` (categories) or
    last code going left (ordered keys); ``cuts`` the midpoint. Directions: 1 left, 2 right, 0 not seen in the node.
    """
    n_keys, n = codes.shape
    is_class = n_classes > 0
    index = np.arange(n).astype(np.int32)
    spare = np.empty(n, np.int32)
    most = 1
    for key in range(n_keys):
        most = max(most, n_levels[key])
    bits = np.zeros((most + 63) // 64, np.uint64)
    slot = np.zeros(most, np.int64)
    levels = np.zeros(most, np.int64)
    class_slot = np.full(max(1, n_classes), -1, np.int64)
    classes = np.zeros(max(1, n_classes), np.int64)

    capacity = 2 * (n // max(1, minbucket)) + 3
    nodes = np.full((capacity, 6), -1, np.int64)
    cuts = np.zeros(capacity)
    risk = np.zeros(capacity)  # the node's own R
    cap = np.zeros(capacity)
    complexity = np.zeros(capacity)
    below = np.zeros(capacity)  # risk of the surviving leaves
    splits = np.zeros(capacity, np.int64)
    importance = np.zeros(n_keys)
    directions = np.zeros(1024, np.uint8)
    n_directions, n_approximate = 0, 0
    no_rows = np.zeros(1, np.int64)

    depth_limit = maxdepth + 2
    path = np.zeros(depth_limit, np.int64)
    phase = np.zeros(depth_limit, np.int64)
    nodes[0, 0], nodes[0, 1] = 0, n
    n_nodes, depth = 1, 0
    alpha = -1.0
    while depth >= 0:
        node = path[depth]
        start, stop = nodes[node, 0], nodes[node, 1]
        size = stop - start
        if phase[depth] == 0:
            # class counts (classes numbered by first appearance in the node) or mean and squares
            q = 0
            if is_class:
                for i in range(start, stop):
                    group = y_class[index[i]]
                    if class_slot[group] < 0:
                        class_slot[group] = q
                        classes[q] = group
                        q += 1
                total = np.zeros(q)
                for i in range(start, stop):
                    total[class_slot[y_class[index[i]]]] += 1.0
                largest = 0.0
                for k in range(q):
                    largest = max(largest, total[k])
                risk[node] = size - largest
                mean = 0.0
            else:
                q = 1
                total = np.zeros(1)
                mean = 0.0
                for i in range(start, stop):
                    mean += y_value[index[i]]
                mean /= max(1, size)
                squares = 0.0
                for i in range(start, stop):
                    squares += (y_value[index[i]] - mean) ** 2
                risk[node] = squares
            if alpha < 0.0:
                alpha = cp * risk[0]
                cap[0] = risk[0]
            key, score_best = -1, 0.0
            split = min(risk[node], cap[node]) > alpha and size >= minsplit and depth < maxdepth
            best_code, best_high = np.int64(-1), np.int64(-1)
            best_side = np.zeros(0, np.uint8)
            best_levels = np.zeros(0, np.int64)
            best_approximate = False
            if split:
                parent = 0.0
                for k in range(q):
                    parent += total[k] * total[k]
                parent /= size
                # gain must be positive beyond rounding
                score_best = parent + TINY * (parent if is_class else risk[node])
                for j in range(n_keys):
                    column = codes[j]
                    m = present(column, index, start, stop, bits, (n_levels[j] + 63) // 64, slot, levels)
                    if m < 2:
                        continue
                    sizes = np.zeros(m)
                    for i in range(start, stop):
                        sizes[slot[column[index[i]]]] += 1.0
                    subsets = not ordered[j] and is_class and q > 2 and m <= exact_levels
                    principal = not ordered[j] and is_class and q > 2 and m > exact_levels
                    by_rows = principal or (is_class and not subsets and q * m > 4 * size)
                    table = np.zeros((1, 1)) if by_rows else np.zeros((m, q))
                    starts, entries = no_rows, no_rows
                    if by_rows:
                        starts, entries = np.zeros(m + 2, np.int64), np.empty(size, np.int64)
                        for level in range(m):
                            starts[level + 2] = starts[level + 1] + np.int64(sizes[level])
                        for i in range(start, stop):
                            level = slot[column[index[i]]]
                            entries[starts[level + 1]] = class_slot[y_class[index[i]]]
                            starts[level + 1] += 1
                    elif is_class:
                        for i in range(start, stop):
                            row = index[i]
                            table[slot[column[row]], class_slot[y_class[row]]] += 1.0
                    else:
                        for i in range(start, stop):
                            row = index[i]
                            table[slot[column[row]], 0] += y_value[row] - mean
                    if subsets:
                        side = np.full(m, 2, np.uint8)
                        score, mask = all_subsets(table, sizes, m, size, total, minbucket)
                        for level in range(m):
                            if (mask >> level) & 1:
                                side[level] = 1
                        if score > score_best + TINY * abs(score_best):
                            score_best, key, best_approximate = score, j, False
                            best_side, best_levels = side, levels[:m].copy()
                        continue
                    if ordered[j]:
                        order = np.arange(m)
                    elif principal:
                        order = np.argsort(principal_scores(starts, entries, m, size, total), kind="mergesort")
                    elif is_class:
                        # share of the later class, whichever of the two was met first
                        later = 1 if q == 2 and classes[1] > classes[0] else 0
                        scores = np.zeros(m)
                        if by_rows:
                            for level in range(m):
                                for e in range(starts[level], starts[level + 1]):
                                    scores[level] += entries[e] == later
                        else:
                            scores += table[:, later]
                        order = np.argsort(scores / sizes, kind="mergesort")
                    else:
                        order = np.argsort(table[:, 0] / sizes, kind="mergesort")
                    if by_rows:
                        score, at = sweep_rows(starts, entries, order, m, size, total, minbucket)
                    else:
                        score, at = sweep(table, sizes, order, m, is_class, size, total, minbucket)
                    if at > 0 and score > score_best + TINY * abs(score_best):
                        score_best, key, best_approximate = score, j, principal
                        if ordered[j]:
                            best_code, best_high = levels[at - 1], levels[at]
                        else:
                            best_side, best_levels = np.full(m, 2, np.uint8), levels[:m].copy()
                            for position in range(at):
                                best_side[order[position]] = 1
                if key >= 0:
                    importance[key] += score_best - parent
            if is_class:
                for k in range(q):
                    class_slot[classes[k]] = -1
            if key < 0:
                complexity[node], below[node], splits[node] = alpha, risk[node], 0
                depth -= 1
                continue
            column = codes[key]
            nodes[node, 4] = key
            if ordered[key]:
                offset = value_offset[key]
                cut, cuts[node] = halfway(values, offset, best_code, best_high)
                nodes[node, 5] = cut
                at, right = start, 0
                for i in range(start, stop):
                    row = index[i]
                    if column[row] <= cut:
                        index[at] = row
                        at += 1
                    else:
                        spare[right] = row
                        right += 1
            else:
                if best_approximate:
                    n_approximate += 1
                while n_directions + n_levels[key] > directions.size:
                    grown = np.zeros(2 * directions.size, np.uint8)
                    for i in range(directions.size):
                        grown[i] = directions[i]
                    directions = grown
                nodes[node, 5] = n_directions
                for level in range(best_levels.size):
                    directions[n_directions + best_levels[level]] = best_side[level]
                at, right = start, 0
                for i in range(start, stop):
                    row = index[i]
                    if directions[n_directions + column[row]] == 1:
                        index[at] = row
                        at += 1
                    else:
                        spare[right] = row
                        right += 1
                n_directions += n_levels[key]
            for i in range(right):
                index[at + i] = spare[i]
            left_node, right_node = n_nodes, n_nodes + 1
            n_nodes += 2
            nodes[node, 2], nodes[node, 3] = left_node, right_node
            nodes[left_node, 0], nodes[left_node, 1] = start, at
            nodes[right_node, 0], nodes[right_node, 1] = at, stop
            cap[left_node] = min(risk[node], cap[node]) - alpha
            phase[depth] = 1
            depth += 1
            path[depth], phase[depth] = left_node, 0
        elif phase[depth] == 1:
            left_node, right_node = nodes[node, 2], nodes[node, 3]
            limit = max((risk[node] - below[left_node]) / (splits[left_node] + 1), risk[node] - risk[left_node])
            cap[right_node] = min(limit, cap[node]) - alpha
            phase[depth] = 2
            depth += 1
            path[depth], phase[depth] = right_node, 0
        else:
            first, second = nodes[node, 2], nodes[node, 3]
            if complexity[second] <= complexity[first]:
                first, second = second, first
            risk_first, risk_second = below[first], below[second]
            splits_first, splits_second = splits[first], splits[second]
            c = (risk[node] - risk_first - risk_second) / (splits_first + splits_second + 1)
            if c > complexity[first]:
                risk_first, splits_first = risk[first], 0
                c = (risk[node] - risk_first - risk_second) / (splits_first + splits_second + 1)
                if c > complexity[second]:
                    risk_second, splits_second = risk[second], 0
                    c = (risk[node] - risk_first - risk_second) / (splits_first + splits_second + 1)
            if c > alpha:
                complexity[node] = c
                below[node] = risk_first + risk_second
                splits[node] = splits_first + splits_second + 1
            else:
                complexity[node], below[node], splits[node] = alpha, risk[node], 0
                nodes[node, 2], nodes[node, 3] = -1, -1
            depth -= 1
    return index, nodes[:n_nodes], cuts[:n_nodes], directions[:n_directions], importance, n_approximate


@njit(nogil=True)
def find_nodes(
    nodes: np.ndarray, directions: np.ndarray, ordered: np.ndarray, codes: np.ndarray, out: np.ndarray
) -> int:
    """Leaf node of each coded row [n, p]; a level the node never saw goes to the larger child (first if equal)."""
    unseen = 0
    for i in range(codes.shape[0]):
        node = 0
        met_unseen = False
        while nodes[node, 2] >= 0:
            key = nodes[node, 4]
            code = codes[i, key]
            if ordered[key]:
                go_left = code <= nodes[node, 5]
            else:
                side = directions[nodes[node, 5] + code]
                if side == 0:
                    met_unseen = True
                    left, right = nodes[node, 2], nodes[node, 3]
                    go_left = nodes[left, 1] - nodes[left, 0] >= nodes[right, 1] - nodes[right, 0]
                else:
                    go_left = side == 1
            node = nodes[node, 2] if go_left else nodes[node, 3]
        out[i] = node
        unseen += met_unseen
    return unseen
