"""Time, threads, memory and compiled kernels: what every stage runs on."""
