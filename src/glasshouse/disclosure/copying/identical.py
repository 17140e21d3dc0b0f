"""Copying checks that need no distance: records of the release that equal a record of the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.advice import COPIES
from glasshouse.core.errors import InputError, NotApplicable, listed
from glasshouse.core.evidence import Counts, Exposure
from glasshouse.core.intervals import difference_of_shares, wilson
from glasshouse.core.measure import measure
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.core.words import plural
from glasshouse.disclosure.copying.closeness import (
    CAVEAT,
    NO_HOLDOUT,
    hit_chances,
    infinite_values,
    leak_limit,
    surplus,
)
from glasshouse.disclosure.wording import against
from glasshouse.engines.asked import number_asked
from glasshouse.engines.exchange import Exchange, exchange, exposed_people, people_clusters
from glasshouse.engines.neighbours.effort import most_columns
from glasshouse.engines.neighbours.encoding import row_ids
from glasshouse.engines.neighbours.gower import chosen_columns, gower_space
from glasshouse.engines.neighbours.search import RULES, TOL

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair

NEAR = 0.01  # Gower distance of a near copy


@measure(
    side="disclosure",
    family="copying",
    threat="copying",
    better="lower",
    range=(0, 1),
    needs=(),
    limit=leak_limit(alone=(0.01, 0.05), passes=True),
    figures=("surplus",),
    cite="Raab, Nowok & Dibben (2025), Practical privacy metrics for synthetic data; Platzer & Reutterer (2021)",
    attacker="every column of some people",
    caveats=CAVEAT,
    cost="neighbours",
    audited=True,
    group="distance",
    title="Identical records",
    tier="fast",
    advice=COPIES,
    riskutility=("IMS", lambda r: {"pct": None if r.value is None else 100 * r.value}),
    influence="free",
)
def identical(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    missing: str = "level",
    round_digits: int | None = None,
    near: float | None = None,
    confidence: float = 0.95,
    n_jobs: int | None = None,
) -> Result:
    """Share of release records that equal an original record in every column.

    On coarse data equal records arise by chance, so the reference is the same share against the holdout, the originals
    being cut in expectation to its size when they are more; without a holdout it is the share of originals with a twin
    among the originals.

    Parameters
    ----------
    pair : Pair
        Original and release. A holdout is what makes the figure speak of copying rather than of coarse data.
    columns : sequence of str, optional
        Columns to compare; every shared column by default.
    missing : {"level", "mismatch", "match", "ignore"}, default "level"
        What a missing value is in a comparison: a value of its own, different from everything, equal to everything, or
        a reason to leave the column out of that comparison.
    round_digits : int, optional
        Digits numbers are rounded to before they are compared; with ``missing="level"`` only.
    near : float, optional
        Gower distance up to which a release record that is not equal counts as a near copy, in [0, 1). By default 0.01
        in tables that are not wide (:mod:`glasshouse.engines.neighbours.effort`); in others they are not counted.
    confidence : float, default 0.95
        Level of the interval.
    n_jobs : int, optional
        Threads; changes no answer.

    Returns
    -------
    Result
        ``value``: the share (IMS); ``baseline`` and ``holdout``: the share equal to a holdout record; ``difference``:
        the share at equal table sizes minus the holdout's, with interval and p value. Without a holdout the figure
        ``surplus`` says by how much the lower limit of the share exceeds the twins among the originals. ``counts``:
        originals and holdout people who have an equal in the release. ``details``: copied uniques (release records
        equal to an original that is unique, ``repu``), copied originals, holdout records that equal an original, and
        near copies. ``records``: per original whether it is ``copied``, how often, and whether it is unique.

    Notes
    -----
    With the release S of n_S records and the original T

        IMS = #{s in S : s equals some t in T} / n_S

    With c_i of n_T originals equal to release record i and n_H < n_T, the share at equal sizes is the mean over i of
    1 - C(n_T - c_i, n_H) / C(n_T, n_H). The p value of the difference counts release records that equal each other as
    one observation.

    References
    ----------
    Raab, Nowok & Dibben (2025), Practical privacy metrics for synthetic data.
    Platzer & Reutterer (2021), Holdout-based empirical assessment of mixed-type synthetic data, Front. Big Data 4.

    Examples
    --------
    >>> import glasshouse as gh
    >>> found = gh.disclosure.identical(gh.data.load("health").pair())
    >>> round(found.value, 3), round(found.holdout, 3), round(found.difference, 3)
    (0.048, 0.0, 0.024)
    """
    if missing not in RULES:
        raise InputError(f"missing must be one of {', '.join(RULES)}, not {missing!r}")
    if round_digits is not None and missing != "level":
        raise InputError("round_digits goes with missing='level' only")
    chosen = list(chosen_columns(pair, columns))
    if not pair.n("original") or not pair.n("released"):
        raise NotApplicable("a table has no records to compare")
    found = (
        _by_identity(pair, chosen, round_digits) if missing == "level" else _by_distance(pair, chosen, missing, n_jobs)
    )
    n_released, n_original = pair.n("released"), pair.n("original")
    n_identical = int((found.released_in_original > 0).sum())
    share = n_identical / n_released
    unique, copied = found.twins == 0, found.original_in_released > 0
    n_repu, n_unique, n_unique_copied = (int(f.sum()) for f in (found.of_unique, unique, copied & unique))
    details: dict[str, object] = {
        "ims": share,
        "n_identical": n_identical,
        "n_train_copied": int(copied.sum()),
        "pct_train_copied": float(copied.mean()),
        "n_original_copied": int(copied.sum()),
        "share_original_copied": float(copied.mean()),
        "repu_n": n_repu,
        "repu": n_repu / n_released,
        "n_unique_original": n_unique,
        "n_unique_copied": n_unique_copied,
        "n_unique_train": n_unique,
        "n_unique_matched": n_unique_copied,
        "ims_self": float((~unique).mean()),
        "columns": chosen,
    }
    if n_unique:
        details["riskutility_repu"] = {
            "ims": n_repu / n_released,
            "n_identical": n_repu,
            "n_unique_matched": n_unique_copied,
            "n_unique_train": n_unique,
            "pct_train_copied": n_unique_copied / n_unique,
        }
    notes: list[str] = []
    excess, p, alone, difference, limits, tested = None, None, None, None, None, None
    if found.holdout is not None:
        matched = found.holdout.released_in_holdout > 0
        reference = float(matched.mean())
        chances = hit_chances(found.released_in_original, n_original, pair.n("holdout"))
        adjusted = float(chances.mean())
        tested = _people(pair, found.original_in_released, found.holdout.holdout_in_released, confidence)
        p = tested.p
        excess = (adjusted - reference) / (1 - reference) if reference < 1 else 0.0
        difference = adjusted - reference
        limits = difference_of_shares(adjusted * n_released, n_released, int(matched.sum()), n_released, confidence)
        details |= {
            "ims_holdout": reference,
            "ims_at_equal_size": adjusted,
            "difference": difference,
            "p_difference": p,
            "holdout_in_original": float((found.holdout.holdout_in_original > 0).mean()),
            "difference_interval": list(limits),
        }
        compared = f"{percent(reference, 2)} equal a holdout record: {against(p, adjusted, reference)}"
    else:
        reference = float((~unique).mean())
        notes.append(f"the reference is twins inside the original, because there is {NO_HOLDOUT}")
        alone = surplus(n_identical, n_released, reference)
        compared = f"{percent(reference, 2)} of originals equal another original"
    infinite = infinite_values(pair, chosen)
    near_shares: dict[str, float] = {}
    if infinite:
        notes.append(f"near copies are not counted, because {listed(infinite)} hold infinite values")
    elif near is None and len(chosen) > most_columns(pair):
        notes.append(
            f"near copies are not counted, because {len(chosen):,} columns are many; near=0.01 counts them, and "
            "near_copies looks for them in some of the columns"
        )
    else:
        near = NEAR if near is None else near
        near_counts = _near_copies(pair, chosen, missing, near, n_jobs)
        near_shares = {table: count / n_released for table, count in near_counts.items()}
        details["near"] = near
        for table, suffix in (("original", ""), ("holdout", "_holdout")):
            if table in near_counts:
                details[f"n_near_copies{suffix}"] = near_counts[table]
                details[f"near_copies{suffix}"] = near_shares[table]
    uniques = f"{n_repu:,} of them {'equals' if n_repu == 1 else 'equal'} an original that is unique"
    records = f"{n_identical:,} of {n_released:,} release {plural(n_released, 'record')}"
    return Result(
        value=share,
        baseline=reference,
        excess=excess,
        holdout=reference if found.holdout is not None else None,
        interval=wilson(n_identical, n_released, confidence),
        details=details,
        difference=difference,
        difference_interval=limits,
        p_value=p,
        counts=Counts(int(copied.sum()), n_original) if tested is None else tested.counts,
        of=n_released,
        exposure=None if found.holdout is None else _exposed(pair, copied, found.holdout, confidence),
        figures={"surplus": alone},
        sentence=f"{records} ({percent(share, 2)}) {'equals' if n_identical == 1 else 'equal'} an original, {uniques}; "
        f"{compared}. {CAVEAT}",
        warnings=notes,
        plot_data={"shares": _drawn(share, reference, n_repu / n_released, near_shares)},
        records=lambda: {"copied": copied, "released_copies": found.original_in_released, "unique": unique},
        flag="copied",
        rank="released_copies",
    )


def _drawn(share: float, reference: float, repu: float, near: dict[str, float]) -> list[dict[str, str | float]]:
    """Equal and nearly equal records beside what chance gives (the holdout, or twins among the originals)."""
    rows: list[tuple[str, str, float | None]] = [
        ("equal to an original", "original", share),
        ("equal to an original", "chance", reference),
        ("equal to a unique original", "original", repu),
        ("almost equal, not quite", "original", near.get("original")),
        ("almost equal, not quite", "chance", near.get("holdout")),
    ]
    return [{"kind": kind, "against": side, "share": figure} for kind, side, figure in rows if figure is not None]


@dataclass(frozen=True)
class HoldoutMatches:
    """How many equals each record has across release, original and holdout."""

    released_in_holdout: np.ndarray
    holdout_in_original: np.ndarray
    holdout_in_released: np.ndarray


@dataclass(frozen=True)
class Matches:
    """How many equals each record has in another table, and whether a release record equals one unique original."""

    released_in_original: np.ndarray
    original_in_released: np.ndarray
    of_unique: np.ndarray
    twins: np.ndarray
    holdout: HoldoutMatches | None


def _people(pair: Pair, members: np.ndarray, strangers: np.ndarray, confidence: float) -> Exchange:
    """The simplest membership test: is there a released record equal to this person's?"""
    return exchange(members > 0, strangers > 0, clusters=people_clusters(pair), confidence=confidence, name="identical")


