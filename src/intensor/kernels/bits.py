"""Bit instructions that NumPy and Numba do not name: single machine instructions through LLVM.

With ``NUMBA_DISABLE_JIT=1`` kernels run as plain Python, which has no such instructions; the plain
functions are used then.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import config as numba_config
from numba.extending import intrinsic

config: Any = numba_config
WORD, FLAG = ir.IntType(64), ir.IntType(1)
NONE, ONE, ALL = np.uint64(0), np.uint64(1), ~np.uint64(0)


def _plain_trailing_zeros(word: Any) -> int:
    bits = int(word)
    return (bits & -bits).bit_length() - 1


def _plain_popcount(word: Any) -> int:
    return int(word).bit_count()


@intrinsic
def _emit_trailing_zeros(typing_context: Any, word: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(WORD, [WORD, FLAG])
        function = builder.module.declare_intrinsic("llvm.cttz", [WORD], kind)
        return builder.call(function, [arguments[0], ir.Constant(FLAG, 1)])

    return types.int64(types.uint64), emit


@intrinsic
def _emit_popcount(typing_context: Any, word: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(WORD, [WORD])
        function = builder.module.declare_intrinsic("llvm.ctpop", [WORD], kind)
        return builder.call(function, [arguments[0]])

    return types.int64(types.uint64), emit


trailing_zeros: Any = _plain_trailing_zeros if config.DISABLE_JIT else _emit_trailing_zeros
"""Return the number of the lowest set bit of a nonzero uint64."""
popcount: Any = _plain_popcount if config.DISABLE_JIT else _emit_popcount
"""Return the number of set bits of a uint64."""
