"""What to do about a finding: templates that measures declare as their advice.

A template is a sentence or two with fields in braces. ``judgement.verdict.advice`` fills them with the names of the
pair's own columns and the figures of the result: {keys}, {target}, {top_key}, {top_keys}, {numeric}, {title}, {value},
{figure}, {excess}, and the phrases {guessing}, {expected}, {strangers}, {rate}, empty where they do not apply;
{elsewhere} is what distances are compared with, {people} what shares are shares of: people, or records where
several are one unit; {synthetic} says how to read a file that describes nobody in particular.
Measures with the same template give the advice once.
"""

from __future__ import annotations

from collections.abc import Mapping

READS_OFF = (
    "Knowing {keys}, an attacker reads off the right {target} for {value} of {people}{guessing}. Coarsen {top_key}, "
    "merge categories of {target} that few records hold, or stop the synthesiser from splitting into cells this small "
    "(larger leaves, smoothing)."
)
PREDICTS = (
    "A model trained on the release predicts {target} of real people better than chance allows (excess {excess}). If "
    "users do not need a relation this strong, weaken or drop {top_keys}; otherwise treat it as a fact about the "
    "population, and document it."
)
NAMES_PEOPLE = (
    "{value} of {people} have their own identifier in the release{strangers}. Drop that column, or replace its values "
    "by new ones, before anything is released."
)
STANDS_ALONE = (
    "Some released records stand alone or nearly so on {keys} ({title}: {figure}). Recode or suppress {top_keys}"
    "{synthetic}."
)
GIVES_AWAY = (
    "Released records with equal {keys} have much the same {target} ({title}: {figure}). Merge combinations of {keys} "
    "that few records have, merge categories of {target}, or swap {target} between such records{synthetic}."
)
COPIES = (
    "{value} of released records equal a real record{expected}. Remove or re-draw them, and check the synthesiser for "
    "memorisation."
)
PEOPLE_COPIED = (
    "{title}: {value} of {records} are in the release, where they fit nobody else{strangers}. Remove or "
    "re-draw those records (result.records names them), and check the synthesiser for memorisation."
)
PEOPLE_NEARLY_COPIED = (
    "{value} of {people} have a released record that fits them and nobody else{strangers}. Remove or re-draw those "
    "records (result.records names them); reduce the capacity of the model or its training."
)
PERSON_REPEATED = (
    "The record of one real person is in the release {figure} times. Remove the copies (result.records names the "
    "person), and find out why the synthesiser got stuck there."
)
TOO_NEAR = (
    "Released records sit closer to the records the synthesiser saw than {elsewhere} ({value}{expected}). "
    "Reduce the capacity of the model or its training, regularise, use differential privacy, or train on more records."
)
BRACKETED = (
    "{value} of real values can be bracketed closely from the release. Add more noise to {numeric}, or use larger "
    "groups for microaggregation."
)
VERY_NEAR = (
    "{value} of released records lie very near a real one{expected}. Add more noise to {numeric}, or use larger groups "
    "for microaggregation."
)
SINGLED_OUT = (
    "Descriptions learnt from the release fit exactly one real person in {value} of tries{strangers}. Top- and "
    "bottom-code {numeric}, and merge rare categories."
)
LINKED = (
    "Records can be joined through the release for {value} of {people}. Release fewer columns jointly, or break the "
    "link between {keys} and the rest."
)
MEMBERSHIP = (
    "Being in the data can be detected ({title} {figure}{rate}). Use a differentially private generator or stop "
    "training earlier, and ask whether membership itself is sensitive here."
)
AGREES = (
    "Many released key groups hold a single value of {target} ({value}). Group sparse combinations of {keys}, or add "
    "noise to {target} within them."
)
PRESENT = "For some key groups the release shows almost all real members. Sub-sample, or coarsen {top_keys}."
TOO_SIMILAR = (
    "The release is too similar to the original: it behaves like a lightly perturbed copy. Read the copying results "
    "before anything else."
)
# A measure that declares no advice gets that of its threat.
BY_THREAT: Mapping[str, str] = {
    "identity": LINKED,
    "attribute": READS_OFF,
    "membership": MEMBERSHIP,
    "copying": TOO_NEAR,
}

# The operation of gh.protection that would carry an advice out; some have none (a fact about the population).
REMEDIES: Mapping[str, str] = {
    READS_OFF: "merge_levels",
    NAMES_PEOPLE: "drop_identifiers",
    STANDS_ALONE: "suppress_locally",
    GIVES_AWAY: "generalise",
    COPIES: "redraw_records",
    PEOPLE_COPIED: "redraw_records",
    PEOPLE_NEARLY_COPIED: "redraw_records",
    PERSON_REPEATED: "redraw_records",
    TOO_NEAR: "resynthesise",
    BRACKETED: "add_noise",
    VERY_NEAR: "add_noise",
    SINGLED_OUT: "top_code",
    LINKED: "swap_ranks",
    MEMBERSHIP: "resynthesise",
    AGREES: "suppress_locally",
    TOO_SIMILAR: "redraw_records",
}
