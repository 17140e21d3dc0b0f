"""What the page of the calibration study says beside its figures."""

from __future__ import annotations

LEVELS = [
    "## The levels",
    "",
    "All tests of a threat are combined (Cauchy, measures of one group counting once), then the threats. FAIL below "
    "0.01, warn below 0.05. Tests made for few near copies warn on their own below 0.01, because a combination of "
    "twenty tests drowns ten people; verbatim copies of people unlike anybody else (but for one column at most), and "
    "published identifiers, warn on their own below 0.05 and fail below 0.01. The first proposal was 0.10 for the "
    "combination and 0.05 for a copy test alone: on 389 clean releases of other seeds that warned about 14 %. With "
    "0.05 and 0.025 it was 9 % of 276; with 0.01 in place of 0.025 the same runs give 6 % and not one planted leak "
    "less, because leaks that are seen at all have p values far below. The runs on this page were made after that "
    "choice, with other seeds.",
    "",
]
CART = [
    "Trees with small leaves fail although nobody planted anything: they draw each value from the leaf a record falls "
    "into, so real values of real people are put together again, and records of people unlike anybody else come back "
    "far more often than strangers' do. That is a leak, and the verdict says so; larger leaves, smoothing or noise are "
    "the way out.",
    "",
]
IDENTIFIERS = [
    "## Names and numbers",
    "",
    "`shared_identifiers` alone, on releases that invent identifiers as those of people came about, with a few "
    "replaced by real ones (`studies/identifiers.py`; % of runs that warn or fail, and that fail). Names are drawn "
    "from a pool in which common ones are far more frequent, so that real people share some and an invented one may "
    "be somebody's; addresses, codes and numbers are given out once. Where chance gives out real ones, a few more "
    "cannot be told. One or two real ones beside none of the strangers' pass: as much happens by chance in half and in "
    "a quarter of the cases. Without a holdout any that chance does not explain call for review, and only those of "
    "more than half of the people fail, because a release that invents addresses or codes as they are given out "
    "meets real ones too.",
    "",
]
WHY_UNSEEN = [
    "Why nothing better is to be had there: where several people have the same record, a copy of one is a record "
    "that the others explain as well. With 48 possible records and 1,000 people each record belongs to about "
    "twenty of them; a release that copies a tenth of the people differs from an honest one by less than two "
    "honest ones differ. The same holds for keys and target when the keys (age, sex and region, say) are shared "
    "by several people: of 5 % copied the best statistic there is, the released count of each combination against"
    " its count among members and strangers, moves by less than one standard deviation; what a test could see that "
    "knew the whole population is told below. What is not seen there "
    "exposes nobody in particular. Panels and households of the study hold 200 and 333 units; one or two per cent"
    " of them are two to seven, and fewer than five cannot be told from chance at 5 %.",
    "",
]
