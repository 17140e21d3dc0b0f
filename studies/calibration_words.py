"""What the page of the calibration study says beside its figures."""

from __future__ import annotations

LEVELS = [
    "## The levels",
    "",
    "All tests of a threat are combined (Cauchy, measures of one group counting once), then the threats. FAIL "
    "below 0.01, warn below 0.05. At 0.10, the first proposal, one clean release in eight was warned about (12 % "
    "of 163 runs on other seeds), and hardly a planted leak more was seen, because leaks that are seen at all are"
    " seen with p values far below. Tests made for few copies warn on their own below 0.05, because a combination"
    " of twenty tests drowns ten people; verbatim copies of people unlike anybody else, and published "
    "identifiers, fail on their own below 0.01.",
    "",
]
WHY_UNSEEN = [
    "Why nothing better is to be had there: where several people have the same record, a copy of one is a record "
    "that the others explain as well. With 48 possible records and 1,000 people each record belongs to about "
    "twenty of them; a release that copies a tenth of the people differs from an honest one by less than two "
    "honest ones differ. The same holds for keys and target when the keys (age, sex and region, say) are shared "
    "by several people: of 5 % copied the best statistic there is, the released count of each combination against"
    " its count among members and strangers, moves by less than one standard deviation. What is not seen there "
    "exposes nobody in particular. Panels and households of the study hold 200 and 333 units; one or two per cent"
    " of them are two to seven, and fewer than five cannot be told from chance at 5 %.",
    "",
]
