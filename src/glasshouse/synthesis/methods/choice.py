"""Which method makes which column, and whether it can."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from glasshouse.core.errors import InputError, closest, listed
from glasshouse.synthesis.methods.logistic import learn_classes, learn_polr
from glasshouse.synthesis.methods.nested import learn_nested
from glasshouse.synthesis.methods.normal import learn_norm, learn_normrank
from glasshouse.synthesis.methods.passive import is_passive
from glasshouse.synthesis.methods.task import Task
from glasshouse.synthesis.methods.trees import learn_cart, learn_ctree
from glasshouse.synthesis.steps import AnyStep, Donors
from glasshouse.synthesis.variables import Variable

BLOCKS = ("catall", "ipf")
NEW_VALUES = ("norm",)  # methods whose numbers are not numbers of the original


def _sample(task: Task) -> Donors:
    return Donors.of_all(task.y)


@dataclass(frozen=True)
class Method:
    """A method of one column: how it learns, what it is for, and what makes the category that says a number is missing.

    ``threads``: whether several may learn at once (the linear models set the BLAS threads of the whole process).
    """

    learn: Callable[[Task], AnyStep]
    suits: str = "any"  # "any", "number", "category", "two" categories, "ranks"
    of_kind: str | None = None  # None: the same method
    threads: bool = False


METHODS: Mapping[str, Method] = {
    "sample": Method(_sample, threads=True),
    "cart": Method(learn_cart, threads=True),
    "ctree": Method(learn_ctree, threads=True),
    "norm": Method(learn_norm, "number", "polyreg"),
    "normrank": Method(learn_normrank, "number", "polyreg"),
    "logreg": Method(learn_classes, "two"),
    "polyreg": Method(learn_classes, "category"),
    "polr": Method(learn_polr, "ranks"),
    "nested": Method(learn_nested),
}
NAMES = (*METHODS, *BLOCKS)


def method_of(column: str, wanted: str | Mapping[str, str], variable: Variable) -> str:
    """The method of a column: what was asked for, "cart" where nothing was, "parametric" by the kind of the column."""
    method = wanted if isinstance(wanted, str) else wanted.get(column, "cart")
    if method != "parametric":
        return method
    if variable.number:
        return "normrank"
    if variable.n_levels <= 2:
        return "logreg"
    return "polr" if variable.ordered else "polyreg"


def check_method(column: str, method: str, variable: Variable) -> None:
    """Refuse a method there is not, or that cannot make this column, and say which can."""
    if not isinstance(method, str):
        raise InputError(f"method of {column!r} must be the name of a method, not a {type(method).__name__}")
    name, _, parent = method.partition(".")
    if is_passive(method):
        return
    if method == "":
        raise InputError(
            f"method of {column!r} is '', which would release the real column; leave {column!r} out of visit_sequence, "
            "or choose a method"
        )
    if name not in NAMES or (parent and name != "nested"):
        raise InputError(
            f"method of {column!r} is {method!r}; choose one of {listed((*NAMES, 'parametric'))}, 'nested.COLUMN', or "
            f"'~ SQL expression'{closest(name, NAMES)}"
        )
    suits = "category" if name in BLOCKS else METHODS[name].suits
    here = f"method of {column!r} is {method!r}"
    if suits == "number" and not variable.number:
        raise InputError(f"{here}, which makes numbers, but {column!r} is a category; use 'polyreg', 'polr' or 'cart'")
    if suits in ("category", "two", "ranks") and variable.number:
        raise InputError(
            f"{here}, which makes categories, but {column!r} is numeric; use 'norm', 'normrank' or 'cart', or pass "
            f"schema={{{column!r}: 'categorical'}}"
        )
    if suits == "two" and variable.n_levels > 2:
        raise InputError(
            f"{here}, which is for two categories, but {column!r} has {variable.n_levels}, a missing one counted; use "
            "'polyreg'"
        )
    if suits == "ranks" and not variable.ordered:
        raise InputError(
            f"{here}, which is for ranked categories, but {column!r} has no order; pass schema={{{column!r}: [levels "
            "from low to high]} or use 'polyreg'"
        )


def parent_of(column: str, method: str, predictors: Sequence[str] | None, before: Mapping[str, Variable]) -> str:
    """The coarse column of a nested one: named as ``nested.COLUMN``, or the one predictor."""
    parent = method.partition(".")[2] or (predictors[0] if predictors is not None and len(predictors) == 1 else "")
    if not parent:
        raise InputError(
            f"method of {column!r} is 'nested'; say within which column: 'nested.COLUMN', or one column in predictors"
        )
    if parent not in before:
        raise InputError(
            f"{column!r} is nested in {parent!r}, which is not made before it{closest(parent, list(before))}; put it "
            "earlier in visit_sequence"
        )
    if before[parent].number:
        raise InputError(
            f"{column!r} is nested in {parent!r}, which is numeric; pass schema={{{parent!r}: 'categorical'}}"
        )
    return parent


def block_of(sequence: Sequence[str], methods: Mapping[str, str]) -> tuple[str, ...]:
    """The columns made as one block; they come first, side by side, with one method."""
    members = [c for c in sequence if methods[c] in BLOCKS]
    for column, there in zip(members, sequence, strict=False):
        if column != there or methods[column] != methods[members[0]]:
            raise InputError(
                f"method of {column!r} is {methods[column]!r}: the columns of a block share one method and come first; "
                f"start visit_sequence with {listed(members)} and give all of them {methods[members[0]]!r}"
            )
    return tuple(members)
