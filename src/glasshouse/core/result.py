"""Result: a figure that explains itself. Never a bare number, never a NaN."""

from __future__ import annotations

from typing import Any, Self

from glasshouse.core import printing
from glasshouse.core.errors import closest
from glasshouse.core.fields import Details as Details
from glasshouse.core.fields import Status as Status
from glasshouse.core.limits import Limit, Outcome, judge, status_of
from glasshouse.core.options import door
from glasshouse.core.outside import Gate, check_audience
from glasshouse.core.plain import Content, to_json
from glasshouse.core.recorded import Recorded
from glasshouse.core.records import Frame as Frame
from glasshouse.core.records import RecordSource as RecordSource
from glasshouse.core.words import Verdict


@door
class Result(Recorded):
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
    records, holdout_records
        One row per record, computed when asked for; and the same for people never in the data, where the measure has
        them.
    replicates, over
        One result per release where there are several, and what the value is of them: "worst", "mean", or "together"
        (an attacker who holds them all). ``mean`` and ``worst`` are the two others.
    release
        Of one of ``replicates``, which release it is about: its name, or its place counted from 0.
    needs
        The input that was missing where the measure does not apply: "holdout", "keys", "target".
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        door(cls)

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

    # -- several releases ---------------------------------------------------------------------------------------------

    @property
    def mean(self) -> float | None:
        """The mean over several releases; None for one release."""
        known = self._of_releases()
        return sum(known) / len(known) if known else None

    @property
    def worst(self) -> float | None:
        """The worst of several releases, by the value alone; None for one release."""
        higher = self.measure is not None and self.measure.better == "higher"
        known = self._of_releases()
        return (min(known) if higher else max(known)) if known else None

    def _of_releases(self) -> list[float]:
        return [float(r.value) for r in self.replicates if r.value is not None]

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
            named = {"name": self.name, "status": told.status, "verdict": told.judgement}
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
            content["over"] = self.over
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
        return printing.card(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.__dict__.get("details", {}):
            known = [k for k in (*dir(type(self)), *self.__dict__) if not k.startswith("_")]
            raise AttributeError(f"a Result has no attribute {name!r}{closest(name, known)}")
        raise AttributeError(f"{name!r} is one of the details: result.details[{name!r}]")
