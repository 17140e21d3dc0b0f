"""Columns that tables in the wild have and nobody tests with. Every value that stands for a person carries a mark."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

TEXT_MARK = "QZ"  # every planted text holds it
DIGITS = "7654"  # every planted number is written with these digits somewhere
YEAR = 1931  # every planted date is of this year
MARKS = (TEXT_MARK, DIGITS, str(YEAR))

NAMES = (
    "age", "sex", "income", "region", "o_", "h_", "n", "size", "count", "len", "m0", "u0", "value", "weight", "index",
    "literal", "released", "original", "holdout", "fk", "code", "row", "", " ", "a b", "x,y", "semi;colon", 'qu"ote',
    "it's", "new\nline", "tab\there", "esc\x1b[2Jape", "title\x1b]0;pwn\x07", "bell\x07", "\x9b31m", "\u202etrap",
    "naïve", "年齢", "😀", "[T.x]", "a:b", "a|b", "{{ x }}", "<b>", "%s", "\\d", "*", "^.*$", "0", "-1", "id",
    "person_id", "c" * 300, "n_x", "__index__", "target", "predicted", "true_prob", "key", "keys", "level", "table",
)  # fmt: skip

Maker = Callable[[np.random.Generator, int], Any]


def _pick(rng: np.random.Generator, n: int, choices: Sequence[Any], holes: float = 0.0) -> list[Any]:
    picked = [choices[i] for i in rng.integers(0, len(choices), n)]
    return [None if holes and rng.random() < holes else value for value in picked]


def _numbers(rng: np.random.Generator, n: int, scale: float, holes: float = 0.0, spread: int = 10**6) -> list[Any]:
    """Different numbers, each beginning with the planted digits."""
    return _pick(rng, n, [scale * float(f"{DIGITS}{i:06d}") for i in rng.integers(0, spread, max(n, 1))], holes)


def _whole(rng: np.random.Generator, n: int, base: int = 76_540_000, spread: int = 1000) -> list[int]:
    return [base + int(i) for i in rng.integers(0, spread, n)]


LABELS = [f"{TEXT_MARK}{name}" for name in ("anna", "bert", "kuru", "Zoë", "astronaut", "none")]
ODD = ["", " ", f" {TEXT_MARK}pad ", f"{TEXT_MARK}\nline", f"{TEXT_MARK}\x1b[31m", f"{TEXT_MARK}\u202e", "nan", "None",
       "null", "NA", "inf", "-1", "0", "1e999", "true", f"{TEXT_MARK}\x00nul", f"{TEXT_MARK}😀", "x" * 999]  # fmt: skip


def _days(rng: np.random.Generator, n: int) -> list[dt.date]:
    return [dt.date(YEAR, 1, 1) + dt.timedelta(days=int(i)) for i in rng.integers(0, 365, n)]


def _times(rng: np.random.Generator, n: int) -> list[dt.datetime]:
    return [dt.datetime(YEAR, 2, 3) + dt.timedelta(hours=int(i)) for i in rng.integers(0, 5000, n)]


def _series(values: Sequence[Any], dtype: Any = None) -> pl.Series:
    return pl.Series("x", values, dtype=dtype, strict=False)


def _special_floats(rng: np.random.Generator, n: int) -> pl.Series:
    return _series(_pick(rng, n, [np.nan, np.inf, -np.inf, 0.0, -0.0, 7.654e300, -7.654e300, 7.654e-300, None]))


def _runs(rng: np.random.Generator, n: int) -> pl.Series:
    return _series([76_540_000 + i for i in range(n)])


MAKERS: dict[str, Maker] = {
    "labels": lambda r, n: _series(_pick(r, n, LABELS[:3]), pl.String),
    "labels with holes": lambda r, n: _series(_pick(r, n, LABELS, 0.3), pl.String),
    "odd labels": lambda r, n: _series(_pick(r, n, [*ODD, *LABELS], 0.1), pl.String),
    "empty text": lambda r, n: _series([""] * n, pl.String),
    "names": lambda r, n: _series([f"{TEXT_MARK}{i}" for i in r.permutation(10**4)[:n]], pl.String),
    "numbers as text": lambda r, n: _series([str(v) for v in _whole(r, n)], pl.String),
    "nearly numbers": lambda r, n: _series(_pick(r, n, ["7654.5", "7654", f"{TEXT_MARK}x", "1e999", ""]), pl.String),
    "dates as text": lambda r, n: _series([str(v) for v in _days(r, n)], pl.String),
    "nearly dates": lambda r, n: _series(
        _pick(r, n, [f"{YEAR}-02-03", f"{YEAR}-13-40", f"{TEXT_MARK}", f"{YEAR}-02-03T10:00:00"]), pl.String
    ),
    "booleans as text": lambda r, n: _series(_pick(r, n, ["yes", "no", "TRUE", "f"]), pl.String),
    "constant text": lambda r, n: _series([f"{TEXT_MARK}same"] * n, pl.String),
    "categorical": lambda r, n: _series(_pick(r, n, LABELS, 0.1), pl.Categorical),
    "enum": lambda r, n: _series(_pick(r, n, LABELS[:3], 0.1), pl.Enum(LABELS)),
    "codes": lambda r, n: _series(r.integers(0, 4, n)),
    "whole": lambda r, n: _series(_whole(r, n)),
    "running number": _runs,
    "small int": lambda r, n: _series(_pick(r, n, [-128, 127, 0, None]), pl.Int8),
    "beyond 2^63": lambda r, n: _series(_pick(r, n, [2**63 + 7654, 2**64 - 7654, 7654]), pl.UInt64),
    "int128": lambda r, n: _series(_pick(r, n, [7654 * 10**25, -7654 * 10**25, 7654]), pl.Int128),
    "edge ints": lambda r, n: _series(_pick(r, n, [2**63 - 1, -(2**63), 7654, None]), pl.Int64),
    "floats": lambda r, n: _series(_numbers(r, n, 0.001, 0.05)),
    "few floats": lambda r, n: _series(_numbers(r, n, 1.0, spread=3)),
    "huge": lambda r, n: _series(_numbers(r, n, 1e290)),
    "tiny": lambda r, n: _series(_numbers(r, n, 1e-310)),
    "special floats": _special_floats,
    "one infinity": lambda r, n: _series([np.inf, *_numbers(r, max(n - 1, 0), 1.0)][:n]),
    "all nan": lambda r, n: _series([float("nan")] * n),
    "float32": lambda r, n: _series(_numbers(r, n, 1e-6, 0.1), pl.Float32),
    "constant number": lambda r, n: _series([7654.25] * n),
    "zeros": lambda r, n: _series([0.0] * n),
    "missing": lambda r, n: _series([None] * n, pl.Null),
    "missing text": lambda r, n: _series([None] * n, pl.String),
    "missing number": lambda r, n: _series([None] * n, pl.Float64),
    "nearly missing": lambda r, n: _series([*[None] * max(n - 1, 0), 7654.5][:n], pl.Float64),
    "bool": lambda r, n: _series(_pick(r, n, [True, False, None]), pl.Boolean),
    "constant bool": lambda r, n: _series([True] * n),
    "date": lambda r, n: _series(_days(r, n)),
    "datetime": lambda r, n: _series(_times(r, n)),
    "datetime ns": lambda r, n: _series(_times(r, n)).cast(pl.Datetime("ns")),
    "datetime zone": lambda r, n: _series(_times(r, n)).cast(pl.Datetime("us", "Europe/Vienna")),
    "far dates": lambda r, n: _series(_pick(r, n, [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(YEAR, 2, 3)])),
    "time": lambda r, n: _series(_pick(r, n, [dt.time(7, 6, 54), dt.time(0, 0), None]), pl.Time),
    "duration": lambda r, n: _series(_pick(r, n, [dt.timedelta(days=7654), dt.timedelta(0), None]), pl.Duration("us")),
    "decimal": lambda r, n: _series(_pick(r, n, [decimal.Decimal("7654.25"), decimal.Decimal("1.5"), None])),
    "list": lambda r, n: _series(_pick(r, n, [[7654, 1], [], None]), pl.List(pl.Int64)),
    "struct": lambda r, n: _series(_pick(r, n, [{"a": 7654}, {"a": None}]), pl.Struct({"a": pl.Int64})),
    "binary": lambda r, n: _series(_pick(r, n, [b"QZ\xff", b""]), pl.Binary),
    "object": lambda r, n: pl.Series("x", _pick(r, n, [object, TEXT_MARK, 7654]), dtype=pl.Object),
}
USUAL = ("labels", "labels with holes", "codes", "floats", "few floats", "whole", "bool", "date", "categorical")


def _pandas_objects(rng: np.random.Generator, n: int) -> Any:
    made = np.empty(n, object)
    made[:] = _pick(rng, n, [TEXT_MARK, 7654, 7654.5, None, True, b"QZ", dt.date(YEAR, 2, 3)])
    return made


def pandas_columns(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Columns that only pandas can hold."""
    import pandas as pd

    return {
        "objects": pd.Series(_pandas_objects(rng, n), dtype=object),
        "period": pd.Series(pd.PeriodIndex([f"{YEAR}-02"] * n, freq="M")) if n else pd.Series([], dtype="period[M]"),
        "interval": pd.Series(pd.arrays.IntervalArray.from_tuples([(0.0, 7654.0)] * n, closed="left")),
        "complex": pd.Series(np.full(n, 7654 + 1j)),
        "number categories": pd.Series(pd.Categorical(_pick(rng, n, [7654.0, 1.5, None]))),
        "mixed categories": pd.Series(pd.Categorical(_pick(rng, n, [f"{TEXT_MARK}x", 7654, None]))),
        "nullable": pd.Series(_pick(rng, n, [7654, None]), dtype="Int64"),
        "timedelta": pd.Series(pd.to_timedelta(np.full(n, 7654), unit="D")),
        "big objects": pd.Series(_pick(rng, n, [2**70 + 7654, 7654]), dtype=object),
    }
