"""Functions, library objects and files as synthesisers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from glasshouse.core.errors import InputError
from glasshouse.synthesis import Cart, FromCallable, FromFiles, FromLibrary, adapt

FRAME = pl.DataFrame({"a": list(range(30)), "b": ["x", "y", "z"] * 10})


class Library:
    """What the usual tabular libraries look like."""

    def fit(self, data: pd.DataFrame) -> None:
        assert isinstance(data, pd.DataFrame)
        self.data = data

    def sample(self, num_rows: int) -> pd.DataFrame:
        rows = np.random.randint(0, len(self.data), num_rows)  # noqa: NPY002
        return self.data.iloc[rows].reset_index(drop=True)


def test_function() -> None:
    def resample(original: pl.DataFrame, n: int = 10, random_state: int = 0) -> pl.DataFrame:
        return original.sample(n, with_replacement=True, seed=random_state)

    model = adapt(resample).fit(FRAME)
    assert isinstance(model, FromCallable)
    assert model.sample(12, random_state=1).equals(model.sample(12, random_state=1))
    plain = adapt(lambda original: original.head(5)).fit(FRAME)
    assert plain.sample().height == 5
    with pytest.raises(InputError, match="takes no number"):
        plain.sample(4)
    with pytest.raises(InputError, match="not fitted"):
        adapt(resample).sample()


@pytest.mark.parametrize("frame", [FRAME, FRAME.to_pandas()])
def test_library_object(frame: Any) -> None:
    model = adapt(Library()).fit(frame)
    assert isinstance(model, FromLibrary)
    one, two = model.sample(8, random_state=1), model.sample(8, random_state=1)
    assert type(one) is type(frame) and len(one) == 8
    assert one.equals(two)
    assert len(model.sample()) == 30


def test_files(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.csv" for i in range(2)]
    for i, path in enumerate(paths):
        FRAME.with_columns(pl.col("a") + i).write_csv(path)
    model = adapt(paths).fit(FRAME.to_pandas())
    assert isinstance(model, FromFiles)
    assert isinstance(model.sample(), pd.DataFrame)
    assert [int(r["a"].iloc[0]) for r in model.replicates(2)] == [0, 1]
    with pytest.raises(InputError, match="without n"):
        model.sample(3)
    with pytest.raises(InputError, match="files were given"):
        model.replicates(3)


def test_names_and_strangers() -> None:
    assert isinstance(adapt("cart"), Cart)
    model = Cart()
    assert adapt(model) is model
    with pytest.raises(InputError, match="is no synthesiser"):
        adapt(3)
