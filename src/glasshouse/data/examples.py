"""Small example data, all of it simulated: something to try every measure on without anybody's data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

import polars as pl

from glasshouse.core.errors import InputError, closest, listed
from glasshouse.core.forking import entering
from glasshouse.core.options import door
from glasshouse.data.frames import Frame
from glasshouse.data.pair import Pair
from glasshouse.data.pandas_tables import to_pandas
from glasshouse.data.roles import Argument
from glasshouse.data.simulate import DISEASE, EDUCATION, GENDER, simulate_case_study

NAMES = ("health", "case_study", "appendix_b")
CASE_STUDY_SEED = 123


@door
@dataclass(frozen=True)
class Example:
    """An original, its release(s), a holdout, and who plays which role.

    Parameters
    ----------
    name, description : str
        What the example is called and what it shows.
    original, released : frame
        The simulated confidential table and its release.
    holdout : frame or None
        People never shown to the synthesiser.
    keys : tuple of str
        What the attacker knows.
    target : str
        What the attacker wants to learn.
    releases : mapping of str to frame, default empty
        Further releases by name.
    """

    name: str
    description: str
    original: Frame
    released: Frame
    holdout: Frame
    keys: tuple[str, ...]
    target: str
    releases: Mapping[str, Frame] = field(default_factory=dict)

    def pair(self, release: str | None = None, **changes: Argument) -> Pair:
        """The example as a Pair.

        Parameters
        ----------
        release : str, optional
            One of ``releases``. Default: ``released``.
        **changes
            Arguments of :class:`glasshouse.Pair` that replace those of the example.

        Returns
        -------
        Pair
        """
        if release is not None and release not in self.releases:
            raise InputError(
                f"{self.name} has no release {release!r}{closest(release, self.releases)}; it has: "
                f"{listed(self.releases)}"
            )
        released = self.released if release is None else self.releases[release]
        roles: dict[str, Argument] = {
            "keys": self.keys,
            "target": self.target,
            "holdout": self.holdout,
            "released": released,
            **changes,
        }
        return Pair(self.original, **roles)

    def __repr__(self) -> str:
        return f"Example {self.name!r}: {self.description}"


@door
def load(name: str = "health", library: str = "polars") -> Example:
    """A bundled example, all of it simulated.

    Parameters
    ----------
    name : str, default "health"
        "health": 1,000 people (RAPID paper, appendix A, kappa = 2), a CART release, a holdout of 500. "case_study": an
        income survey with three releases A (independent columns), B (bootstrap with noise), C (near copy).
        "appendix_b": the RAPID paper's worked example.
    library : str, default "polars"
        "polars" or "pandas".

    Returns
    -------
    Example
        With ``original``, ``released``, ``holdout``, ``keys``, ``target`` and ``pair()``.

    Raises
    ------
    InputError
        For an example or a library that does not exist.

    References
    ----------
    Templ, Thees & Müller (2026), RAPID, appendices A and B.

    Examples
    --------
    >>> import glasshouse as gh
    >>> example = gh.data.load("health")
    >>> example.original.height, example.released.height, example.holdout.height
    (1000, 1000, 500)
    >>> example.keys, example.target
    (('gender', 'age', 'education'), 'disease_status')
    >>> example.pair(keys=["gender", "education"]).keys
    ('gender', 'education')
    """
    if name not in NAMES:
        raise InputError(f"there is no example {name!r}{closest(name, NAMES)}; choose one of {listed(NAMES)}")
    if library not in ("polars", "pandas"):
        raise InputError(f"library={library!r} is unknown; choose 'polars' or 'pandas'")
    entering()
    example = {"health": _health, "case_study": _case_study, "appendix_b": _appendix_b}[name]()
    return example if library == "polars" else _as_pandas(example)


def _health() -> Example:
    levels = {"gender": GENDER, "education": EDUCATION, "disease_status": DISEASE}
    return Example(
        "health",
        "1,000 simulated people with a disease that depends on age, income and education; CART release; a "
        "holdout of 500",
        original=_bundled("health_original", levels),
        released=_bundled("health_released", levels),
        holdout=_bundled("health_holdout", levels),
        keys=("gender", "age", "education"),
        target="disease_status",
    )


def _case_study() -> Example:
    tables = simulate_case_study(1000, random_state=CASE_STUDY_SEED)
    return Example(
        "case_study",
        "1,000 simulated incomes with three releases: A independent columns, B bootstrap with noise, C near copy",
        tables["original"],
        tables["B"],
        tables["holdout"],
        keys=("age_group", "sex", "education", "region"),
        target="income",
        releases={name: tables[name] for name in ("A", "B", "C")},
    )


def _appendix_b() -> Example:
    return Example(
        "appendix_b",
        "the worked example of the RAPID paper, appendix B: 1,000 simulated people and a CART release",
        original=_bundled("appendix_b_original", {}),
        released=_bundled("appendix_b_released", {}),
        holdout=None,
        keys=("age", "education", "gender"),
        target="disease_status",
    )


def _bundled(name: str, levels: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    text = files("glasshouse.data").joinpath("bundled", f"{name}.csv").read_bytes()
    frame = pl.read_csv(text)
    return frame.with_columns(pl.col(c).cast(pl.Enum(list(order))) for c, order in levels.items())


def _as_pandas(example: Example) -> Example:
    def convert(frame: pl.DataFrame | None) -> Frame:
        return None if frame is None else to_pandas(frame)

    return Example(
        example.name,
        example.description,
        convert(example.original),
        convert(example.released),
        convert(example.holdout),
        example.keys,
        example.target,
        {name: convert(frame) for name, frame in example.releases.items()},
    )
