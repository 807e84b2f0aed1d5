"""Compiled SDFGs as functions of NumPy arrays.

    import sdfg

    f = sdfg.compile("gemm.sdfg")       # or a DaCe SDFG, a @dace.program, a program of the text form
    f(A=A, B=B, C=C, alpha=1.5)         # in place, without copies; sizes follow from the shapes

Programs are compiled by the ``sdfg`` command, whose options `compile` takes as keywords; what it makes is loaded into this
process. ``docs/python.md`` of the project has the details.
"""

from .command import CompileError, CompileWarning, compile, load
from .graph import Graph, Match, TransformError, open, transformations
from .program import Program, RunError
from .ranks import RankedProgram

__all__ = [
    "CompileError",
    "CompileWarning",
    "Graph",
    "Match",
    "Program",
    "RankedProgram",
    "RunError",
    "TransformError",
    "compile",
    "load",
    "open",
    "transformations",
]
