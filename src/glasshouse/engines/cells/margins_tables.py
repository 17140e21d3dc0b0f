"""Compiled loops over many small tables and pairs of columns: a wide file has tens of thousands of them.

Every loop visits cells in the order of their codes, so a result does not depend on the order of the records.
"""

from __future__ import annotations

import numpy as np

from glasshouse.data.arrays import Floats, Ints
from glasshouse.engines.compiled import njit

LARGEST = 1_000_000  # cells of a table counted in place; larger ones are counted over the cells that occur


@njit(nogil=True, inner=True)
def _fill(codes: Ints, which: Ints, sizes: Ints, weights: Floats, weighted: bool, out: Floats) -> int:
    """Adds one file's records to the cells of one table and returns the number of its cells."""
    cells = 1
    for k in range(len(which)):
        cells *= sizes[which[k]]
    for at in range(cells):
        out[at] = 0.0
    if len(which) == 2 and not weighted:
        a, b, width = codes[which[0]], codes[which[1]], sizes[which[1]]
        for i in range(len(a)):
            out[a[i] * width + b[i]] += 1.0
        return cells
    for i in range(codes.shape[1]):
        at = 0
        for k in range(len(which)):
            at = at * sizes[which[k]] + codes[which[k], i]
        out[at] += weights[i] if weighted else 1.0
    return cells


def table_figures(
    cx: Ints,
    cy: Ints,
    tables: Ints,
    sizes: Ints,
    wx: Floats,
    wy: Floats,
    hx: bool,
    hy: bool,
    most: int,
    ratio_only: bool,
) -> Floats:
    """The figures of ``figures_of`` for every table of two files.

    Parameters
    ----------
    cx, cy : array of int
        Codes of the two files, [columns, records].
    tables : array of int
        [tables, order]: the columns of each table.
    sizes : array of int
        Levels of each column.
    wx, wy : array of float
        Weights of the records.
    hx, hy : bool
        Whether the weights of a file count.
    most : int
        Cells of the largest table.
    ratio_only : bool
        Compute VW and df alone.

    Returns
    -------
    array of float
        [tables, 14]
    """
    out = np.zeros((len(tables), 14))
    room = (np.empty(most), np.empty(most), np.empty(most), np.empty(most), np.empty(most), np.empty(most, np.int64))
    _table_figures(cx, cy, tables, sizes, wx, wy, hx, hy, ratio_only, *room, out)
    return out


@njit(nogil=True)
def _table_figures(
    cx: Ints,
    cy: Ints,
    tables: Ints,
    sizes: Ints,
    wx: Floats,
    wy: Floats,
    hx: bool,
    hy: bool,
    ratio_only: bool,
    full_d: Floats,
    full_s: Floats,
    d: Floats,
    s: Floats,
    score: Floats,
    order: Ints,
    out: Floats,
) -> None:
    for t in range(len(tables)):
        _fill(cx, tables[t], sizes, wx, hx, full_d)
        cells = _fill(cy, tables[t], sizes, wy, hy, full_s)
        kept, n, m = 0, 0.0, 0.0
        for at in range(cells):
            if full_d[at] + full_s[at] > 0:
                d[kept], s[kept] = full_d[at], full_s[at]
                n += d[kept]
                m += s[kept]
                kept += 1
        if ratio_only and (n <= 0 or m <= 0):  # a drawn table whose records weigh nothing differs from none
            out[t, 0], out[t, 10] = 0.0, kept - 1
        elif ratio_only:
            c = m / (n + m)
            odds = c / (1 - c)
            vw = 0.0
            for i in range(kept):
                diff = s[i] - d[i] * odds
                vw += diff * diff / ((s[i] + d[i]) * c)
            out[t, 0], out[t, 10] = vw, kept - 1
        else:
            figures_of(d[:kept], s[:kept], score[:kept], order[:kept], out[t])


@njit(nogil=True, inner=True)
def _ranked(score: Floats, order: Ints) -> None:
    """Shell sort of the places by score: the cells of a table are few."""
    for i in range(len(order)):
        order[i] = i
    gap = len(order) // 2
    while gap > 0:
        for i in range(gap, len(order)):
            moving, j = order[i], i
            while j >= gap and score[order[j - gap]] > score[moving]:
                order[j] = order[j - gap]
                j -= gap
            order[j] = moving
        gap //= 2


