"""Methods that are compared, one file each; ``find`` returns one by its name."""

from __future__ import annotations

import importlib

from benchmarks.contenders.base import Completion, Contender

__all__ = ["NAMES", "Completion", "Contender", "find"]

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


def find(name: str) -> Contender:
    """Return a contender; packages are imported only now."""
    module = importlib.import_module(f"benchmarks.contenders.{NAMES[name]}")
    return module.CONTENDER
