"""RUMap: releases on a map of risk and utility, and how to read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from glasshouse.core.errors import InputError, listed
from glasshouse.core.intervals import Interval
from glasshouse.core.options import door
from glasshouse.core.plain import Content, to_json
from glasshouse.core.printing import card
from glasshouse.core.result import Frame, Result
from glasshouse.core.streams import RandomState
from glasshouse.core.words import visible
from glasshouse.core.writing import delivered
from glasshouse.data.pair import Pair
from glasshouse.judgement.rumap import consistency as rumap_consistency
from glasshouse.judgement.rumap import order as rumap_order
from glasshouse.judgement.rumap import words as rumap_words
from glasshouse.judgement.rumap.placement import Placement
from glasshouse.judgement.rumap.recommendation import copy_alarms, recommend
from glasshouse.judgement.rumap.scales import SCALES, Anchor

if TYPE_CHECKING:
    from glasshouse.judgement.verdict.assessment import Assessment

Score: TypeAlias = float  # NaN: not measured


@door
class RUMap(Placement):
    """Releases on a map of risk and utility, each with its verdict.

    ``verdicts`` says what ``gh.assess`` says about each release, ``recommended`` which one to take, if any;
    ``assessments`` holds what is behind them. ``raw`` and ``scaled`` hold one row per release and one column per
    measure; ``scores`` the composites with intervals and marks; ``pareto`` the names of the releases that no other one
    beats. ``anchors`` and ``ghosts`` are the fixed points of the scales, ``left_out`` the measures that say nothing
    here, and why. ``gh.compare`` makes one, and ``RUMap.from_scores`` one of figures computed elsewhere.

    Parameters
    ----------
    releases : sequence of str
        Their names.
    risk, utility : mapping of str to sequence
        One value per release and measure; None where a measure gave none.
    scale : {"anchored", "minmax"}
        Fixed points of the scales: ghost releases, or the candidates themselves.
    composite : {"family", "worst", "mean"}
        How measures become one figure.
    weights : mapping of str to float, optional
        Factors for measures or families.
    families, better : mapping of str to str, optional
        Family and better side of each measure.
    anchors : mapping of str to Anchor or sequence of Anchor, optional
        Values at 0 and 1 of each scale, for all releases or for each.
    spreads : mapping, optional
        Interval of each value.
    ghost_values : mapping, optional
        Values of the ghost releases.
    left_out : mapping of str to str, optional
        Measures that say nothing on these data, and why.
    kinds : mapping of str to str, optional
        Whether a measure's figure is a "leak" (members minus strangers) or its "value".
    assessments : mapping of str to Assessment, optional
        The assessment of each release.
    replicates : mapping of str to float, optional
        How often each release is on the front when one replicate of each is drawn.
    random_state : int, Generator or None
        Seed of the sensitivity analysis.
    source : Pair, optional
        The pair the releases were measured on.
    """

    name, status, reason = "rumap", "ok", None

    def __init__(
        self,
        releases: Sequence[str | int],
        risk: Mapping[str, Sequence[Score | None]],
        utility: Mapping[str, Sequence[Score | None]],
        *,
        scale: str,
        composite: str,
        weights: Mapping[str, float] | None = None,
        families: Mapping[str, str] | None = None,
        better: Mapping[str, str] | None = None,
        anchors: Mapping[str, Anchor | Sequence[Anchor]] | None = None,
        spreads: Mapping[str, Sequence[Interval | None]] | None = None,
        ghost_values: Mapping[str, Mapping[str, float | None]] | None = None,
        left_out: Mapping[str, str] | None = None,
        kinds: Mapping[str, str] | None = None,
        assessments: Mapping[str, Assessment] | None = None,
        replicates: Mapping[str, float] | None = None,
        random_state: RandomState = 0,
        source: Pair | None = None,
    ) -> None:
        super().__init__(
            releases,
            risk,
            utility,
            scale=scale,
            composite=composite,
            weights=weights,
            families=families,
            better=better,
            anchors=anchors,
            spreads=spreads,
            ghost_values=ghost_values,
        )
        self.left_out, self.kinds = dict(left_out or {}), dict(kinds or {})
        self.assessments = dict(assessments or {})
        self.alarms = copy_alarms(self.assessments)
        self._source, self._random_state = source, random_state
        self._replicates = dict(replicates or {})

    @classmethod
    def from_scores(
        cls,
        risk: Mapping[str, Sequence[Score | None]],
        utility: Mapping[str, Sequence[Score | None]],
        releases: Sequence[str | int] | None = None,
        *,
        scale: str = "minmax",
        composite: str | None = None,
        weights: Mapping[str, float] | None = None,
        families: Mapping[str, str] | None = None,
        better: Mapping[str, str] | None = None,
        anchors: Mapping[str, tuple[float, float]] | None = None,
        random_state: RandomState = 0,
    ) -> RUMap:
        """A map of figures computed elsewhere.

        Parameters
        ----------
        risk, utility : mapping of str to sequence
            Lists with one value per release; higher risk is worse, higher utility is better.
        releases : sequence of str, optional
            Names of the releases.
        scale : {"minmax", "anchored"}
            "minmax" with ``composite="mean"`` (the defaults here) is riskutility's map; "anchored" takes ``anchors``.
        composite : {"mean", "family", "worst"}, optional
            How measures become one figure.
        weights : mapping of str to float, optional
            Factors for measures or families.
        families : mapping of str to str, optional
            Family of each measure.
        better : mapping of str to str, optional
            ``{"k": "higher"}`` turns a measure round.
        anchors : mapping of str to tuple, optional
            ``{measure: (value at 0, value at 1)}``.
        random_state : int, Generator or None
            Seed of the sensitivity analysis.

        Returns
        -------
        RUMap
            The map.

        Examples
        --------
        >>> import glasshouse as gh
        >>> ru = gh.RUMap.from_scores(risk={"disco": [0.1, 0.4]}, utility={"pmse": [0.5, 0.9]}, releases=["A", "B"])
        >>> ru.pareto
        ['A', 'B']
        """
        size = len(next(iter([*risk.values(), *utility.values()]), ()))
        names = list(releases) if releases is not None else [f"release {i + 1}" for i in range(size)]
        if scale not in SCALES:
            raise InputError(f"scale={scale!r} is not known; use one of {listed(SCALES)}")
        given = {**dict.fromkeys(risk, "lower"), **dict.fromkeys(utility, "higher"), **(better or {})}
        made = {}
        if scale == "anchored":
            lacking = [n for n in given if n not in (anchors or {})]
            if lacking:
                raise InputError(
                    f"scale='anchored' needs anchors={{measure: (value at 0, value at 1)}} for {lacking[0]!r}"
                )
            made = {n: Anchor(float(a), float(b), "given") for n, (a, b) in (anchors or {}).items()}
        return cls(
            names,
            {k: [rumap_order.known_number(v) for v in vs] for k, vs in risk.items()},
            {k: [rumap_order.known_number(v) for v in vs] for k, vs in utility.items()},
            scale=scale,
            composite=composite or ("mean" if scale == "minmax" else "family"),
            weights=weights,
            families=families,
            better=given,
            anchors=made,
            random_state=random_state,
        )

    # -- verdicts ----------------------------------------------------------------------------------------------------

    @property
    def verdicts(self) -> dict[str, str]:
        """ "pass", "warn", "fail" or "incomplete" by release, as ``gh.assess`` gives it; empty for figures computed
        elsewhere."""
        return {release: found.verdict for release, found in self.assessments.items()}

    @property
    def recommended(self) -> str | None:
        """The release to take, as :meth:`recommend` finds it; never one that fails or rings a copy alarm."""
        name: str | None = recommend(self)["release"]
        return name

    @property
    def results(self) -> dict[str, dict[str, Result]]:
        """The results behind the figures and the verdicts, by release and measure."""
        return {release: found.results for release, found in self.assessments.items()}

    # -- reading -----------------------------------------------------------------------------------------------------

    @property
    def scores(self) -> Frame:
        """One row per release: verdict, composites, intervals, front, who beats it, whom it ties with, copy alarms."""
        return self._frame(rumap_words.score_columns(self))

    @property
    def raw(self) -> Frame:
        """One row per release, one column per measure: members minus strangers where there is a holdout (``kinds`` says
        so), else the measure's value."""
        return self._frame(self._by_measure(self._raw))

    @property
    def scaled(self) -> Frame:
        """One row per release, one column per measure on 0 to 1: 1 is most risk, most utility."""
        return self._frame(self._by_measure(self._scaled))

    normalized = scaled

    @property
    def alpha(self) -> dict[str, float | None]:
        """Cronbach's alpha of each side; on the min-max scale constant measures stay in, as in riskutility."""
        return {s: rumap_consistency.cronbach_alpha(self._scaled[s], self.scale != "minmax") for s in self._sides}

    @property
    def omega(self) -> dict[str, float | None]:
        """McDonald's omega of each side; None with too few releases or measures."""
        found = {s: rumap_consistency.mcdonald_omega(self._scaled[s]) for s in self._sides}
        return {s: None if f is None else float(f["omega"]) for s, f in found.items()}

    def sensitivity(self) -> Frame:
        """How often each release stays on the front under other weights, without single measures, and over
        replicates.

        Returns
        -------
        frame
            One row per release, in the user's own library.
        """
        weights = {s: np.array(list(self.measure_weights[s].values())) for s in self._sides}
        found = rumap_order.sensitivity(
            self._scaled["risk"],
            self._scaled["utility"],
            weights["risk"],
            weights["utility"],
            self._complete,
            self._random_state,
        )
        columns: Content = {
            "release": self.releases,
            **{k: [rumap_order.known_number(x) for x in v] for k, v in found.items()},
        }
        columns["front_share_replicates"] = [self._replicates.get(r) for r in self.releases]
        return self._frame(columns)

    def recommend(self, min_utility: float = 0.5, max_risk: float | None = None) -> Content:
        """The release with the lowest risk among those useful enough (and safe enough), and the reason.

        A release that fails, that rings a copy alarm or about whose leaks nothing is known is never recommended. Of
        those whose risk cannot be told apart the most useful one is taken.

        Parameters
        ----------
        min_utility : float
            The least utility a release must have.
        max_risk : float, optional
            The most risk it may have.

        Returns
        -------
        dict
            ``release``, None when there is none, and ``reason``.
        """
        return recommend(self, min_utility, max_risk)

    def text(self, min_utility: float = 0.5, max_risk: float | None = None) -> str:
        """The map in words: the front, why others are dominated, ties, copies, what could not be measured.

        Parameters
        ----------
        min_utility, max_risk : float
            As for :meth:`recommend`.

        Returns
        -------
        str
            One line per release, and what holds for all of them.
        """
        return rumap_words.text(self, min_utility, max_risk)

    summary = text

    def plot(self, kind: str | None = None, **options: Any) -> Any:
        """Draw the map.

        Parameters
        ----------
        kind : {"map", "heatmap", "dots", "parallel", "radial", "biplot", "blocks"}, optional
            Which picture; the map by default.
        **options
            Passed to the chart.

        Returns
        -------
        altair.Chart
            The picture.
        """
        from glasshouse.core.charts import draw

        return draw(self, kind, **options)

    @property
    def source(self) -> Pair | None:
        """The pair the releases were measured on; None for a map of figures computed elsewhere."""
        return self._source

    def content(self, audience: str = "internal") -> Content:
        """Everything a reader may see, as plain data with a versioned schema; what every output draws.

        Parameters
        ----------
        audience : {"internal", "external"}
            For whom.

        Returns
        -------
        dict
            Described in ``docs/content.md``.
        """
        from glasshouse.judgement.rumap.content import content

        return content(self, audience)

    def to_dict(self, audience: str = "internal") -> Content:
        """The content: no record and no data value in it.

        Parameters
        ----------
        audience : {"internal", "external"}
            For whom.

        Returns
        -------
        dict
            Plain data.
        """
        return self.content(audience)

    def to_json(self, audience: str = "internal") -> str:
        """The content as deterministic JSON text.

        Parameters
        ----------
        audience : {"internal", "external"}
            For whom.

        Returns
        -------
        str
            JSON.
        """
        return to_json(self.content(audience))

    def to_frame(self) -> Frame:
        """The map as a table: :attr:`scores`.

        Returns
        -------
        frame
            One row per release, in the user's own library.
        """
        return self.scores

    def to_html(self, path: str | Path | None = None, *, audience: str = "internal", mode: int | None = None) -> str:
        """One self-contained page with the map, and the figures behind it.

        Parameters
        ----------
        path : str or Path, optional
            Where to write it. A symbolic link is followed.
        audience : {"internal", "external"}
            For whom; an external report holds no original value, no record and no small count.
        mode : int, optional
            Permissions of the file, such as 0o640. Default: an existing file keeps its own, a new one is for its owner
            alone (600).

        Returns
        -------
        str
            The page.
        """
        # the room of pages lies to the right of this one
        page: str = import_module("glasshouse.show.report.comparison").render(self, audience)
        return delivered(page, path, mode)

    def __repr__(self) -> str:
        return visible(rumap_words.block(self))

    def _repr_html_(self) -> str:
        return card(self)

    def _by_measure(self, tables: Mapping[str, np.ndarray]) -> Content:
        columns: Content = {"release": list(self.releases)}
        for side in self._sides:
            for k, name in enumerate(self._sides[side]):
                columns[name] = [rumap_order.known_number(v) for v in tables[side][:, k]]
        return columns

    def _frame(self, columns: Content) -> Frame:
        if self._source is not None:
            return self._source.plain_frame(columns)
        import polars as pl

        return pl.DataFrame(columns, strict=False)
