"""Numba functions on arrays, and nothing else: one pass over contiguous arrays, outputs last."""
