"""An advice carried out: the operation it names, with the mildest arguments the search would try."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from glasshouse.core.errors import InputError
from glasshouse.core.streams import integer_seed
from glasshouse.data.pair import Pair
from glasshouse.judgement.mitigation.findings import columns_of
from glasshouse.judgement.mitigation.proposals import LADDERS
from glasshouse.judgement.mitigation.tables import own_table
from glasshouse.protection.operation import Protected, operations
from glasshouse.protection.recipe import Step

if TYPE_CHECKING:
    from glasshouse.judgement.verdict.advice import Recommendation


def carried_out(advice: Recommendation, pair: Pair, arguments: Mapping[str, Any]) -> Protected:
    """The release of a pair after the operation that an advice names.

    Parameters
    ----------
    advice
        What is recommended.
    pair
        What was assessed, with one release.
    arguments
        In place of those the search would try first.

    Returns
    -------
    Protected

    Raises
    ------
    InputError
        Where nothing can be done to the release, or there is nothing to do it on.
    """
    if advice.operation is None:
        raise InputError(f"no operation carries this advice out: {advice.text}")
    if pair.m != 1:
        raise InputError(f"there are {pair.m} releases; take one of them: pair.release(0)")
    one = operations()[advice.operation]
    tried = list(LADDERS[one.name](columns_of(pair, ()), pair)) if one.name in LADDERS else []
    if not tried and not arguments:
        raise InputError(f"there is no column to {one.title} on; name the arguments of {one.name} yourself")
    given: dict[str, Any] = {**(tried[0] if tried else {}), **arguments}
    if one.seeded:
        given.setdefault("random_state", integer_seed(0, "advice", one.name))
    return Step(one.name, given).run(own_table(pair, "released"), own_table(pair, "original"))
