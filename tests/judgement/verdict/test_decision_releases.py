"""Under the rules of a policy the gravest of several releases decides, and looking at several costs."""

from __future__ import annotations

from glasshouse.catalogue import all_measures
from glasshouse.core.limits import Limit
from glasshouse.core.result import Result
from glasshouse.judgement.verdict.decision import _under


def test_the_gravest_release_is_labelled_and_its_p_value_allows_for_the_others() -> None:
    rapid = all_measures()["rapid"]
    single = [Result(value=v, p_value=p)._copy(measure=rapid) for v, p in ((0.2, 0.5), (0.4, 0.03))]
    whole = Result(value=0.3, p_value=0.06, replicates=single, over="mean")._copy(measure=rapid)
    found = _under([Limit("value", warn=0.1, fail=0.35)], whole)
    assert (found.value, found.p_value, found.over, found.verdict) == (0.4, 0.06, "worst", "fail")
    assert found.worst == 0.4 and found.replicates == single
