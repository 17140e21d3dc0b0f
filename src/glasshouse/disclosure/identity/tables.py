"""What the identity measures of one file share: which table, which rule for missing keys, and the words for both."""

from __future__ import annotations

from typing import Any

import narwhals as nw

from glasshouse.core.errors import InputError
from glasshouse.data.pair import Pair
from glasshouse.engines.cells.classes import Sizes, class_sizes, has_weights, side

STRUCTURE = (
    "counts groups in one file: on synthetic data that is the structure of the released file, not the "
    "re-identification of real people"
)


def missing_rule(pair: Pair, default: str) -> str:
    """The rule the pair was given, else the measure's own default (tables.md 0.4)."""
    return pair.missing if pair.missing_given else default


def spoken(pair: Pair, table: str) -> str:
    """The table a single-file figure was counted in, in words."""
    if pair._given["original"] is pair._given["released"]:
        return "the table"
    return "the released table" if table == "released" else "the original table"


def spoken_keys(pair: Pair) -> str:
    keys = list(pair.keys)
    if len(keys) > 6:
        return f"all {len(keys)} keys"
    return keys[0] if len(keys) == 1 else ", ".join(keys[:-1]) + " and " + keys[-1]


def is_synthetic(pair: Pair, table: str) -> bool:
    """True when the file assessed is a release that is not known to hold the original records, row by row."""
    return table == "released" and not pair.row_paired and pair._given["original"] is not pair._given["released"]


def structure_note(pair: Pair, table: str) -> list[str]:
    """A release may be synthetic: then its class sizes are no statement about real people."""
    if not is_synthetic(pair, table):
        return []
    return [
        "counted in the released file: if it is synthetic, this is its structure and not a risk of real people; "
        "table='original' counts the confidential file, row_paired=True says that the release holds the original "
        "records"
    ]


def sizes_of(
    pair: Pair, table: str, default: str, alpha: float = 1.0, compat: str | None = None, key_groups: Any = None
) -> Sizes:
    """Class sizes under the rule in force; ``compat="sdcmicro"`` follows freqCalc for records without any key."""
    if compat not in (None, "sdcmicro"):
        raise InputError(f"compat={compat!r}: choose 'sdcmicro' or leave it out")
    side(table)
    count_empty = compat is None or len(pair.keys) == 1
    return class_sizes(
        pair, table, rule=missing_rule(pair, default), alpha=alpha, count_empty=count_empty, key_groups=key_groups
    )


def missing_notes(sizes: Sizes) -> list[str]:
    """How records with a missing key entered, where there are any."""
    if sizes.dropped:
        return [f"{sizes.dropped:,} records with a missing key were left out (missing='drop')"]
    if sizes.incomplete and sizes.rule == "wildcard":
        return [f"{sizes.incomplete:,} records have a missing key, which fits every value (missing='wildcard')"]
    return []


def refuse_zero_weights(pair: Pair, table: str) -> None:
    """A weight says how many people a record stands for; nobody is no answer when the sum is a population size."""
    if not has_weights(pair, table):
        return
    assert pair.weights is not None
    zero = (nw.col(pair.weights) == 0).cast(nw.Int64).sum()
    count = int(pair.frame(table).select(zero.alias("zero")).collect(backend="polars").to_native().item() or 0)
    if count:
        raise InputError(
            f"weight column {pair.weights!r} of the {table} table has {count} zero values, and a record stands "
            "for at least one person "
            "in a population size; drop those records or leave weights out"
        )


def population_share(pair: Pair, table: str, sampling_fraction: float | None) -> float | None:
    """The sampling fraction: as given, else from the weights, else unknown."""
    if sampling_fraction is not None:
        if not 0 < sampling_fraction <= 1:
            raise InputError(f"sampling_fraction must be in (0, 1], not {sampling_fraction}")
        return float(sampling_fraction)
    if not has_weights(pair, table):
        return None
    assert pair.weights is not None
    total = (
        pair.frame(table)
        .select(nw.col(pair.weights).cast(nw.Float64).sum().alias("total"))
        .collect(backend="polars")
        .to_native()
        .item()
    )
    return min(1.0, pair.n(table) / float(total))
