"""Compiled loops of the classification and regression tree: the search for a split and the growing with its pruning.

Split search (Breiman, Friedman, Olshen & Stone 1984): ordered keys at the midpoints between neighbouring values; categories
by groups of levels. For two classes or a number the levels are ordered by their mean and only contiguous groups can be
best; for more classes every subset is tried in Gray-code order while a node holds at most ``exact_levels`` levels, and
above that the levels are ordered by the first principal component of their class shares (Coppersmith, Hong & Hosking 1999).
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.cpython.unsafe.numbers import trailing_zeros

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_TINY = 1e-11


@njit(cache=True, nogil=True)
def _present(column, index, start, stop, bits, n_words, slot, levels):  # type: ignore[no-untyped-def]
    """Codes present in a node, ascending, into ``levels``; ``slot[code]`` is their position. Returns how many."""
    for i in range(start, stop):
        code = column[index[i]]
        bits[code >> 6] |= _ONE << np.uint64(code & 63)
    count = 0
    for word in range(n_words):
        mask = bits[word]
        bits[word] = _ZERO
        while mask != _ZERO:
            code = word * 64 + np.int64(trailing_zeros(mask))
            mask &= mask - _ONE
            slot[code] = count
            levels[count] = code
            count += 1
    return count


@njit(cache=True, nogil=True)
def _sweep(table, sizes, order, m, is_class, node_n, node_total, minbucket):  # type: ignore[no-untyped-def]
    """Best contiguous cut of levels taken in ``order``: (score, number of levels on the left).

    Score = sum of squared child totals over child sizes; ``table`` [level, class] counts, or [level, 0] sums of the target.
    """
    q = table.shape[1]
    left = np.zeros(q)
    n_left = 0.0
    squares_left, squares_right = 0.0, 0.0
    for k in range(q):
        squares_right += node_total[k] * node_total[k]
    best, best_at = -1.0, -1
    for position in range(m - 1):
        level = order[position]
        n_left += sizes[level]
        if is_class:
            for k in range(q):
                h = table[level, k]
                if h != 0.0:
                    squares_left += h * (2.0 * left[k] + h)
                    squares_right -= h * (2.0 * (node_total[k] - left[k]) - h)
                    left[k] += h
        else:
            left[0] += table[level, 0]
            squares_left = left[0] * left[0]
            squares_right = (node_total[0] - left[0]) * (node_total[0] - left[0])
        n_right = node_n - n_left
        if n_left >= minbucket and n_right >= minbucket:
            score = squares_left / n_left + squares_right / n_right
            if score > best + _TINY * abs(best):
                best, best_at = score, position + 1
    return best, best_at


@njit(cache=True, nogil=True)
def _all_subsets(table, sizes, m, node_n, node_total, minbucket):  # type: ignore[no-untyped-def]
    """Best of all groupings of ``m`` levels: (score, bit mask of the levels on the left)."""
    q = table.shape[1]
    left = np.zeros(q)
    n_left, squares_left, squares_right = 0.0, 0.0, 0.0
    for k in range(q):
        squares_right += node_total[k] * node_total[k]
    best, best_mask, mask = -1.0, np.int64(0), np.int64(0)
    for step in range(1, 1 << (m - 1)):
        level = np.int64(trailing_zeros(np.uint64(step)))
        sign = -1.0 if (mask >> level) & 1 else 1.0
        mask ^= np.int64(1) << level
        n_left += sign * sizes[level]
        for k in range(q):
            h = sign * table[level, k]
            if h != 0.0:
                squares_left += h * (2.0 * left[k] + h)
                squares_right -= h * (2.0 * (node_total[k] - left[k]) - h)
                left[k] += h
        n_right = node_n - n_left
        if n_left >= minbucket and n_right >= minbucket:
            score = squares_left / n_left + squares_right / n_right
            if score > best + _TINY * abs(best):
                best, best_mask = score, mask
    return best, best_mask


@njit(cache=True, nogil=True)
def _principal_scores(table, sizes, m, node_n, node_total):  # type: ignore[no-untyped-def]
    """Scores of the levels on the first principal component of their class shares, by power iteration."""
    q = table.shape[1]
    direction = np.empty(q)
    for k in range(q):
        direction[k] = 1.0 / (1.0 + k)
    scores = np.zeros(m)
    for _ in range(50):
        following = np.zeros(q)
        for level in range(m):
            score = 0.0
            for k in range(q):
                score += (table[level, k] / sizes[level] - node_total[k] / node_n) * direction[k]
            scores[level] = score
            for k in range(q):
                following[k] += score * (table[level, k] - sizes[level] * node_total[k] / node_n)
        norm = 0.0
        for k in range(q):
            norm += following[k] * following[k]
        if norm <= 1e-300:
            break
        change = 0.0
        for k in range(q):
            following[k] /= np.sqrt(norm)
            change = max(change, abs(following[k] - direction[k]))
            direction[k] = following[k]
        if change < 1e-10:
            break
    return scores


@njit(cache=True, nogil=True)
def grow(  # type: ignore[no-untyped-def]
    codes,
    ordered,
    n_levels,
    values,
    value_offset,
    y_class,
    y_value,
    n_classes,
    minsplit,
    minbucket,
    cp,
    maxdepth,
    exact_levels,
):
    """Grow a tree with the complexity rule applied on the way.

    Returns (index, nodes, cuts, directions, importance, n_approximate). ``nodes`` [n, 6] int64: start, stop (the node's slice of ``index``), left child,
    right child (-1: leaf), key, offset into ``directions`` (categories) or last code going left (ordered keys); ``cuts`` the
    midpoint. Directions: 1 left, 2 right, 0 not seen in the node.
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
                score_best = parent + _TINY * (parent if is_class else risk[node])
                for j in range(n_keys):
                    column = codes[j]
                    m = _present(column, index, start, stop, bits, (n_levels[j] + 63) // 64, slot, levels)
                    if m < 2:
                        continue
                    table = np.zeros((m, q))
                    sizes = np.zeros(m)
                    for i in range(start, stop):
                        row = index[i]
                        at = slot[column[row]]
                        sizes[at] += 1.0
                        if is_class:
                            table[at, class_slot[y_class[row]]] += 1.0
                        else:
                            table[at, 0] += y_value[row] - mean
                    if ordered[j]:
                        score, at = _sweep(table, sizes, np.arange(m), m, is_class, size, total, minbucket)
                        if at > 0 and score > score_best + _TINY * abs(score_best):
                            score_best, key = score, j
                            best_code, best_high = levels[at - 1], levels[at]
                    else:
                        side = np.full(m, 2, np.uint8)
                        approximate = False
                        if is_class and q > 2 and m <= exact_levels:
                            score, mask = _all_subsets(table, sizes, m, size, total, minbucket)
                            for level in range(m):
                                if (mask >> level) & 1:
                                    side[level] = 1
                        else:
                            if is_class and q > 2:
                                scores = _principal_scores(table, sizes, m, size, total)
                                approximate = True
                            elif is_class:
                                # share of the later class, whichever of the two was met first
                                later = 1 if q == 2 and classes[1] > classes[0] else 0
                                scores = table[:, later] / sizes
                            else:
                                scores = table[:, 0] / sizes
                            order = np.argsort(scores, kind="mergesort")
                            score, at = _sweep(table, sizes, order, m, is_class, size, total, minbucket)
                            for position in range(max(at, 0)):
                                side[order[position]] = 1
                        if score > score_best + _TINY * abs(score_best):
                            score_best, key = score, j
                            best_side, best_levels = side, levels[:m].copy()
                            best_approximate = approximate
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
                middle = 0.5 * (values[offset + best_code] + values[offset + best_high])
                cut = best_code
                while cut + 1 < best_high and values[offset + cut + 1] < middle:
                    cut += 1
                cuts[node] = middle
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
                    grown[: directions.size] = directions
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


@njit(cache=True, nogil=True)
def find_nodes(nodes, directions, ordered, codes, out):  # type: ignore[no-untyped-def]
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
