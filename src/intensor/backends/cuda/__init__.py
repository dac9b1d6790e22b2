"""The cells on a CUDA device: kernels written with numba-cuda, plain arrays by CuPy.

Under the CUDA simulator (``NUMBA_ENABLE_CUDASIM=1``) the same kernels run on NumPy arrays.
"""
