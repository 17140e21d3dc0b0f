"""The interface of every synthesiser, and how a fitted one is kept in a file without pickle.

A model file is a zip of plain arrays plus one JSON text; nothing in it can run. A fitted non-private model holds
values of real records (leaf donors, categories): keep the file as confidential as the data it was made from.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import polars as pl

from glasshouse.core.errors import InputError, MissingExtra
from glasshouse.core.options import door
from glasshouse.core.paths import as_told, is_file
from glasshouse.core.streams import RandomState, integer_seed
from glasshouse.core.writing import write_atomically
from glasshouse.data.conversion import iso_text
from glasshouse.data.frames import Adopted, Frame, adopt_headed, give_back
from glasshouse.data.pandas_tables import has_pyarrow, to_pandas
from glasshouse.data.schema import family
from glasshouse.data.split import collected

if TYPE_CHECKING:
    import pandas as pd

Header: TypeAlias = dict[str, Any]  # what a model file says in JSON: each synthesiser reads back its own
Arrays: TypeAlias = dict[str, np.ndarray]

FORMAT = "glasshouse-synthesiser-2"
MODELS = {
    "Cart": "glasshouse.synthesis.cart",
    "Sequential": "glasshouse.synthesis.sequential",
    "Mst": "glasshouse.synthesis.dp.mst",
    "Aim": "glasshouse.synthesis.dp.aim",
}


@door
class Synthesiser(ABC):
    """``fit`` learns from a table; ``sample`` makes a new table in the same data frame library with the same columns.

    Attributes
    ----------
    n_original : int
        Records of the original; ``sample()`` makes as many.
    """

    n_original: int = 0
    _like: Adopted | None = None
    _library: str = "polars"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        door(cls)

    @abstractmethod
    def fit(self, original: Frame) -> Self:
        """Learn from the original.

        Parameters
        ----------
        original : frame or path
            The confidential table: pandas, polars, pyarrow, DuckDB, PySpark or a file.

        Returns
        -------
        Synthesiser
            This one, so that ``sample`` can follow.
        """

    @abstractmethod
    def sample(self, n: int | None = None, random_state: RandomState = 0) -> Frame:
        """A synthetic table.

        Parameters
        ----------
        n : int, optional
            Number of records. Default: as many as the original had.
        random_state : int, numpy Generator or None, default 0
            The same call gives the same table; None draws.

        Returns
        -------
        frame
            In the frame library of the original.
        """

    def replicates(self, m: int, n: int | None = None, random_state: RandomState = 0) -> list[Frame]:
        """Several independent synthetic tables.

        Parameters
        ----------
        m : int
            Number of tables, at least 1.
        n : int, optional
            Records of each. Default: as many as the original had.
        random_state : int, numpy Generator or None, default 0
            The same call gives the same tables; None draws.

        Returns
        -------
        list of frames
        """
        if m < 1:
            raise InputError(f"m must be at least 1, not {m}")
        seeds = [integer_seed(random_state, "replicate", i) for i in range(m)]
        return [self.sample(n, random_state=seed) for seed in seeds]

    def save(self, path: str | Path) -> Path:
        """Write the fitted model; the file appears only when it is complete.

        Parameters
        ----------
        path : str or Path
            Where to write; a new file is for its owner alone. A model without a formal guarantee holds values of real
            records: keep the file as confidential as the original.

        Returns
        -------
        Path
            The file.
        """
        header, arrays = self._state()
        buffer = BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            described = {"format": FORMAT, "class": type(self).__name__, "library": self._library, **header}
            archive.writestr("model.json", json.dumps(described))
            for name, array in arrays.items():
                part = BytesIO()
                np.lib.format.write_array(part, np.ascontiguousarray(array), allow_pickle=False)
                archive.writestr(f"{name}.npy", part.getvalue())
        return write_atomically(path, buffer.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model written by ``save``.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Synthesiser
            Fitted, ready to sample.

        Raises
        ------
        InputError
            When the file holds another kind of synthesiser, or none.
        """
        made = load(path)
        if not isinstance(made, cls):
            raise InputError(
                f"{path} holds a {type(made).__name__}, not a {cls.__name__}; use glasshouse.synthesis.load"
            )
        return made

    def _state(self) -> tuple[Header, Arrays]:
        """What ``save`` writes: JSON-able values and plain arrays."""
        raise NotImplementedError(f"{type(self).__name__} cannot be saved")

    @classmethod
    def _from_state(cls, header: Header, arrays: Arrays) -> Self:
        """The fitted synthesiser from what ``_state`` gave."""
        raise NotImplementedError(f"{cls.__name__} cannot be loaded")

    def _take(self, original: Frame) -> pl.DataFrame:
        """The original as a polars frame; remembers which library to answer in."""
        self._like = adopt_headed(original, "original")
        self._library = self._like.library
        frame = collected(self._like)
        if frame.height == 0:
            raise InputError("the original has no record to learn from")
        self.n_original = frame.height
        return frame

    def _give(self, frame: pl.DataFrame) -> Frame:
        """A polars frame in the library of the original, with its column types where they can hold the values. A
        declared level that real people have and no record of the sample leaves the type: one person may have it."""
        if self._like is None:
            if self._library == "pandas":
                return to_pandas(frame)
            if self._library == "pyarrow" and not has_pyarrow():
                raise MissingExtra("arrow", "the model learnt from an Arrow table; a sample of the same kind")
            return frame.to_arrow() if self._library == "pyarrow" else frame
        stored = self._like.lazy.collect_schema()
        texts = [c for c, dtype in frame.schema.items() if dtype == pl.Datetime and family(stored[c]) == "text"]
        frame = frame.with_columns(iso_text(frame[c]) for c in texts)  # dates came as text
        if self._library in ("polars", "polars-lazy"):
            types = self._like.lazy.collect_schema().to_polars()
            frame = frame.with_columns([pl.col(c).cast(types[c], strict=False) for c in frame.columns if c in types])
            declared = {c: list(dtype.categories) for c, dtype in frame.schema.items() if isinstance(dtype, pl.Enum)}
            held = {c: self._like.lazy.select(c).unique().collect(backend="polars")[c].to_list() for c in declared}
            frame = frame.with_columns(_shown_levels(frame[c], levels, held[c]) for c, levels in declared.items())
        made = give_back({c: frame[c] for c in frame.columns}, self._like, keep_index=False)
        if self._library == "pandas":
            made = _like_pandas(made, self._like.native)
        return made


