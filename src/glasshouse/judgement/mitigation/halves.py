"""The holdout dealt in two by person: one half steers the search, the other verifies what came of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glasshouse.data.fingerprints import drawn_order
from glasshouse.data.mistakes import without_void_holdout
from glasshouse.data.pair import Pair
from glasshouse.data.split import group_codes, take_rows
from glasshouse.judgement.mitigation.tables import own_table
from glasshouse.judgement.rumap.ghosts import FEWEST


@dataclass(frozen=True)
class Halves:
    """The same pair with the half of the holdout that steers, and with the half that verifies.

    Attributes
    ----------
    steering, verifying : Pair
        The same one twice where nobody is left to verify.
    verified : bool
        Whether they are two.
    note : str
        What was done with the holdout, in a sentence.
    """

    steering: Pair
    verifying: Pair
    verified: bool
    note: str


def halves_of(pair: Pair, seed: int) -> Halves:
    """Deal the holdout of a pair in two, whole clusters together.

    Parameters
    ----------
    pair
        With or without a holdout.
    seed
        Seed of the deal.

    Returns
    -------
    Halves
    """
    if pair.row_paired:
        return Halves(pair, pair, False, PAIRED)
    if not pair.has_holdout:
        return Halves(pair, pair, False, NOBODY)
    if pair.n("holdout") < 2 * FEWEST:
        return Halves(pair, pair, False, TOO_FEW)
    frame = pair.local("holdout")
    order = drawn_order(frame, seed, "halves of the holdout")  # the same people whatever the order of the file
    cluster = pair.cluster if pair.cluster and pair.has(pair.cluster, "holdout") else None
    people = np.arange(len(order)) if cluster is None else group_codes(frame[order.tolist()], [cluster])
    first = people < round((people.max() + 1) / 2)
    if first.all():  # one cluster holds them all
        return Halves(pair, pair, False, TOO_FEW)
    given = own_table(pair, "holdout")
    parts = (take_rows(given, np.sort(order[half])) for half in (~first, first))
    steering, verifying = (without_void_holdout(pair.replace(holdout=part)) for part in parts)
    return Halves(steering, verifying, True, DEALT)


DEALT = (
    "The holdout was dealt in two by person before the search. One half steered it; the verdict is that of the whole "
    "assessment on the other half, with a new seed. Half a holdout sees less than a whole one; the verdict says how "
    "much."
)
NOBODY = (
    "There is no holdout, so nothing verifies the result: the search and the verdict looked at the same people, and a "
    "search against attacks learns to please them. Set people aside before synthesis and run it again before the "
    "release goes out."
)
TOO_FEW = (
    f"The holdout is too small to be dealt in two ({2 * FEWEST} people or more are needed), so nothing verifies the "
    "result: the search and the verdict looked at the same people. Read it as a proposal, not as evidence."
)
PAIRED = (
    "The rows of this release are those of the original, changed, so what its limits say needs no people never in the "
    "data. The verdict looked at the same table that the search did, with a new seed."
)
