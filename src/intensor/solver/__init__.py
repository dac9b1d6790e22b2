"""Sixth stage: the solver loop and the eleven versions it is run in."""
