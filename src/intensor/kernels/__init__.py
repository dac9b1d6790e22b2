"""Third stage: the few sums over cells that everything else is made of.

``reference`` is plain Python and NumPy, the truth; ``cpu`` computes the same with Numba.
"""
