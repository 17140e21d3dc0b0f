"""How much a Parquet file says it holds, read without the library that wrote it."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from glasshouse.data.files import read
from glasshouse.data.files.parquet_size import NoFooter, unpacked_size

TABLES = {
    "numbers and text": pl.DataFrame({"a": np.arange(5_000), "b": ["x"] * 5_000, "c": [None, True] * 2_500}),
    "lists": pl.DataFrame({"l": [[1, 2], [], None], "s": [{"x": 1, "y": "ä"}] * 3}),
    "one value": pl.DataFrame({"a": [1]}),
    "no record": pl.DataFrame({"a": pl.Series([], dtype=pl.Int64)}),
    "no column": pl.DataFrame(),
    "many columns": pl.DataFrame({f"c{i}": [i, None] for i in range(300)}),
}


def as_told_by_pyarrow(path: Path) -> int:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed (extra: arrow)")
    told = parquet.read_metadata(path)
    return sum(told.row_group(i).total_byte_size for i in range(told.num_row_groups))


@pytest.mark.parametrize("name", TABLES)
def test_files_of_polars(name: str, tmp_path: Path) -> None:
    TABLES[name].write_parquet(tmp_path / "t.parquet", row_group_size=1_000)
    assert unpacked_size(tmp_path / "t.parquet") == as_told_by_pyarrow(tmp_path / "t.parquet")


@pytest.mark.parametrize("compression", ["snappy", "gzip", "none"])
@pytest.mark.parametrize("version", ["1.0", "2.6"])
def test_files_of_arrow(compression: str, version: str, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed (extra: arrow)")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"a": list(range(500)), "s": ["name"] * 500, "t": pa.array([0.5] * 500).dictionary_encode()})
    path = tmp_path / "t.parquet"
    parquet.write_table(table, path, row_group_size=20, compression=compression, version=version)
    assert unpacked_size(path) == as_told_by_pyarrow(path) > 0


def test_what_is_no_footer_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    TABLES["lists"].write_parquet(path)
    whole = path.read_bytes()
    size = int.from_bytes(whole[-8:-4], "little")
    for damaged in (b"", b"PAR1PAR1", whole[:-1], whole[: len(whole) // 2], whole[:-8] + b"\xff\xff\xff\x7fPAR1"):
        path.write_bytes(damaged)
        with pytest.raises(NoFooter):
            unpacked_size(path)
    rng = np.random.default_rng(0)
    for _ in range(300):  # any bytes in the place of the footer end, and with a number or a sentence
        path.write_bytes(whole[: -8 - size] + rng.bytes(size) + whole[-8:])
        with contextlib.suppress(NoFooter):
            assert unpacked_size(path) >= 0


def test_the_reader_says_what_is_wrong_with_a_file_whose_size_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1" + b"\x19" * 20 + b"PAR1")
    with pytest.raises(Exception, match="cut off or damaged"):
        read(path)
