"""Bit tricks that NumPy and Numba do not name: single machine instructions through LLVM.

With ``NUMBA_DISABLE_JIT=1`` kernels run as plain Python, where there are no such instructions;
the same functions are then written out.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import config as numba_config
from numba.extending import intrinsic

__all__ = ["popcount", "trailing_zeros"]

config: Any = numba_config


def _plain_trailing_zeros(word: Any) -> int:
    bits = int(word)
    return (bits & -bits).bit_length() - 1


def _plain_popcount(word: Any) -> int:
    return int(word).bit_count()


@intrinsic
def _emit_trailing_zeros(typing_context: Any, word: Any) -> Any:
    signature = types.int64(types.uint64)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word_type = ir.IntType(64)
        function_type = ir.FunctionType(word_type, [word_type, ir.IntType(1)])
        function = builder.module.declare_intrinsic("llvm.cttz", [word_type], function_type)
        return builder.call(function, [arguments[0], ir.Constant(ir.IntType(1), 1)])

    return signature, emit


@intrinsic
def _emit_popcount(typing_context: Any, word: Any) -> Any:
    signature = types.int64(types.uint64)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word_type = ir.IntType(64)
        function_type = ir.FunctionType(word_type, [word_type])
        function = builder.module.declare_intrinsic("llvm.ctpop", [word_type], function_type)
        return builder.call(function, [arguments[0]])

    return signature, emit


trailing_zeros = _plain_trailing_zeros if config.DISABLE_JIT else _emit_trailing_zeros
"""Return the position of the lowest set bit of a nonzero uint64."""
popcount = _plain_popcount if config.DISABLE_JIT else _emit_popcount
"""Return the number of set bits of a uint64."""
