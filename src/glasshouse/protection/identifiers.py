"""What names a person outright: columns to drop, or to replace by codes. Neither makes a table anonymous."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError
from glasshouse.core.paths import as_told, is_file
from glasshouse.core.streams import RandomState, generator
from glasshouse.core.words import spoken
from glasshouse.data.frames import Frame, label_text
from glasshouse.data.pair import Pair
from glasshouse.protection.held import Held, held
from glasshouse.protection.operation import Protected, operation, protected

NO_TEXT = (pl.Binary, pl.Time)  # neither is compared anywhere
HEX_DIGITS = 16  # 64 bits: two of a million people share a code with a chance of 3 in 10^8
LEAST_KEY = 16  # characters of a secret that is not guessed by trying
NO_ANONYMITY = (
    "A pseudonym is no anonymity: one person keeps one code, so what is said of the code is said of the person{}."
)


@operation(title="drop identifiers", acts_on=("identity", "copying"), touches="columns", cost=1)
def drop_identifiers(table: Frame, columns: Sequence[str] | None = None) -> Protected:
    """Leave out columns that name a person: identifiers, names, addresses, numbers handed out one by one.

    Parameters
    ----------
    table : frame, path or Protected
        The table.
    columns : str or sequence of str, optional
        The columns. Default: those that look like an identifier (nearly all values differ and are text, or running
        numbers, or whole numbers named like one), as ``gh.check`` finds them.

    Returns
    -------
    Protected

    Raises
    ------
    InputError
        For a column that is not there, and where no column would be left.

    Notes
    -----
    The look of a column is a guess: a column of free text, an address in two columns or a rare postcode names people
    too. What is not dropped is the subject of the other operations.

    References
    ----------
    Hundepool et al. (2012), Statistical Disclosure Control, section 3.1.

    Examples
    --------
    >>> import polars as pl
    >>> import glasshouse as gh
    >>> people = pl.DataFrame({"name": [f"person {i}" for i in range(30)], "sex": ["f", "m"] * 15})
    >>> gh.protection.drop_identifiers(people).table.columns
    ['sex']
    """
    before = held(table)
    names = before.columns(columns) if columns is not None else list(_found(before))
    if len(names) == len(before.frame.columns):
        raise InputError("every column would be dropped; name those that identify people with columns=[...]")
    notes = [f"No column but {spoken(names)} looked like an identifier." if names else "No column looked like one."]
    texts = [c for c, kind in _kinds(before).items() if kind == "text" and c not in names] if columns is None else []
    if texts:
        notes.append(f"Free text was left in {spoken(texts)}: it may name people.")
    said = f"Dropped {spoken(names)}." if names else "Nothing had to be dropped: no column looks like an identifier."
    return protected(before, drop=names, sentence=said, notes=notes if columns is None else ())


@operation(title="replace identifiers by codes", acts_on=("identity",), touches="columns", cost=1)
def pseudonymise(
    table: Frame,
    columns: Sequence[str],
    method: Literal["random", "sequential", "keyed"] = "random",
    *,
    key: str | None = None,
    key_file: str | Path | None = None,
    prefix: str = "",
    random_state: RandomState = None,
) -> Protected:
    """Replace values by codes, equal values by equal codes. This is not anonymisation.

    Parameters
    ----------
    table : frame, path or Protected
        The table.
    columns : str or sequence of str
        The columns.
    method : {"random", "sequential", "keyed"}, default "random"
        "random": a code of 16 hexadecimal digits drawn for every value of a column; "sequential": 1, 2, 3, ... dealt
        out at random; "keyed": computed from the value and a secret, the same in every column and every table.
    key : str, optional
        The secret of "keyed", of at least 16 characters. It is not written down anywhere.
    key_file : str or Path, optional
        A file that holds the secret; a recipe can name it.
    prefix : str, default ""
        Written before every code.
    random_state : int, numpy Generator or None, default None
        Deals out the codes of "random" and "sequential". None draws anew at every call and keeps nothing. Who knows a
        seed and the list of values can deal the codes out again: a seed is a secret, though ``settings`` and recipes
        name it.

    Returns
    -------
    Protected

    Raises
    ------
    InputError
        For a column that is not there, and for "keyed" without a secret or with a short one.

    Notes
    -----
    keyed: the first 64 bits of HMAC-SHA256(key, value). Random and sequential codes go to the distinct values in the
    order of their text, by a random permutation with a stream of its own per column name, so that neither row order nor
    other columns matter. Missing values stay missing.

    References
    ----------
    ENISA (2019), Pseudonymisation techniques and best practices.

    Examples
    --------
    >>> import polars as pl
    >>> import glasshouse as gh
    >>> visits = pl.DataFrame({"patient": ["Ann", "Bob", "Ann"]})
    >>> codes = gh.protection.pseudonymise(visits, "patient", "sequential").table["patient"].to_list()
    >>> codes[0] == codes[2] != codes[1]
    True
    """
    before = held(table)
    names = before.columns(columns)
    secret = _secret(key, key_file) if method == "keyed" else None
    if secret is None and (key is not None or key_file is not None):
        raise InputError("a secret is given and not used: say method='keyed'")
    new = {name: _coded(before[name], method, secret, prefix, random_state) for name in names}
    distinct = {name: int(before[name].drop_nulls().n_unique()) for name in names}
    return protected(before, new, did="coded", notes=(_note(method, random_state),), details={"distinct": distinct})


def _note(method: str, random_state: RandomState) -> str:
    """That codes are no anonymity, and who can undo them."""
    if method == "keyed":
        return NO_ANONYMITY.format(", and whoever holds the key finds the name again")
    if random_state is not None:
        return NO_ANONYMITY.format(", and whoever knows the seed finds the name again: keep it like a secret")
    return NO_ANONYMITY.format("") + " The codes were drawn anew and no seed was kept: another run gives other codes."


def _coded(values: pl.Series, method: str, secret: bytes | None, prefix: str, random_state: RandomState) -> pl.Series:
    levels = values.drop_nulls().unique().to_list()
    texts = sorted((label_text(level), i) for i, level in enumerate(levels))
    codes: list[str] = [""] * len(levels)
    if secret is not None:
        for text, i in texts:
            codes[i] = hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()[:HEX_DIGITS]
    else:
        rng = generator(random_state, "pseudonymise", values.name)
        dealt = rng.permutation(len(levels)) + 1
        drawn = _tokens(rng, len(levels)) if method == "random" else [str(number) for number in dealt]
        for (_, i), code in zip(texts, drawn, strict=True):
            codes[i] = code
    if method == "sequential" and not prefix:
        return values.replace_strict(levels, [int(code) for code in codes], default=None, return_dtype=pl.Int64)
    return values.replace_strict(levels, [prefix + code for code in codes], default=None, return_dtype=pl.String)


def _tokens(rng: np.random.Generator, count: int) -> list[str]:
    drawn: dict[str, None] = {}
    while len(drawn) < count:
        drawn.update(dict.fromkeys(rng.bytes(HEX_DIGITS // 2).hex() for _ in range(count - len(drawn))))
    return list(drawn)


def _secret(key: str | None, key_file: str | Path | None) -> bytes:
    if key_file is not None:
        path = Path(key_file)
        if not is_file(path):
            raise InputError(f"the file with the secret is not there: {as_told(path)}")
        key = path.read_text(encoding="utf-8", errors="replace").strip()
    if key is None:
        raise InputError("method='keyed' needs a secret: key=... or key_file=...; a recipe never holds it")
    if len(key) < LEAST_KEY:
        raise InputError(f"the secret has fewer than {LEAST_KEY} characters, so that codes can be undone by trying all")
    return key.encode()


def _kinds(before: Held) -> dict[str, str]:
    plain = before.frame.select(
        c for c, kind in before.frame.schema.items() if not (kind.is_nested() or kind in NO_TEXT)
    )
    return {name: column.kind for name, column in Pair(plain, plain).schema.items()} if plain.width else {}


def _found(before: Held) -> tuple[str, ...]:
    return tuple(name for name, kind in _kinds(before).items() if kind == "identifier")
