"""The engine of the paper's versions 0 to 10, on the observed cells."""
