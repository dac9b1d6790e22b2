"""Where the observed cells are kept and summed over: in memory, on a CUDA device, in shards."""
