"""Second stage: the polytope, its vertices and the objective over them."""
