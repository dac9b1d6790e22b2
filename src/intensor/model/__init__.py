"""Fourth stage: what a fit gives, a weighted sum of boxes, and how to measure it."""
