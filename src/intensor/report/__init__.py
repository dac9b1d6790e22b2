"""The report: one self-contained page about a fit, with the pictures of ``intensor.plots``."""

from intensor.report.page import render

__all__ = ["render"]
