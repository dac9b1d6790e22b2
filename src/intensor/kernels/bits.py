"""Bit tricks that NumPy and Numba do not name: single machine instructions through LLVM."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["popcount", "trailing_zeros"]


@intrinsic
def trailing_zeros(typing_context: Any, word: Any) -> Any:
    """Return the position of the lowest set bit of a nonzero uint64."""
    signature = types.int64(types.uint64)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word_type = ir.IntType(64)
        function_type = ir.FunctionType(word_type, [word_type, ir.IntType(1)])
        function = builder.module.declare_intrinsic("llvm.cttz", [word_type], function_type)
        return builder.call(function, [arguments[0], ir.Constant(ir.IntType(1), 1)])

    return signature, emit


@intrinsic
def popcount(typing_context: Any, word: Any) -> Any:
    """Return the number of set bits of a uint64."""
    signature = types.int64(types.uint64)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word_type = ir.IntType(64)
        function_type = ir.FunctionType(word_type, [word_type])
        function = builder.module.declare_intrinsic("llvm.ctpop", [word_type], function_type)
        return builder.call(function, [arguments[0]])

    return signature, emit
