"""Reference cases of sdcMicro 5.8.1: one file per call, arrays per record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

FREQUENCIES = (
    "casc_freq",
    "francdat_freq_unweighted",
    "francdat_freq_weighted",
    "francdat_na_freq_onekey",
    "francdat_na_freq_unweighted",
    "francdat_na_freq_weighted_alpha0",
    "francdat_na_freq_weighted_alpha0p1",
    "francdat_na_freq_weighted_alpha0p5",
    "francdat_na_freq_weighted_alpha1",
    "testdata_freq_7keys",
    "testdata_freq_7keys_weighted",
    "testdata_na_freq_a05",
    "testdata_na_freq_a1",
)
DIVERSITY = (
    "casc_ldiv_taxinc",
    "free1_ldiv_etni",
    "testdata_ldiv_electcon",
    "testdata_ldiv_two",
    "testdata_ldiv_water_c1",
    "testdata_na_ldiv_keys_missing",
)
SUDA = (
    "casc_suda2",
    "free1_suda2",
    "suda_book8",
    "suda_guide10",
    "testdata_na_suda2",
    "testdata_suda2_5v",
    "testdata_suda2_7v",
    "testdata_suda2_7v_dis10",
    "testdata_suda2_7v_ihsn",
)
RISKS = (
    "casc_measure_risk",
    "francdat_indivrisk_approx",
    "francdat_indivrisk_exact",
    "francdat_measure_risk",
    "francdat_na_indivrisk_approx",
    "free1_indivrisk_exact",
    "free1_measure_risk",
    "free1_measure_risk_coarse",
    "testdata_indivrisk_approx",
    "testdata_measure_risk_hh",
    "testdata_measure_risk_nowt",
)
MODELS = (
    "testdata_modrisk_CE",
    "testdata_modrisk_IPF",
    "testdata_modrisk_PML",
    "testdata_modrisk_default",
    "testdata_modrisk_weightedLLM",
)


def case(shared: Path, name: str) -> tuple[pl.DataFrame, dict[str, Any], dict[str, Any], float]:
    """The input table, the arguments, the expected figures and the tolerance of one case."""
    folder = shared / "golden" / "sdcmicro"
    content = json.loads((folder / f"{name}.json").read_text())
    table = pl.read_csv(folder / content["input"], infer_schema_length=None)
    return table, content["args"], content["expected"], content["tolerance"]


def close(found: Any, expected: Any, tolerance: float) -> None:
    """Equal within the tolerance, absolute below 1 and relative above."""
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(expected, float), rtol=tolerance, atol=tolerance)


def figure(found: Any, expected: Any, name: str, tolerance: float) -> None:
    """One aggregate; percentages of the reference are shares here."""
    if expected is None:
        assert found is None, name
    else:
        share = expected / 100 if name.endswith(("pct", "perc")) else expected
        assert found == pytest.approx(share, rel=tolerance, abs=tolerance), name
