"""Metamorphic properties of ``solve``: what a change of the data does to the optimum.

``optima`` solves small problems to proven optimality and compares optima; each test module has
one kind of change.
"""
