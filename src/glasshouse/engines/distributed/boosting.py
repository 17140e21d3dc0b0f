"""Gradient boosting on executors: what xgboost.spark does, on the coded columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from glasshouse.engines.distributed import jobs

NOTE = (
    "fitted by xgboost.spark on {workers} of the executors' cores: histograms of parts are added up, so figures may "
    "differ in the last digits from a fit on one machine"
)


def boosted(
    matrix: np.ndarray,
    y: np.ndarray,
    n_classes: int | None,
    rounds: int,
    parameters: Mapping[str, object],
    session: Any,
) -> tuple[Any, str]:
    """A booster fitted by the executors of a session.

    Parameters
    ----------
    matrix, y : array
        Coded columns and target.
    n_classes : int or None
        Classes, or None for a numeric target.
    rounds : int
        Trees, per class where there are several.
    parameters : mapping
        Parameters of the library.
    session : SparkSession
        Whose executors fit.

    Returns
    -------
    (booster, note) : tuple of xgboost.Booster and str
    """
    import pyarrow as pa
    from xgboost.spark import SparkXGBClassifier, SparkXGBRegressor

    workers = jobs.cores(session)
    ends = np.arange(len(matrix) + 1, dtype=np.int32) * matrix.shape[1]
    rows = pa.ListArray.from_arrays(ends, pa.array(np.asarray(matrix, np.float32).reshape(-1)))
    frame = session.createDataFrame(pa.table({"keys": rows, "target": np.asarray(y, np.float64)}))
    learner = SparkXGBRegressor if n_classes is None else SparkXGBClassifier
    made = learner(
        features_col="keys", label_col="target", num_workers=workers, n_estimators=rounds, verbosity=0, **parameters
    )
    booster = made.fit(frame.repartition(workers)).get_booster()
    booster.feature_names = None
    return booster, NOTE.format(workers=workers)
