"""Certificates: the numbers of a result recomputed and its bound proved again."""
