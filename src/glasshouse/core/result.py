"""Result: a figure that explains itself. Never a bare number, never a NaN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np

from glasshouse.core import printing
from glasshouse.core.errors import InputError, closest
from glasshouse.core.evidence import ColumnReading, Counts, Exposure, Null, behind
from glasshouse.core.forking import entering
from glasshouse.core.intervals import Interval, finite_ends, on_excess_scale
from glasshouse.core.limits import Limit, Outcome, judge, status_of
from glasshouse.core.outside import THRESHOLD, Gate, check_audience
from glasshouse.core.plain import Content, plain, to_json
from glasshouse.core.records import Frame as Frame
from glasshouse.core.records import Records, grouped
from glasshouse.core.records import RecordSource as RecordSource
from glasshouse.core.words import Verdict

if TYPE_CHECKING:
    from glasshouse.core.measure import Measure

Status: TypeAlias = Literal["ok", "not_applicable", "failed"]
Details: TypeAlias = Content  # figures for showing only: no room decides anything from them


class Result:
    """One measure on one pair: figures, evidence, records and a sentence.

    Attributes
    ----------
    value
        The headline on its natural scale; None unless ``status`` is "ok".
    baseline, excess, excess_interval
        What the attacker reaches without the release, (value - baseline) / (1 - baseline), and the interval of that.
    holdout
        The same figure for people never shown to the synthesiser; None without a holdout.
    interval
        Confidence interval of the value.
    difference, difference_interval, p_value
        Members minus people never in the data: the leak, its interval, and the p value of the test that exchanges
        them; None without a holdout.
    p_chance
        p value of the figure against luck; a property of the population, not of being in the data.
    counts, operating
        Counts of an attack, and the counts at its other operating points.
    exposure
        Members exposed beyond strangers, the unit all threats share; follows from the counts unless given. None without
        a holdout, and for figures that are no shares of people.
    null, utility
        The band of a perfect synthesiser and how the value compares; the figure on the common scale from 0 to 1.
    columns
        Readings of a measure that looks at columns one by one.
    figures
        Further figures that limits may look at, under the names the measure declares.
    of, of_holdout
        How many people (or records) stand behind ``value``, and behind ``holdout``: the denominator of a share, the
        smaller table of a comparison. Where a measure does not say, the attempts of its counts or the members of its
        exposure. None where nobody knows: then only the judgement is told outside.
    details
        Other named figures, for showing only.
    records
        One row per record, computed when asked for.
    needs
        The input that was missing where the measure does not apply: "holdout", "keys", "target".
    """

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
        flag: str | None = None,
        rank: str | None = None,
        table: Sequence[Mapping[str, Any]] | None = None,
        plot_data: Mapping[str, Any] | None = None,
        status: Status = "ok",
        reason: str | None = None,
        needs: str | None = None,
        settings: Mapping[str, Any] | None = None,
        replicates: Sequence[Result] = (),
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
            plot_data=dict(plot_data or {}),
            measure=None,
            elapsed=None,
            flag=flag,
            _records=records,
            _record_frame=None,
            _arrays=None,
            _rank=rank or flag,
            _table=None if table is None else [dict(row) for row in table],
            _limits=None,
            _judged=None,
            _source=None,
            _record_table="original",
            _threshold=THRESHOLD,
        )

    name: str
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
    plot_data: Content
    measure: Measure | None
    elapsed: float | None
    flag: str | None
    _records: Records | None
    _record_frame: Frame
    _arrays: dict[str, np.ndarray] | None
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

    # -- judgement ---------------------------------------------------------------------------------------------------

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The limits in force: those given to :meth:`with_limits`, else those the measure declares."""
        if self._limits is not None:
            return self._limits
        return () if self.measure is None else self.measure.limits

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Every limit in force applied to this result."""
        return judge(self, self.limits) if self.status == "ok" else ()

    @property
    def verdict(self) -> Verdict | None:
        """ "pass", "warn" or "fail" by the limits in force; None without a limit or without a figure for one.

        In an assessment the tests of a threat are judged together, and a result has the verdict it has there.
        """
        status = self._judged or status_of(self.outcomes)
        return status if status in ("pass", "warn", "fail") else None  # type: ignore[return-value]  # mypy narrows no `in`

    def with_limits(self, *limits: Limit) -> Self:
        """The same result judged by other limits.

        Parameters
        ----------
        *limits : Limit
            The limits in force from now on.

        Returns
        -------
        Result
            A copy; a result does not change.
        """
        better, declared = ("lower", ()) if self.measure is None else (self.measure.better, self.measure.limits)
        return self._copy(_limits=tuple(limit.resolved(better, declared) for limit in limits), _judged=None)

    def guarded(self, threshold: int) -> Self:
        """The same result that tells no count below ``threshold`` outside.

        Parameters
        ----------
        threshold : int
            The ``min_count`` of the policy it was assessed under.

        Returns
        -------
        Result
            A copy; a result does not change.
        """
        return self._copy(_threshold=threshold)

    def judged_together(self, status: str) -> Self:
        """The same result with the verdict it has among the other tests of an assessment.

        Parameters
        ----------
        status : {"pass", "warn", "fail"}
            What the tests together say of it; anything else leaves it without a verdict.

        Returns
        -------
        Result
            A copy; a result does not change.
        """
        return self._copy(_judged=status)

    def _copy(self, **changes: Any) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._set(**changes)
        return twin

    # -- records -----------------------------------------------------------------------------------------------------

    @property
    def records(self) -> Frame:
        """One row per record, its order kept, in the user's own frame library; None for measures without records."""
        if self._records is None or self._source is None:
            return None
        if self._record_frame is None:
            self._set(_record_frame=self._source.record_frame(self.record_arrays(), self._record_table))
        return self._record_frame

    def record_arrays(self) -> dict[str, np.ndarray]:
        """The records as plain arrays, for engines, charts and tests.

        Returns
        -------
        dict of str to ndarray
            One array per column, one entry per record.
        """
        if self._records is None:
            raise InputError(f"{self.name} has no figures per record")
        entering()
        if self._arrays is None:
            self._set(_arrays=dict(self._records()))
        return self._arrays or {}

    def flags(self) -> tuple[np.ndarray, np.ndarray]:
        """The record column behind the headline.

        Returns
        -------
        tuple of ndarray
            The column as numbers, and which records have one.
        """
        self._own_records()
        column = self.record_arrays()[str(self.flag)]
        known = ~np.ma.getmaskarray(column)
        numbers = np.asarray(np.ma.filled(column, 0), float)
        return numbers, known & np.isfinite(numbers)

    def by(self, column: str, confidence: float = 0.95, min_group: int = 10) -> Frame:
        """The figure inside each level of a column.

        Parameters
        ----------
        column : str
            Any column of the table the records belong to.
        confidence : float
            Of the intervals.
        min_group : int
            Groups with fewer records are marked small.

        Returns
        -------
        frame
            One row per level with n, value, low, high and small, in the user's own library.
        """
        flags, known = self.flags()
        source = self._own_records()
        labels, codes = source.group_labels(column, self._record_table)
        figures = grouped(flags[known], codes[known], len(labels), confidence, min_group)
        return source.plain_frame({column: labels, **figures})

    def _own_records(self) -> RecordSource:
        if self._records is None or self.flag is None or self._source is None:
            raise InputError(f"{self.name} has no figure per record, so it cannot be cut by subgroup or sorted")
        return self._source

    def top(self, n: int = 10) -> Frame:
        """The records most at risk.

        Parameters
        ----------
        n : int
            How many.

        Returns
        -------
        frame
            The records' figures with their position (``row``, counted from 0) in the table assessed.
        """
        if self._records is None or self._rank is None or self._source is None:
            raise InputError(f"{self.name} has no figure per record to sort by")
        arrays = self.record_arrays()
        ranked = np.asarray(np.ma.filled(np.ma.asarray(arrays[self._rank]).astype(float), -np.inf), float)
        order = np.argsort(-np.nan_to_num(ranked, nan=-np.inf), kind="stable")[:n]
        chosen = {"row": order, **{name: column[order] for name, column in arrays.items()}}
        return self._source.record_frame(chosen, self._record_table, order)

    # -- other forms -------------------------------------------------------------------------------------------------

    def plot(self, kind: str | None = None, **options: Any) -> Any:
        """Draw the result.

        Parameters
        ----------
        kind : str, optional
            One of several charts where a measure has them.
        **options
            Passed to the chart.

        Returns
        -------
        altair.Chart
            The picture.
        """
        from glasshouse.core.charts import draw

        return draw(self, kind, **options)

    def summary(self) -> str:
        """A short block of text.

        Returns
        -------
        str
            The sentence, the figures, the warnings.
        """
        return printing.block(self)

    def to_dict(self, audience: str = "internal") -> Content:
        """Everything but the records as plain objects.

        Parameters
        ----------
        audience : {"internal", "external"}
            "external" has the figures as :mod:`glasshouse.core.outside` lets them out, and no details.

        Returns
        -------
        dict
            Plain data.
        """
        check_audience(audience)
        if audience == "external":
            from glasshouse.core.told import tell

            told = tell(self, Gate(self._threshold))
            # a few people decide whether there was a figure to judge, and a test's own verdict is a count of them
            quiet = self.p_value is not None or (told.nothing and self.verdict == "pass")
            named = {"name": self.name, "status": told.status, "verdict": None if quiet else self.verdict}
            return {**named, **told.to_dict(), "settings": {"options": told.options}}
        content: Content = {
            "name": self.name,
            "status": self.status,
            "reason": self.reason,
            "value": self.value,
            "baseline": self.baseline,
            "excess": self.excess,
            "holdout": self.holdout,
            "interval": None if self.interval is None else list(self.interval),
            "difference": self.difference,
            "difference_interval": None if self.difference_interval is None else list(self.difference_interval),
            "p_value": self.p_value,
            "verdict": self.verdict,
            "sentence": self.sentence,
            "details": self.details,
            "warnings": self.warnings,
            "settings": self.settings,
        }
        if self.replicates:
            content["replicates"] = [r.to_dict(audience) for r in self.replicates]
        return content

    def to_json(self, audience: str = "internal") -> str:
        """``to_dict`` as deterministic JSON text without NaN.

        Parameters
        ----------
        audience : {"internal", "external"}
            For whom.

        Returns
        -------
        str
            JSON.
        """
        return to_json(self.to_dict(audience))

    def to_frame(self) -> Frame:
        """The figures as a table: the measure's own table, or one row per figure.

        Returns
        -------
        frame
            In the user's own library.
        """
        if self._table is not None:
            names = list(dict.fromkeys(name for row in self._table for name in row))
            columns: dict[str, list[Any]] = {name: [row.get(name) for row in self._table] for name in names}
        else:
            figures = {k: getattr(self, k) for k in ("value", "baseline", "excess", "holdout")}
            if self.interval is not None:
                figures |= {"low": self.interval[0], "high": self.interval[1]}
            figures |= {k: v for k, v in self.details.items() if isinstance(v, (int, float)) or v is None}
            columns = {
                "figure": list(figures),
                "value": [None if v is None else float(v) for v in figures.values()],
            }
        return columns if self._source is None else self._source.plain_frame(columns)

    def __str__(self) -> str:
        return printing.line(self)

    def __repr__(self) -> str:
        return printing.block(self)

    def _repr_html_(self) -> str:
        return printing.html(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.__dict__.get("details", {}):
            known = [k for k in (*dir(type(self)), *self.__dict__) if not k.startswith("_")]
            raise AttributeError(f"a Result has no attribute {name!r}{closest(name, known)}")
        raise AttributeError(f"{name!r} is one of the details: result.details[{name!r}]")
