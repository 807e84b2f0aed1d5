"""Distributed programs on the ranks of MPI.

Each rank calls the program with its parts of the arguments, or rank 0 with whole arrays. What one rank finds wrong with its arguments is an
exception on all of them, so that none waits for another.
"""

import ctypes

import numpy

from .argument import Array
from .program import Program, _argument, _Configuration

# Kinds of communicators: the world, and a handle of Fortran.
_WORLD, _FORTRAN = 0, 2
# What the positions of an argument are, by their numbers.
_LOCAL_OFFSET, _LOCAL_EXTENT, _OWN_OFFSET, _OWN_EXTENT = range(4)


class _RankedConfiguration(_Configuration):
    # They follow those of other programs.
    _fields_ = [("communicator_kind", ctypes.c_int32), ("communicator", ctypes.c_void_p)]


class _Part(Array):
    """An array of which a rank passes what it holds. `shape` is that of the whole, `distribution` tells how it is cut."""

    def __init__(self, description, index, distribution, program):
        super().__init__(description, index)
        self.distribution = distribution
        self._program = program
        # Nothing follows from the shape of a part.
        self.bound, self.computed, self._constants = (), (), ()

    def __str__(self):
        return f"{super().__str__()} in parts of {self.distribution}"

    def check_sizes(self, value, symbols):
        expected = self._program._positions(self.name, len(self.shape), symbols, _LOCAL_EXTENT)
        if value.shape != expected:
            rank = self._program.rank
            raise ValueError(f"argument {self.name} has the shape {value.shape}, but rank {rank} holds {expected} of {self}")

    def allocate(self, symbols):
        return numpy.zeros(self._program._positions(self.name, len(self.shape), symbols, _LOCAL_EXTENT), self.dtype)


class RankedProgram(Program):
    """A compiled program that is distributed over the ranks of a communicator. `sdfg.compile` and `sdfg.load` make it, on every rank.

    Every rank calls it at the same time, with its part of each argument that is cut and with all symbols.
    """

    def __init__(self, code, description, *, comm=None, **options):
        self._ranks = description["ranks"]
        self._communicator = None if comm is None else ctypes.c_int64(comm.py2f())
        self._whole = [_argument(each, index) for index, each in enumerate(description["arguments"])]
        super().__init__(code, description, **options)

    def _make_argument(self, description, index):
        distribution = self._ranks["parts"].get(description["name"])
        if distribution is None:
            return super()._make_argument(description, index)
        return _Part(description, index, distribution, self)

    def _make_configuration(self, threads):
        kind = _WORLD if self._communicator is None else _FORTRAN
        place = None if self._communicator is None else ctypes.addressof(self._communicator)
        return _RankedConfiguration(ctypes.sizeof(_RankedConfiguration), threads, kind, place)

    def _open(self, code, threads):
        bound = getattr(code, self.name + "__bound")
        bound.restype = ctypes.c_int64
        bound.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32)
        self._bound = bound
        self._invoke_whole = getattr(code, self.name + "__invoke_whole")
        self._invoke_whole.restype, self._invoke_whole.argtypes = ctypes.c_int32, (ctypes.c_void_p, ctypes.c_void_p)
        numbers = [getattr(code, self.name + suffix) for suffix in ("_rank", "_ranks")]
        for number in numbers:
            number.restype, number.argtypes = ctypes.c_int64, (ctypes.c_void_p,)
        super()._open(code, threads)
        # It lives as long as the program.
        self._first = self._idle[0]
        #: The rank of this process in the communicator, and the number of ranks.
        self.rank, self.ranks = (number(self._first.handle) for number in numbers)

    def _why_unmade(self):
        return self._error(None)

    def __call__(self, /, *positional, **arguments):
        """Runs the program on the parts of the ranks. The elements of other ranks that a part holds, its halo, are taken from their owners."""
        with _Refusal(self):
            return super().__call__(*positional, **arguments)

    def whole(self, **arguments):
        """Runs the program on whole arrays of rank 0, which it reads and writes where they are. Other ranks pass nothing."""
        if self.rank != 0:
            if arguments:
                raise TypeError(f"rank {self.rank} passes no arguments to {self.name}.whole: those of rank 0 count")
            status = self._invoke_whole(self._first.handle, self._first.pointers)
            if status:
                raise self._failure(status, self._error(self._first.handle))
            return None
        whole = _Whole(self)
        with _Refusal(whole):
            return whole(**arguments)

    def local_shape(self, argument, **symbols):
        """The shape of what this rank holds of an argument, for these values of all symbols."""
        return self._positions_of(argument, symbols, _LOCAL_EXTENT)

    def local_offset(self, argument, **symbols):
        """The position in the whole argument of the first element that this rank holds."""
        return self._positions_of(argument, symbols, _LOCAL_OFFSET)

    def own(self, argument, **symbols):
        """The slices of what this rank holds that are its own elements, and not copies of those of other ranks."""
        first = self._positions_of(argument, symbols, _OWN_OFFSET)
        extents = self._positions_of(argument, symbols, _OWN_EXTENT)
        low = self._positions_of(argument, symbols, _LOCAL_OFFSET)
        return tuple(slice(at - begin, at - begin + extent) for at, begin, extent in zip(first, low, extents))

    def _positions_of(self, argument, symbols, which):
        known = self._arguments.get(argument)
        if not isinstance(known, Array):
            raise ValueError(f"{self.name} has no array {argument}. It takes: {self}")
        missing = [symbol.name for symbol in self._symbols if symbol.name not in symbols]
        unknown = sorted(symbols.keys() - {symbol.name for symbol in self._symbols})
        if missing or unknown:
            names = ", ".join(symbol.name for symbol in self._symbols)
            raise TypeError(f"positions of {argument} take the symbols of {self.name}: {names}")
        values = {symbol.name: symbol.integer(symbols[symbol.name]) for symbol in self._symbols}
        return self._positions(argument, len(known.shape), values, which)

    def _positions(self, argument, dimensions, symbols, which):
        values = (ctypes.c_int64 * (len(self._symbols) + 1))(*(symbols[symbol.name] for symbol in self._symbols))
        name = argument.encode()
        return tuple(self._bound(self._first.handle, name, at, values, which) for at in range(dimensions))


class _Whole(Program):
    """The same program with the arguments of a run on whole arrays, on rank 0."""

    def __init__(self, program):
        self.__dict__.update(program.__dict__)
        self._set_arguments(program._whole)
        self._invoke = program._invoke_whole


class _Refusal:
    """Tells the other ranks of an exception before the call that they wait in."""

    def __init__(self, program):
        self._program = program

    def __enter__(self):
        self._program._has_begun = False

    def __exit__(self, kind, error, trace):
        program = self._program
        if error is not None and not program._has_begun:
            program._invoke(program._first.handle, None)


def shared(comm, work):
    """What `work` gives on this rank, once it has succeeded on all ranks of the communicator."""
    result, error = None, None
    try:
        result = work()
    except Exception as found:
        error = found
    if comm is not None:
        failures = comm.allgather(None if error is None else f"{type(error).__name__}: {error}")
        if error is None and any(failures):
            rank, failure = next((rank, failure) for rank, failure in enumerate(failures) if failure)
            raise RuntimeError(f"rank {rank} failed: {failure}")
    if error is not None:
        raise error
    return result
