"""Scripts that measure single parts; run one with ``python -m benchmarks.scripts.NAME``."""
