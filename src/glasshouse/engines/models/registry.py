"""Attackers register themselves, as measures do: adding one touches the file that holds it and no other.

An attacker is a function of the :class:`Training` it learns from; its keyword-only parameters are its options::

    @attacker("cart", spoken="a decision tree")
    def cart(training: Training, *, minsplit: int = 20, cp: float = 0.01) -> CartModel: ...

It is found by walking this package when its name is first asked for.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from glasshouse.core.errors import InputError, closest, listed, names_known
from glasshouse.core.streams import RandomState
from glasshouse.engines.models.design import Design

TargetKind: TypeAlias = Literal["classes", "numbers"]
PACKAGE = "glasshouse.engines.models"


@dataclass(frozen=True)
class Training:
    """What an attacker learns from.

    ``y`` holds class codes 0..n_classes-1 with each of the two or more classes present, or numbers when ``n_classes``
    is None. ``asked`` are tables it will be asked about and nothing else, so that a model may answer them while it
    grows (see :class:`Streams`).
    """

    table: Design
    y: np.ndarray
    n_classes: int | None
    random_state: RandomState = None
    n_jobs: int | None = None
    asked: tuple[Design, ...] = ()


class FittedModel(Protocol):
    """What an attacker gives back: answers, the weight of each key (None: unknown), and sentences for the reader."""

    @property
    def notes(self) -> Sequence[str]: ...
    def predict(self, table: Design) -> np.ndarray: ...
    def importance(self) -> np.ndarray | None: ...


@runtime_checkable
class HasLeaves(Protocol):
    """A model made of trees."""

    def leaves(self, table: Design) -> np.ndarray: ...


@runtime_checkable
class Streams(Protocol):
    """A model that answered the tables of ``Training.asked`` while it grew (None: none were named)."""

    @property
    def streamed(self) -> list[np.ndarray] | None: ...


@runtime_checkable
class Estimator(Protocol):
    """Anything with the contract of a scikit-learn classifier or regressor."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> object: ...
    def predict(self, X: np.ndarray) -> np.ndarray: ...


Build: TypeAlias = Callable[..., FittedModel]
B = TypeVar("B", bound=Build)


@dataclass(frozen=True)
class Attacker:
    """A registered attacker.

    ``options`` gives the default of each option; with ``any_option`` it takes others, too (those of a library).
    """

    name: str
    spoken: str
    targets: frozenset[TargetKind]
    needs_seed: bool
    build: Build
    options: Mapping[str, object] = field(default_factory=dict)
    any_option: bool = False

    def check_options(self, options: Mapping[str, object]) -> None:
        """Refuse options the attacker does not have."""
        taken = f"; it takes {listed(self.options) if self.options else 'none'}"
        if not self.any_option:
            names_known(f"attacker {self.name!r}", options, self.options, "has no option {name}", taken)

    def check_target(self, kind: TargetKind) -> None:
        """Refuse a target the attacker cannot predict."""
        if kind not in self.targets:
            others = [other.name for other in attackers().values() if kind in other.targets]
            what = "categorical" if kind == "classes" else "numeric"
            raise InputError(
                f"attacker {self.name!r} predicts {' and '.join(sorted(self.targets))}, but the target is {what}; use "
                f"one of {listed(others)}"
            )


_registry: dict[str, Attacker] = {}


def attacker(
    name: str,
    *,
    spoken: str,
    targets: Sequence[TargetKind] = ("classes", "numbers"),
    needs_seed: bool = False,
) -> Callable[[B], B]:
    """Register the function below as an attacker.

    Parameters
    ----------
    name
        What the caller writes: ``attackers=("cart",)``.
    spoken
        The model in words, for sentences: "a decision tree".
    targets
        What it can predict.
    needs_seed
        Whether chance decides its answer; an attacker without chance is remembered on the pair for any seed.

    Returns
    -------
    callable
        A decorator that leaves the function as it is. The function takes a :class:`Training` and its options by
        keyword, and returns a :class:`FittedModel`.
    """

    def register(build: B) -> B:
        parameters = list(inspect.signature(build).parameters.values())[1:]
        named = [p for p in parameters if p.kind is not p.VAR_KEYWORD]
        known = _registry.get(name)
        if known is not None and known.build.__module__ != build.__module__:
            raise InputError(
                f"attacker {name!r} is registered by {known.build.__module__} and by {build.__module__}; give one "
                "of them another name"
            )
        _registry[name] = Attacker(
            name,
            spoken,
            frozenset(targets),
            needs_seed,
            build,
            {p.name: p.default for p in named},
            len(named) < len(parameters),
        )
        return build

    return register


def attackers() -> dict[str, Attacker]:
    """Every attacker that a module of this package (or one imported elsewhere) registers, by name.

    Returns
    -------
    dict
        Name to attacker.
    """
    for module in pkgutil.walk_packages(import_module(PACKAGE).__path__, f"{PACKAGE}."):
        import_module(module.name)
    return dict(_registry)


def attacker_named(name: str) -> Attacker:
    """The attacker of that name.

    Parameters
    ----------
    name
        A registered name.

    Returns
    -------
    Attacker
        Its registration.
    """
    if name not in _registry:
        names = attackers()
        if name not in names:
            raise InputError(
                f"unknown attacker {name!r}{closest(name, names)}; choose one of {listed(names)} or an estimator"
            )
    return _registry[name]


def spoken(name: str) -> str:
    """An attacker's model in words.

    Parameters
    ----------
    name
        A registered name, or the class name of an estimator.

    Returns
    -------
    str
        "a random forest", or "the model RidgeClassifier".
    """
    known = attackers().get(name)
    return f"the model {name}" if known is None else known.spoken
