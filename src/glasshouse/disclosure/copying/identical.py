"""Copying checks that need no distance: records of the release that equal a record of the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from glasshouse.core.advice import COPIES
from glasshouse.core.errors import InputError, NotApplicable, listed
from glasshouse.core.evidence import Counts
from glasshouse.core.intervals import difference_of_shares, wilson
from glasshouse.core.measure import measure
from glasshouse.core.plain import p_value, percent
from glasshouse.core.result import Result
from glasshouse.disclosure.copying.closeness import (
    CAVEAT,
    NO_HOLDOUT,
    copying_limit,
    hit_chances,
    infinite_values,
    p_above,
    surplus,
)
from glasshouse.engines.neighbours.encoding import row_ids
from glasshouse.engines.neighbours.search import RULES, TOL, chosen_columns, gower_space

if TYPE_CHECKING:
    from glasshouse.data.pair import Pair


@measure(
    side="disclosure",
    family="copying",
    threat="copying",
    better="lower",
    range=(0, 1),
    needs=(),
    limit=copying_limit(warn=0.01, alone=(0.01, 0.05)),
    figures=("surplus",),
    cite="Raab, Nowok & Dibben (2025), Practical privacy metrics for synthetic data; Platzer & Reutterer (2021)",
    attacker="every column of some people",
    caveats=CAVEAT,
    cost="neighbours",
    audited=True,
    group="distance",
    title="Identical records",
    tier="fast",
    on_map=True,
    advice=COPIES,
    riskutility=("IMS", lambda r: {"pct": None if r.value is None else 100 * r.value}),
)
def identical(
    pair: Pair,
    *,
    columns: Sequence[str] | None = None,
    missing: str = "level",
    round_digits: int | None = None,
    near: float = 0.01,
    confidence: float = 0.95,
    n_jobs: int | None = None,
) -> Result:
    """Share of release records that equal an original record in every column.

    IMS = #{s in S : s equals some t in T} / n_S. On coarse data equal records arise by chance, so the reference is the
    same share against the holdout (with the training records cut in expectation to its size when they are more), or
    without a holdout the share of originals with a twin among the originals. The p-value of the difference counts
    release records that equal each other as one observation. ``details`` also has copied uniques
    (release records equal to an original that is unique: ``repu``), copied originals, the share of holdout records that
    equal a training record, and near copies (within Gower distance ``near`` but not equal).
    """
    if missing not in RULES:
        raise InputError(f"missing must be one of {', '.join(RULES)}, not {missing!r}")
    if round_digits is not None and missing != "level":
        raise InputError("round_digits goes with missing='level' only")
    chosen = list(chosen_columns(pair, columns))
    if not pair.n("original") or not pair.n("released"):
        raise NotApplicable("a table has no records to compare")
    counts = (
        _by_identity(pair, chosen, round_digits) if missing == "level" else _by_distance(pair, chosen, missing, n_jobs)
    )
    n_released, n_original = pair.n("released"), pair.n("original")
    matches = counts["released_in_original"]
    n_identical = int((matches > 0).sum())
    share = n_identical / n_released
    twins = counts["twins"]
    copied = counts["original_in_released"] > 0
    details: dict[str, Any] = {
        "ims": share,
        "n_identical": n_identical,
        "n_train_copied": int(copied.sum()),
        "pct_train_copied": float(copied.mean()),
        "n_original_copied": int(copied.sum()),
        "share_original_copied": float(copied.mean()),
        "repu_n": int(counts["of_unique"].sum()),
        "repu": float(counts["of_unique"].mean()),
        "n_unique_original": int((twins == 0).sum()),
        "n_unique_copied": int((copied & (twins == 0)).sum()),
        "n_unique_train": int((twins == 0).sum()),
        "n_unique_matched": int((copied & (twins == 0)).sum()),
        "ims_self": float((twins > 0).mean()),
        "columns": chosen,
    }
    notes: list[str] = []
    excess, p, alone = None, None, None
    if details["n_unique_train"]:
        details["riskutility_repu"] = {
            "ims": details["repu"],
            "n_identical": details["repu_n"],
            "n_unique_matched": details["n_unique_matched"],
            "n_unique_train": details["n_unique_train"],
            "pct_train_copied": details["n_unique_matched"] / details["n_unique_train"],
        }
    if pair.has_holdout and pair.n("holdout"):
        against = counts["released_in_holdout"] > 0
        reference = float(against.mean())
        chances = hit_chances(matches, n_original, pair.n("holdout"))
        adjusted = float(chances.mean())
        p = p_above(chances - against, counts["released_ids"])
        excess = (adjusted - reference) / (1 - reference) if reference < 1 else 0.0
        details |= {
            "ims_holdout": reference,
            "ims_at_equal_size": adjusted,
            "difference": adjusted - reference,
            "p_difference": p,
            "holdout_in_original": float((counts["holdout_in_original"] > 0).mean()),
            "difference_interval": list(
                difference_of_shares(adjusted * n_released, n_released, int(against.sum()), n_released, confidence)
            ),
        }
        compared = f"{percent(reference, 2)} equal a holdout record ({p_value(p)})"
    else:
        reference = details["ims_self"]
        notes.append(f"the reference is twins inside the original, because there is {NO_HOLDOUT}")
        alone = surplus(n_identical, n_released, reference)
        compared = f"{percent(reference, 2)} of originals equal another original"
    infinite = infinite_values(pair, chosen)
    if infinite:
        notes.append(f"near copies are not counted, because {listed(infinite)} hold infinite values")
    else:
        details |= _near_copies(pair, chosen, missing, near, n_jobs)
    uniques = (
        f"{details['repu_n']:,} of them {'equals' if details['repu_n'] == 1 else 'equal'} an original that is unique"
    )
    people = f"{n_identical:,} of {n_released:,} release record{'' if n_released == 1 else 's'}"
    return Result(
        value=share,
        baseline=reference,
        excess=excess,
        holdout=details.get("ims_holdout"),
        interval=wilson(n_identical, n_released, confidence),
        details=details,
        difference=details.get("difference"),
        difference_interval=details.get("difference_interval"),
        p_value=p,
        counts=_people(counts),
        figures={"surplus": alone},
        sentence=f"{people} ({percent(share, 2)}) {'equals' if n_identical == 1 else 'equal'} an original, {uniques}; "
        f"{compared}. {CAVEAT}",
        warnings=notes,
        records=lambda: {"copied": copied, "released_copies": counts["original_in_released"], "unique": twins == 0},
        flag="copied",
        rank="released_copies",
    )


def _people(counts: Mapping[str, np.ndarray]) -> Counts:
    """The simplest membership test: is there a released record equal to this person's?"""
    members = counts["original_in_released"] > 0
    if "holdout_in_released" not in counts:
        return Counts(int(members.sum()), len(members))
    strangers = counts["holdout_in_released"] > 0
    return Counts(int(members.sum()), len(members), int(strangers.sum()), len(strangers))


