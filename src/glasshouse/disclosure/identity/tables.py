"""What the identity measures of one file share: which table, which rule for missing keys, and the words for both."""

from __future__ import annotations

import narwhals as nw

from glasshouse.core.errors import InputError
from glasshouse.core.words import counted
from glasshouse.data.pair import Pair
from glasshouse.disclosure.roles import KeyGroups
from glasshouse.engines.cells.classes import Sizes, class_sizes, has_weights, side

STRUCTURE = (
    "counts groups in one file: on synthetic data that is the structure of the released file, not the "
    "re-identification of real people"
)


def missing_rule(pair: Pair, default: str) -> str:
    """The rule for missing keys in force: the pair's own where the user gave one, else the measure's ``default``.

    Two tables are matched with missing as a level of its own, but in one perturbed file a missing key may stand for
    any value, so the best default differs between measures.

    Parameters
    ----------
    pair : Pair
        The tables.
    default : {"level", "wildcard", "drop"}
        The measure's own rule.

    Returns
    -------
    str
    """
    return pair.missing if pair.missing_given else default


def is_one_table(pair: Pair) -> bool:
    """Whether original and release are the same table, given once.

    Parameters
    ----------
    pair : Pair
        The tables.

    Returns
    -------
    bool
    """
    return pair._given["original"] is pair._given["released"]


def spoken(pair: Pair, table: str) -> str:
    """The table a single-file figure was counted in, in words.

    Parameters
    ----------
    pair : Pair
        The tables.
    table : {"released", "original"}
        The table in question.

    Returns
    -------
    str
        "the released table", "the original table", or "the table" where there is one only.
    """
    if is_one_table(pair):
        return "the table"
    return "the released table" if table == "released" else "the original table"


def is_synthetic(pair: Pair, table: str) -> bool:
    """Whether the file assessed is a release that is not known to hold the original records, row by row.

    Parameters
    ----------
    pair : Pair
        The tables.
    table : {"released", "original"}
        The table in question.

    Returns
    -------
    bool
    """
    return table == "released" and not pair.row_paired and not is_one_table(pair)


def supposed(pair: Pair, table: str, real: str, synthetic: str) -> str:
    """What is said about records that are people, or about records that belong to nobody.

    Parameters
    ----------
    pair : Pair
        The tables.
    table : {"released", "original"}
        The table in question.
    real, synthetic : str
        The two ways to say it; the second follows "Were the records of the released table people, ".

    Returns
    -------
    str
    """
    if not is_synthetic(pair, table):
        return real
    return f"Were the records of {spoken(pair, table)} people, {synthetic}"


def structure_note(pair: Pair, table: str) -> list[str]:
    """A warning that class sizes of a release that may be synthetic are no statement about real people.

    Parameters
    ----------
    pair : Pair
        The tables.
    table : {"released", "original"}
        The table in question.

    Returns
    -------
    list of str
        One sentence, or none.
    """
    if not is_synthetic(pair, table):
        return []
    return [
        "counted in the released file: if it is synthetic, this is its structure and not a risk of real people; "
        "table='original' counts the confidential file, row_paired=True says that the release holds the original "
        "records"
    ]


def sizes_of(
    pair: Pair, table: str, default: str, alpha: float = 1.0, compat: str | None = None, key_groups: KeyGroups = None
) -> Sizes:
    """Class sizes of one table under the rule for missing keys in force.

    Parameters
    ----------
    pair : Pair
        The tables, with keys.
    table : {"released", "original"}
        The table counted.
    default : {"level", "wildcard", "drop"}
        The rule where the user gave none.
    alpha : float, default 1
        What an incomplete compatible record counts under the wildcard rule.
    compat : {None, "sdcmicro"}, default None
        "sdcmicro" follows its freqCalc: records without any key are left out of the counts of the others.
    key_groups : int, sequence, Grouping, mapping or None, default None
        Groups of numeric keys.

    Returns
    -------
    Sizes
        Sizes f and weight sums F with the records and classes that have them.
    """
    if compat not in (None, "sdcmicro"):
        raise InputError(f"compat={compat!r}: choose 'sdcmicro' or leave it out")
    side(table)
    count_empty = compat is None or len(pair.keys) == 1
    return class_sizes(
        pair, table, rule=missing_rule(pair, default), alpha=alpha, count_empty=count_empty, key_groups=key_groups
    )


def missing_notes(sizes: Sizes) -> list[str]:
    """How records with a missing key entered, where there are any.

    Parameters
    ----------
    sizes : Sizes
        Class sizes, which know the rule they were counted by.

    Returns
    -------
    list of str
        One sentence, or none.
    """
    if sizes.dropped:
        return [f"{counted(sizes.dropped, 'record')} with a missing key left out (missing='drop')"]
    if sizes.incomplete and sizes.rule == "wildcard":
        return [
            f"{counted(sizes.incomplete, 'record')} with a missing key, which fits every value (missing='wildcard')"
        ]
    return []


def refuse_zero_weights(pair: Pair, table: str) -> None:
    """Raise where a weight is 0: a record stands for at least one person when weights sum to a population size.

    Parameters
    ----------
    pair : Pair
        The tables.
    table : {"released", "original"}
        The table in question.
    """
    weights = _weight_column(pair, table)
    if weights is None:
        return
    count = int(_summed(pair, table, (nw.col(weights) == 0).cast(nw.Int64)))
    if count:
        raise InputError(
            f"weight column {weights!r} of the {table} table has {count} zero values, and a record stands "
            "for at least one person in a population size; drop those records or leave weights out"
        )


def given_share(sampling_fraction: float) -> float:
    """A sampling fraction as given, refused outside (0, 1].

    Parameters
    ----------
    sampling_fraction : float
        Share of the population in a table.

    Returns
    -------
    float
    """
    if not 0 < sampling_fraction <= 1:
        raise InputError(f"sampling_fraction must be in (0, 1], not {sampling_fraction}")
    return float(sampling_fraction)


def population_share(pair: Pair, table: str, sampling_fraction: float | None) -> float | None:
    """The share of the population in a table.

    Parameters
    ----------
    pair : Pair
        The tables, with or without survey weights.
    table : {"released", "original"}
        The table in question.
    sampling_fraction : float or None
        The share as the user gave it.

    Returns
    -------
    float or None
        As given, else records over the sum of weights (at most 1), else None: unknown.
    """
    if sampling_fraction is not None:
        return given_share(sampling_fraction)
    weights = _weight_column(pair, table)
    if weights is None:
        return None
    return min(1.0, pair.n(table) / _summed(pair, table, nw.col(weights).cast(nw.Float64)))


def _weight_column(pair: Pair, table: str) -> str | None:
    """The column of survey weights, where this table has it."""
    return pair.weights if has_weights(pair, table) else None


def _summed(pair: Pair, table: str, column: nw.Expr) -> float:
    total = pair.frame(table).select(total=column.sum()).collect(backend="polars").to_native().item()
    return float(total or 0)
