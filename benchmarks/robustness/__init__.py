"""Robustness: random parts of real tensors, hidden at random, fitted by the default and by each candidate."""