def _shown_levels(column: pl.Series, declared: Iterable[str], held: Iterable[str]) -> pl.Series:
    """A column of declared levels without those that real people have and none of its records."""
    hidden = set(held) - set(column.drop_nulls().unique())
    return column.cast(pl.Enum([level for level in declared if level not in hidden]))


def _like_pandas(made: pd.DataFrame, native: pd.DataFrame) -> pd.DataFrame:
    """Column types of the caller's pandas frame (categories with their order, integers, dates)."""
    names = {str(c): c for c in native.columns}
    for column in made.columns:
        wanted = native[names[column]].dtype
        if made[column].dtype != wanted and not (str(wanted).startswith(("int", "uint")) and made[column].isna().any()):
            if str(wanted) == "category" and wanted.categories.dtype.kind in "iuf":
                made[column] = made[column].astype(float)
            made[column] = made[column].astype(wanted)
        if str(wanted) == "category":
            hidden = set(native[names[column]].dropna().unique()) - set(made[column].dropna().unique())
            left = [v for v in wanted.categories if v not in hidden]  # remove_categories of pandas 2 sorts them
            made[column] = made[column].cat.set_categories(left)
    made.columns = [names[c] for c in made.columns]
    return made


@door
def load(path: str | Path) -> Synthesiser:
    """Read a synthesiser written by ``save``, whichever it is.

    Parameters
    ----------
    path : str or Path
        The file. It holds plain arrays and JSON; nothing in it can run.

    Returns
    -------
    Synthesiser
        Fitted, ready to sample.

    Raises
    ------
    InputError
        When the file is missing, damaged, no synthesiser, or of another version.
    """
    path = Path(path)
    if not is_file(path):
        raise InputError(f"file not found: {as_told(path)}")
    try:
        with zipfile.ZipFile(path) as archive:
            header = json.loads(archive.read("model.json"))
            arrays = {
                name[:-4]: np.lib.format.read_array(BytesIO(archive.read(name)), allow_pickle=False)
                for name in archive.namelist()
                if name.endswith(".npy")
            }
    except (zipfile.BadZipFile, zlib.error, KeyError, ValueError, EOFError, RecursionError) as problem:
        raise InputError(
            f"{path} is no glasshouse synthesiser file, or it is cut off; fit and save it again"
        ) from problem
    if header.get("format") != FORMAT or header.get("class") not in MODELS:
        raise InputError(f"{path} was written by another version of glasshouse; fit and save it again")
    made: Synthesiser = getattr(import_module(MODELS[header["class"]]), header["class"])._from_state(header, arrays)
    made._library = str(header.get("library", "polars"))
    return made