@njit(nogil=True)
def figures_of(d: Floats, s: Floats, score: Floats, order: Ints, out: Floats) -> None:
    """Every statistic of one table without empty cells.

    Parameters
    ----------
    d, s : array of float
        Records of the original and of the release in each cell.
    score : array of float
        Work space, one per cell.
    order : array of int
        Work space, one per cell.
    out : array of float
        Takes VW, FT, JSD (bits), SPECKS, WMabsDD, U, G, PO50, MabsDD, dBhatt, df, df of G and both sizes.

    References
    ----------
    Raab, Nowok & Dibben (2021), Assessing, visualizing and improving the utility of synthetic data.
    """
    n, m = 0.0, 0.0
    for i in range(len(d)):
        n += d[i]
        m += s[i]
    total = n + m
    c = m / total
    odds = c / (1 - c)
    shared, both_d, both_s = 0, 0.0, 0.0
    for i in range(len(d)):
        if d[i] > 0 and s[i] > 0:
            shared += 1
            both_d += d[i]
            both_s += s[i]
    vw = ft = weighted = gap = right = apart = g = p_part = q_part = 0.0
    for i in range(len(d)):
        expected = d[i] * odds
        diff = s[i] - expected
        expect = (s[i] + d[i]) * c
        vw += diff * diff / expect
        root = np.sqrt(s[i]) - np.sqrt(expected)
        ft += root * root
        weighted += abs(diff) / np.sqrt(expect)
        gap += abs(diff)
        p, q = d[i] / n, s[i] / m
        right += s[i] if q > p else d[i]
        root = np.sqrt(p) - np.sqrt(q)
        apart += root * root  # 1 - sum sqrt(pq) is half of this, and exactly 0 for equal shares
        middle = 0.5 * (p + q)
        if p > 0:
            p_part += p * np.log(p / middle)
        if q > 0:
            q_part += q * np.log(q / middle)
        if d[i] > 0 and s[i] > 0:
            g += s[i] * np.log((s[i] / both_s) / (d[i] / both_d))
    for i in range(len(d)):
        score[i] = s[i] / (s[i] + d[i])
    _ranked(score, order)
    below = above = specks = u = 0.0
    i = 0
    while i < len(order):
        mine = theirs = 0.0
        value = score[order[i]]
        while i < len(order) and score[order[i]] == value:
            mine += s[order[i]]
            theirs += d[order[i]]
            i += 1
        below += theirs
        above += mine
        specks = max(specks, abs(below / n - above / m))
        u += mine * (below - 0.5 * theirs)
    out[0], out[1] = vw, 4 * ft
    out[2] = max(0.0, 0.5 * (p_part + q_part) / np.log(2.0))
    out[3], out[4], out[5], out[6] = specks, weighted / np.sqrt(2 / np.pi), u, 2 * g
    out[7], out[8], out[9] = right / total - 0.5, gap / m, np.sqrt(0.5 * apart)
    out[10], out[11], out[12], out[13] = len(d) - 1, shared - 1, n, m


