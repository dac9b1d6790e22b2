"""The engine of graded components: vectors with entries in [0, 1] in the place of 0-1 boxes."""
