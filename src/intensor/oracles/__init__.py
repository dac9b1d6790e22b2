"""Oracles look for the vertex of least cost.

Heuristics propose vertices; only exact oracles may state a bound.
"""
