"""Methods that are compared, one file each; ``find`` returns one by its name."""

from __future__ import annotations

import importlib

from benchmarks.contenders.base import Completion, Contender

__all__ = ["MASKED", "NAMES", "Completion", "Contender", "find"]

NAMES = {
    "intensor": "ours",
    "intensor, radius 1": "ours_known",
    "tensorly parafac": "tensorly_parafac",
    "tensorly nonnegative": "tensorly_nonnegative",
    "pyttb gcp_opt": "pyttb_gcp",
    "pyttb gcp_opt, nonneg.": "pyttb_nonnegative",
    "teneva als": "teneva_als",
    "ALS": "als",
    "SiLRTC": "silrtc",
    "TNCP": "tncp",
}
"""Names in tables, and the modules."""
MASKED = {"masked CP, tensorly": "masked_tensorly", "masked CP, pyttb": "masked_pyttb"}
"""Packages by their best masked CP, which is one of several in ``NAMES``: run on real data."""


def find(name: str) -> Contender:
    """Return a contender; packages are imported only now."""
    module = importlib.import_module(f"benchmarks.contenders.{(NAMES | MASKED)[name]}")
    return module.CONTENDER
