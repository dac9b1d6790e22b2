"""Cells in shards, on disk or on other machines: each sums over its own, the sums are added up."""
