"""Sequential synthesis by classification and regression trees (Reiter 2005; Nowok, Raab & Dibben 2016).

Columns are made one after the other. The first is drawn from its observed values; each later one by a tree grown on
the original, y ~ all columns before it: a synthetic record falls into a leaf by its synthetic predictors and takes the
value of a random original record of that leaf. Trees follow the rules of :mod:`glasshouse.engines.models.tree`, pruning
included, with leaves of at least 5 records; without the pruning the releases disclose visibly more.

This synthesiser gives no formal guarantee: numbers in a release are numbers of real people unless they are smoothed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from glasshouse.core.errors import InputError
from glasshouse.data.here import Label
from glasshouse.data.schema import Wish
from glasshouse.synthesis.methods.passive import is_passive
from glasshouse.synthesis.sequential import Sequential


class Cart(Sequential):
    """Sequential synthesis by classification and regression trees.

    Parameters
    ----------
    visit_sequence : sequence of str, optional
        Order in which columns are made; a column left out is not in the release. Default: the order of the table,
        without probable identifiers.
    predictors : mapping, optional
        ``{"income": ["age", "sex"]}``: predictors of a column, those that come later are ignored. Default: all before
        it.
    method : mapping, optional
        ``{"region": "sample"}``: "cart", "sample" (draw from the observed values, whatever the other columns), or
        ``"~ weight / (height * height)"``, an SQL expression on earlier columns. Default: "cart" for every column.
    minbucket : int, default 5
        Records of a leaf, at least; a node below three times as many is not split.
    cp : float, default 1e-8
        A split must improve the fit by this share of the root's error.
    maxdepth : int, default 30
        Levels of a tree, at most.
    special_codes : mapping, optional
        ``{"income": [-8]}``: values of a numeric column that are reasons for missing. Default: those that a file of
        SPSS, Stata or SAS declares, else none.
    smoothing : str or mapping, optional
        One of "density", "rmean", "spline", or ``{column: ...}``: numbers are moved off the values of real people.
        Default: numbers stay those of the original.
    proper : bool, default False
        Grow the trees on a bootstrap sample of the original, drawn anew for every release.
    rules : mapping, optional
        ``{"marital": [("age < 16", "SINGLE")]}``: an SQL condition on earlier columns and the value it forces.
        Default: none.
    schema : mapping, optional
        As for :class:`glasshouse.Pair`: overrides the detected kind of a column.
    exact_levels : int, default 15
        Up to this many levels in a node a class tree tries every grouping of them; above, levels are ordered first.
    n_jobs : int, optional
        Threads that grow trees; no release depends on it. Default: all.

    Attributes
    ----------
    notes : list of str
        What the fit decided on its own: columns left out, splits that were approximated.

    See Also
    --------
    glasshouse.synthesis.Sequential : a method for each column.

    Notes
    -----
    The first column is drawn from its observed values; each later one by a tree y ~ all columns before it: a synthetic
    record falls into a leaf by its synthetic predictors and takes the value of a random original record of that leaf.
    No formal guarantee: numbers in a release are numbers of real people unless they are smoothed.

    The trees are those of synthpop's "cart". In five releases that synthpop made of Adult (162,805 records, 12 trees)
    one value in 10,000 is not among the values of the leaf that our tree finds for its record, outside of nodes that
    never saw the record's level. There rpart asks a surrogate split and we take the larger child; taking the smaller
    one moves no disclosure figure. ``docs/synthesis.md`` has the comparison, and why single figures still differ.

    References
    ----------
    Reiter (2005), Using CART to generate partially synthetic, public use microdata.
    Nowok, Raab & Dibben (2016), synthpop: bespoke creation of synthetic data in R.

    Examples
    --------
    >>> import glasshouse as gh
    >>> original = gh.data.simulate_health(300)
    >>> released = gh.synthesis.Cart(smoothing="density").fit(original).sample(100, random_state=1)
    >>> released.columns == original.columns, released.height
    (True, 100)
    """

    _SETTINGS = (
        "visit_sequence",
        "predictors",
        "method",
        "minbucket",
        "cp",
        "maxdepth",
        "special_codes",
        "smoothing",
        "proper",
        "rules",
        "schema",
        "exact_levels",
        "n_jobs",
    )

    def __init__(
        self,
        *,
        visit_sequence: Sequence[str] | None = None,
        predictors: Mapping[str, Sequence[str]] | None = None,
        method: Mapping[str, str] | None = None,
        minbucket: int = 5,
        cp: float = 1e-8,
        maxdepth: int = 30,
        special_codes: Mapping[str, Sequence[float]] | None = None,
        smoothing: str | Mapping[str, str] | None = None,
        proper: bool = False,
        rules: Mapping[str, Sequence[tuple[str, Label]]] | None = None,
        schema: Mapping[str, Wish] | None = None,
        exact_levels: int = 15,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            method or {},
            visit_sequence=visit_sequence,
            predictors=predictors,
            minbucket=minbucket,
            cp=cp,
            maxdepth=maxdepth,
            special_codes=special_codes,
            smoothing=smoothing,
            proper=proper,
            rules=rules,
            schema=schema,
            exact_levels=exact_levels,
            n_jobs=n_jobs,
        )

    def _check(self, columns: list[str]) -> None:
        super()._check(columns)
        for column, method in self.method.items() if isinstance(self.method, dict) else ():
            if method not in ("cart", "sample") and not is_passive(method):
                raise InputError(
                    f"method of {column!r} is {method!r}; choose 'cart' or 'sample', or use Sequential, which has the "
                    "other methods"
                )