def _exposed(pair: Pair, copied: np.ndarray, held: HoldoutMatches, confidence: float) -> Exposure:
    return exposed_people(copied, held.holdout_in_released > 0, people_clusters(pair), confidence=confidence)


def _by_identity(pair: Pair, columns: Sequence[str], round_digits: int | None) -> Matches:
    """Match counts between tables by row identity: linear in the number of records."""
    ids = pair.memo(("row_ids", tuple(columns), round_digits), lambda: row_ids(pair, columns, round_digits))
    size = 1 + max(int(part.max(initial=0)) for part in ids.values())
    tally = {table: np.bincount(part, minlength=size) for table, part in ids.items()}
    held = None
    if pair.has_holdout and pair.n("holdout"):
        held = HoldoutMatches(
            tally["holdout"][ids["released"]], tally["original"][ids["holdout"]], tally["released"][ids["holdout"]]
        )
    return Matches(
        released_in_original=tally["original"][ids["released"]],
        original_in_released=tally["released"][ids["original"]],
        of_unique=tally["original"][ids["released"]] == 1,
        twins=tally["original"][ids["original"]] - 1,
        holdout=held,
    )


def _by_distance(pair: Pair, columns: Sequence[str], missing: str, n_jobs: int | None) -> Matches:
    """Match counts under a rule where missing is no level: records at distance zero."""
    space = gower_space(pair, columns, missing)

    def equals(of: str, among: str) -> np.ndarray:
        return space.count_within(of, among, 0.0, n_jobs)

    twins, matches = equals("original", "original"), equals("released", "original")
    near = space.nearest("released", "original", 1, n_jobs)
    held = None
    if pair.has_holdout and pair.n("holdout"):
        held = HoldoutMatches(
            equals("released", "holdout"), equals("holdout", "original"), equals("holdout", "released")
        )
    return Matches(
        released_in_original=matches,
        original_in_released=equals("original", "released"),
        of_unique=(matches == 1) & (twins[near.index] == 0),
        twins=twins,
        holdout=held,
    )


def _near_copies(pair: Pair, columns: Sequence[str], missing: str, near: float, n_jobs: int | None) -> dict[str, int]:
    """Release records almost equal to a record of each table: within ``near`` of it, but not at distance zero."""
    if not 0 <= near < 1:
        raise InputError(f"near must lie in [0, 1), not {near}")
    space = gower_space(pair, columns, missing)
    found = {}
    for table in ("original", "holdout") if pair.has_holdout and pair.n("holdout") else ("original",):
        if number_asked(None, pair.n("released")) is None:  # others ask for the nearest, too
            distance = space.nearest("released", table, 2 if pair.n(table) > 1 else 1, n_jobs).distance[:, 0]
            found[table] = int(((distance > TOL) & (distance <= near + TOL)).sum())
        else:  # nobody else asks about everybody, and a search that goes no further than that is quick
            around = np.flatnonzero(space.count_within("released", table, near, n_jobs))
            rows = space.rows("released", around)
            found[table] = int((space.count_rows_within(rows, table, 0.0, n_jobs) == 0).sum()) if len(around) else 0
    return found
