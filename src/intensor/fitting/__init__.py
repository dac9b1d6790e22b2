"""From observations to a predictor: scale, baseline, radius and averaging, chosen by validation."""
