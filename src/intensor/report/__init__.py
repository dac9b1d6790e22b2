"""The report: one self-contained page about a fit, written without any plotting package."""

from intensor.report.page import render

__all__ = ["render"]
