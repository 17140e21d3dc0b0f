"""What a copy test tells: people flagged, strangers flagged, and how sure it is that the difference is no chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from glasshouse.core.intervals import wilson
from glasshouse.core.plain import percent
from glasshouse.core.result import Result
from glasshouse.core.streams import RandomState
from glasshouse.core.words import HOLDOUT, HOLDOUT_ADVICE, SIMILARITY, plural
from glasshouse.disclosure.copying.closeness import DELUSION
from glasshouse.disclosure.copying.pooled import against_strangers
from glasshouse.disclosure.wording import against
from glasshouse.engines.asked import Asked, everybody

if TYPE_CHECKING:
    from glasshouse.data.arrays import Bools, Floats, Ints
    from glasshouse.data.pair import Pair

CITE = f"after Raab, Nowok & Dibben (2025), replicated uniques; {DELUSION}"
MOST_LOWERED = 4  # chance matches may make an exchange of labels this much surer
NO_STRANGERS = f"there is no holdout: {HOLDOUT}. {HOLDOUT_ADVICE}"


def copied_people(
    pair: Pair,
    flags: Bools,
    scores: Floats,
    *,
    alone: Bools,
    row: Ints,
    said: str,
    confidence: float,
    random_state: RandomState,
    name: str,
    chance: float | None = None,
    surer: float = 1.0,
    columns: Mapping[str, np.ndarray] | None = None,
    notes: Sequence[str] = (),
    asked: Asked | None = None,
) -> Result:
    """The result of a copy test.

    Parameters
    ----------
    pair : Pair
        The tables.
    flags, scores : array
        Of original, then holdout people: who counts as copied, and what is exchanged.
    alone : array of bool
        Who could be found at all.
    row : array of int
        The released record that copies each of them.
    said : str
        What a flag means, after "12 of 1,000 original records".
    confidence, random_state, name
        Of the intervals; seed and stream of the exchange.
    chance : float, optional
        p value of the test that needs no holdout.
    surer : float
        How many times surer the exchange must be, where a match is no surprise.
    columns : mapping, optional
        More columns of ``records``, of original people.
    notes : sequence of str, default empty
        Warnings of the result.
    asked : Asked, optional
        Who was asked about; everybody by default.

    Returns
    -------
    Result
    """
    who = everybody(pair) if asked is None else asked
    size = who.n("original")
    members, strangers = (np.asarray(part, float) for part in (flags[:size], flags[size:]))
    reachable = np.asarray(alone[:size], float)
    shown, exposed, tested = against_strangers(
        pair,
        (members, strangers),
        (scores[:size], scores[size:]),
        reachable,
        confidence,
        random_state,
        name,
        who,
    )
    if tested is not None:
        p = tested.p if chance is None else with_chance(tested.p, chance, bool(strangers.any()))
        tested = tested._replace(p=min(1.0, surer * p))
        shown["p_value"] = tested.p
    hits = int(members.sum())
    share = hits / size
    reference = "" if tested is None else f", {percent(float(strangers.mean()))} of people never in the data"
    verdict = "" if tested is None else f": {against(tested.p, share, float(strangers.mean()))}"
    strangers_said = (
        [] if tested is not None else [f"members cannot be compared with strangers, because {NO_STRANGERS}"]
    )
    released = np.where(members > 0, row[:size], -1)

    def records() -> Mapping[str, np.ndarray]:
        made = {
            "copied": members.astype(bool),
            "score": scores[:size],
            "released_row": np.ma.MaskedArray(released, released < 0),
            **(columns or {}),
        }
        return {column: who.spread(values) for column, values in made.items()}

    return Result(
        value=share,
        baseline=shown["holdout"],
        interval=wilson(hits, size, confidence),
        **shown,
        exposure=exposed,
        figures={"chance_p": chance if tested is None else None},
        of=size,
        details={
            "n_copied": hits,
            "n_released_copies": len(np.unique(released[released >= 0])),
            "n_holdout_copied": int(strangers.sum()) if tested is not None else None,
            "n_alone": int(alone[:size].sum()),
            "null_sd": None if tested is None else tested.null_sd,
            "deals": None if tested is None else tested.deals,
        },
        sentence=f"{hits:,} of {size:,} original {plural(size, 'record')} ({percent(share, 2)}) {said}{reference}"
        f"{verdict}. {SIMILARITY}",
        warnings=[*notes, *who.notes(), *strangers_said],
        records=records,
        flag="copied",
        rank="score",
    )


def with_chance(exchanged: float, by_chance: float, strangers_found: bool) -> float:
    """The p value of equal records: that of exchanged labels, lowered by what real people say about chance.

    Where real people never equal each other, a few equal records are no luck, whoever they are of. That holds for a
    release made like the population; one that piles up common records equals members and strangers alike, so the
    exchange must point the same way, and counts at most four times as much. Few strangers cannot point anywhere: where
    none of them is found, a tenth of the level is set aside for chance alone.
    """
    together = max(exchanged / MOST_LOWERED, by_chance)
    return min(exchanged, together, 1.0 if strangers_found else 10 * by_chance)
