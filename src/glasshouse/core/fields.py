"""What a result holds: plain figures, set once and never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np

from glasshouse.core.evidence import ColumnReading, Counts, Exposure, Null, behind
from glasshouse.core.intervals import Interval, finite_ends, on_excess_scale
from glasshouse.core.limits import Limit
from glasshouse.core.outside import THRESHOLD
from glasshouse.core.plain import Content, plain
from glasshouse.core.records import Frame, Records, RecordSource

if TYPE_CHECKING:
    from glasshouse.core.measure import Measure
    from glasshouse.core.result import Result

Status: TypeAlias = Literal["ok", "not_applicable", "failed"]
Over: TypeAlias = Literal["", "worst", "mean", "together"]  # what a figure of several releases is
Details: TypeAlias = Content  # figures for showing only: no room decides anything from them


class Fields:
    """The fields of a result; :class:`Result` says what each of them is."""

    def __init__(
        self,
        value: float | int | None = None,
        *,
        baseline: float | None = None,
        excess: float | None = None,
        excess_interval: Interval | None = None,
        holdout: float | None = None,
        interval: Interval | None = None,
        difference: float | None = None,
        difference_interval: Interval | None = None,
        p_value: float | None = None,
        p_chance: float | None = None,
        counts: Counts | None = None,
        operating: Sequence[Counts] = (),
        exposure: Exposure | None = None,
        null: Null | None = None,
        utility: float | None = None,
        columns: Mapping[str, ColumnReading] | None = None,
        figures: Mapping[str, float | None] | None = None,
        of: float | None = None,
        of_holdout: float | None = None,
        details: Mapping[str, Any] | None = None,
        sentence: str = "",
        warnings: Sequence[str] = (),
        records: Records | None = None,
        holdout_records: Records | None = None,
        flag: str | None = None,
        rank: str | None = None,
        table: Sequence[Mapping[str, Any]] | None = None,
        plot_data: Mapping[str, Any] | None = None,
        status: Status = "ok",
        reason: str | None = None,
        needs: str | None = None,
        settings: Mapping[str, Any] | None = None,
        replicates: Sequence[Result] = (),
        over: Over = "",
    ) -> None:
        value = plain(value)
        if status == "ok" and value is None:
            status, reason = "not_applicable", reason or "the figure is undefined for these data"
        if excess is None and value is not None and baseline is not None and baseline < 1:
            excess = (value - baseline) / (1 - baseline)
            if excess_interval is None and interval is not None:
                excess_interval = on_excess_scale(interval, baseline)
        asked = (None if counts is None else counts.attempts, None if exposure is None else exposure.members)
        strangers = (
            None if counts is None else counts.control_attempts,
            None if exposure is None else exposure.controls,
        )
        self._set(
            name="",
            status=status,
            reason=reason,
            needs=needs,
            value=value if status == "ok" else None,
            baseline=plain(baseline),
            excess=plain(excess),
            excess_interval=finite_ends(excess_interval),
            holdout=plain(holdout),
            interval=None if interval is None else (plain(interval[0]), plain(interval[1])),
            difference=plain(difference),
            difference_interval=finite_ends(difference_interval),
            p_value=plain(p_value),
            p_chance=plain(p_chance),
            counts=counts,
            operating=tuple(operating),
            exposure=exposure or (None if counts is None else counts.exposure()),
            null=null,
            utility=plain(utility),
            columns=dict(columns or {}),
            figures={name: float(v) for name, v in (figures or {}).items() if v is not None},
            of=behind(of, *asked),
            of_holdout=behind(of_holdout, *strangers),
            details=plain(dict(details or {})),
            sentence=sentence or (f"Not assessed: {reason}" if status != "ok" else ""),
            warnings=list(warnings),
            settings=plain(dict(settings or {})),
            replicates=list(replicates),
            over=over,
            release=None,
            plot_data=dict(plot_data or {}),
            measure=None,
            elapsed=None,
            flag=flag,
            _records=records,
            _strangers=holdout_records,
            _record_frame=None,
            _arrays={},
            _rank=rank or flag,
            _table=None if table is None else [dict(row) for row in table],
            _limits=None,
            _judged=None,
            _source=None,
            _record_table="original",
            _threshold=THRESHOLD,
        )

    name: str
    release: str | int | None
    status: Status
    reason: str | None
    needs: str | None
    value: float | int | None
    baseline: float | None
    excess: float | None
    excess_interval: Interval | None
    holdout: float | None
    interval: Interval | None
    difference: float | None
    difference_interval: Interval | None
    p_value: float | None
    p_chance: float | None
    counts: Counts | None
    operating: tuple[Counts, ...]
    exposure: Exposure | None
    null: Null | None
    utility: float | None
    columns: dict[str, ColumnReading]
    figures: dict[str, float]
    of: float | None
    of_holdout: float | None
    details: Details
    sentence: str
    warnings: list[str]
    settings: Content
    replicates: list[Result]
    over: Over
    plot_data: Content
    measure: Measure | None
    elapsed: float | None
    flag: str | None
    _records: Records | None
    _strangers: Records | None
    _record_frame: Frame
    _arrays: dict[str, dict[str, np.ndarray]]
    _rank: str | None
    _table: list[Content] | None
    _limits: tuple[Limit, ...] | None
    _judged: str | None
    _source: RecordSource | None
    _record_table: str
    _threshold: int

    def _set(self, **fields: Any) -> None:
        for key, field in fields.items():
            object.__setattr__(self, key, field)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Result does not change; {name!r} cannot be set")

    def _copy(self, **changes: Any) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._set(**changes)
        return twin
