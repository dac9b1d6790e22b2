"""The fast engine: many vertices a round, weights solved exactly in Gram space."""