def cramers_vs(codes: Ints, sizes: Ints, weights: Floats, corrected: bool, most: int) -> Floats:
    """Cramér's V of every pair of columns over the records that have both values.

    Parameters
    ----------
    codes : array of int
        [columns, records], -1 missing.
    sizes : array of int
        Levels of each column.
    weights : array of float
        One per record.
    corrected : bool
        Take out the bias (Bergsma 2013).
    most : int
        Most cells of a table counted here.

    Returns
    -------
    array of float
        One per pair; NaN where it is undefined, -1 for a pair with more cells, which is left to the caller.
    """
    columns, widest = len(codes), max(1, int(sizes.max(initial=1)))
    out = np.full(columns * (columns - 1) // 2, np.nan)
    _cramers_vs(codes, sizes, weights, corrected, np.empty(most), np.empty(widest), np.empty(widest), out)
    return out


@njit(nogil=True)
def _cramers_vs(
    codes: Ints, sizes: Ints, weights: Floats, corrected: bool, table: Floats, rows: Floats, sums: Floats, out: Floats
) -> None:
    columns, n = codes.shape
    most = len(table)
    pair = -1
    for a in range(columns):
        for b in range(a + 1, columns):
            pair += 1
            width, cells = sizes[b], sizes[a] * sizes[b]
            if cells > most:
                out[pair] = -1.0
                continue
            for at in range(cells):
                table[at] = 0.0
            for j in range(sizes[a]):
                rows[j] = 0.0
            for k in range(width):
                sums[k] = 0.0
            for i in range(n):
                j, k = codes[a, i], codes[b, i]
                if j >= 0 and k >= 0:
                    table[j * width + k] += weights[i]
            total, r, c = 0.0, 0.0, 0.0
            for at in range(cells):
                rows[at // width] += table[at]
                sums[at % width] += table[at]
                total += table[at]
            for j in range(sizes[a]):
                r += rows[j] > 0
            for k in range(width):
                c += sums[k] > 0
            if min(r, c) < 2 or total <= 1:
                continue
            # chi2 / n = sum t^2 / (row sum column sum) - 1
            phi2 = -1.0
            for at in range(cells):
                if table[at] > 0:
                    phi2 += table[at] * table[at] / (rows[at // width] * sums[at % width])
            out[pair] = v_from_phi2(phi2, r, c, total, corrected)


@njit(nogil=True)
def v_from_phi2(phi2: float, r: float, c: float, total: float, corrected: bool) -> float:
    """Cramér's V of an r by c table from chi2 / n; ``corrected`` takes out the bias of Bergsma (2013)."""
    phi2 = phi2 if phi2 > 1e-14 else 0.0
    if not corrected:
        return np.sqrt(phi2 / (min(r, c) - 1))
    phi2 = max(0.0, phi2 - (r - 1) * (c - 1) / (total - 1))
    r = r - (r - 1) * (r - 1) / (total - 1)
    c = c - (c - 1) * (c - 1) / (total - 1)
    return np.sqrt(phi2 / max(min(r, c) - 1, 1e-12))


def correlation_ratios(codes: Ints, size: int, scores: Floats, weights: Floats) -> Floats:
    """Correlation ratio eta of numeric columns over the classes of one column.

    Parameters
    ----------
    codes : array of int
        Class of every record, -1 missing.
    size : int
        Number of classes.
    scores : array of float
        [columns, records], NaN missing.
    weights : array of float
        One per record.

    Returns
    -------
    array of float
        One per column; NaN for a constant column or a single class.
    """
    out = np.full(len(scores), np.nan)
    _correlation_ratios(np.ascontiguousarray(codes), scores, weights, np.empty(size), np.empty(size), out)
    return out


@njit(nogil=True)
def _correlation_ratios(codes: Ints, scores: Floats, weights: Floats, mass: Floats, sums: Floats, out: Floats) -> None:
    columns, n = scores.shape
    size = len(mass)
    for j in range(columns):
        for k in range(size):
            mass[k] = 0.0
            sums[k] = 0.0
        whole = 0.0
        for i in range(n):
            k, a, w = codes[i], scores[j, i], weights[i]
            if k >= 0 and a == a:
                mass[k] += w
                sums[k] += w * a
                whole += w * a * a
        total, first, between, classes = 0.0, 0.0, 0.0, 0
        for k in range(size):
            if mass[k] > 0:
                classes += 1
                total += mass[k]
                first += sums[k]
                between += sums[k] * sums[k] / mass[k]
        if classes < 2:
            continue
        middle = first * first / total
        if whole - middle > 1e-12 * whole:
            out[j] = np.sqrt(min(1.0, max(0.0, between - middle) / (whole - middle)))


def copula_distances(x: Ints, y: Ints, size: int) -> Floats:
    """Mean squared difference of the empirical copulas of every pair of columns.

    Parameters
    ----------
    x, y : array of int
        Grid bins of the two files, [columns, records].
    size : int
        Number of grid points.

    Returns
    -------
    array of float
        One per pair of columns. Counts are compared as whole numbers (times the other file's size), so equal files
        give exactly 0.
    """
    out = np.zeros(len(x) * (len(x) - 1) // 2)
    _copula_distances(x, y, np.empty((size + 1, size + 1), np.int64), np.empty(size, np.int64), np.empty(size), out)
    return out


@njit(nogil=True)
def _copula_distances(x: Ints, y: Ints, cells: Ints, running: Ints, squares: Floats, out: Floats) -> None:
    columns, n, m = len(x), x.shape[1], y.shape[1]
    size = len(running)
    pair = 0
    for a in range(columns):
        for b in range(a + 1, columns):
            for i in range(size + 1):
                for j in range(size + 1):
                    cells[i, j] = 0
            for i in range(n):
                cells[x[a, i], x[b, i]] += m
            for i in range(m):
                cells[y[a, i], y[b, i]] -= n
            for i in range(size):
                running[i] = 0
                squares[i] = 0.0
            for i in range(size):
                across = 0
                for j in range(size):
                    across += cells[i, j]
                    running[j] += across
                    squares[j] += float(running[j]) * float(running[j])
            total = 0.0
            for j in range(size):
                total += squares[j]
            both = float(n) * float(m)
            out[pair] = total / (both * both) / (size * size)
            pair += 1