def _by_identity(pair: Pair, columns: Sequence[str], round_digits: int | None) -> Mapping[str, np.ndarray]:
    """Match counts between tables by row identity: linear in the number of records."""
    ids = pair.memo(("row_ids", tuple(columns), round_digits), lambda: row_ids(pair, columns, round_digits))
    size = 1 + max(int(part.max(initial=0)) for part in ids.values())
    tally = {table: np.bincount(part, minlength=size) for table, part in ids.items()}
    found = {
        "released_in_original": tally["original"][ids["released"]],
        "original_in_released": tally["released"][ids["original"]],
        "of_unique": tally["original"][ids["released"]] == 1,
        "twins": tally["original"][ids["original"]] - 1,
        "released_ids": ids["released"],
    }
    if "holdout" in ids:
        found["released_in_holdout"] = tally["holdout"][ids["released"]]
        found["holdout_in_original"] = tally["original"][ids["holdout"]]
        found["holdout_in_released"] = tally["released"][ids["holdout"]]
    return found


def _by_distance(pair: Pair, columns: Sequence[str], missing: str, n_jobs: int | None) -> Mapping[str, np.ndarray]:
    """Match counts under a rule where missing is no level: records at distance zero."""
    space = gower_space(pair, columns, missing)
    twins = space.count_within("original", "original", 0.0, n_jobs)
    near = space.nearest("released", "original", 1, n_jobs)
    matches = space.count_within("released", "original", 0.0, n_jobs)
    found = {
        "released_in_original": matches,
        "original_in_released": space.count_within("original", "released", 0.0, n_jobs),
        "of_unique": (matches == 1) & (twins[near.index] == 0),
        "twins": twins,
        "released_ids": space.rows("released").inverse,
    }
    if pair.has_holdout:
        found["released_in_holdout"] = space.count_within("released", "holdout", 0.0, n_jobs)
        found["holdout_in_original"] = space.count_within("holdout", "original", 0.0, n_jobs)
        found["holdout_in_released"] = space.count_within("holdout", "released", 0.0, n_jobs)
    return found


def _near_copies(
    pair: Pair, columns: Sequence[str], missing: str, near: float, n_jobs: int | None
) -> dict[str, float | int]:
    """Release records almost equal to an original: within ``near`` of it, but not at distance zero."""
    if not 0 <= near < 1:
        raise InputError(f"near must lie in [0, 1), not {near}")
    space = gower_space(pair, columns, missing)
    details: dict[str, float | int] = {"near": near}
    for table, suffix in (("original", ""), ("holdout", "_holdout")):
        if table == "holdout" and not (pair.has_holdout and pair.n("holdout")):
            continue
        distance = space.nearest("released", table, 2 if pair.n(table) > 1 else 1, n_jobs).distance[:, 0]
        close = (distance > TOL) & (distance <= near + TOL)
        details |= {f"n_near_copies{suffix}": int(close.sum()), f"near_copies{suffix}": float(close.mean())}
    return details
