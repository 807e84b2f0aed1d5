"""Functions that a program calls back: what it passes to them, and what it takes from them.

The program calls from the thread of the call, which gets the interpreter lock for as long as the function runs. An exception of a function ends
the run, and leaves the call.
"""

import ctypes

import numpy

from .argument import TYPES
from .expression import Expression

_C_TYPES = {
    "bool": ctypes.c_bool,
    "i8": ctypes.c_int8,
    "i16": ctypes.c_int16,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "u8": ctypes.c_uint8,
    "u16": ctypes.c_uint16,
    "u32": ctypes.c_uint32,
    "u64": ctypes.c_uint64,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
}


class _Parameter:
    """A number, or a part of an array."""

    def __init__(self, description):
        self.by_pointer = description["by_pointer"]
        self.c_type = ctypes.c_void_p if self.by_pointer else _C_TYPES[description["type"]]
        self.dtype = numpy.dtype(TYPES[description["type"]][0])
        shape, strides = description.get("shape"), description.get("strides")
        #: Extents and strides in elements; None where only the program knows them.
        self.layout = None if shape is None else [[*map(Expression, list_)] for list_ in (shape, strides)]
        lanes = description.get("lanes")
        if lanes and self.layout is not None:
            shape, strides = self.layout
            strides = [Expression(f"({stride.text})*{lanes}") for stride in strides]
            self.layout = [[*shape, Expression(str(lanes))], [*strides, Expression("1")]]
        self._is_read_only = description.get("access") == "read"
        #: Whether the function returns it instead of getting it.
        self.is_result = description.get("access") == "write" and self.layout is not None

    def array(self, address, symbols):
        """The array at an address; the address as a pointer of `ctypes` where the extents are not known."""
        if self.layout is None:
            return ctypes.c_void_p(address)
        shape, strides = ([expression.value(symbols) for expression in part] for part in self.layout)
        if 0 in shape:
            return numpy.zeros(shape, self.dtype)
        # From the first to the last element in the order of memory.
        ends = [(extent - 1) * stride for extent, stride in zip(shape, strides)]
        before, behind = -sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)
        size = self.dtype.itemsize
        memory = (ctypes.c_char * ((before + behind + 1) * size)).from_address(address - before * size)
        found = numpy.ndarray(shape, self.dtype, memory, before * size, [stride * size for stride in strides])
        found.flags.writeable = not self._is_read_only
        return found


class Callback:
    """A function that calls of a program pass by its name."""

    def __init__(self, description, index):
        self.name = description["name"]
        #: The position in the list of pointers.
        self.index = index
        self._parameters = [_Parameter(each) for each in description["parameters"]]
        result = description.get("result")
        self._result = None if result is None else numpy.dtype(TYPES[result][0])
        restype = None if result is None else _C_TYPES[result]
        self._type = ctypes.CFUNCTYPE(restype, *(parameter.c_type for parameter in self._parameters))

    def __str__(self):
        return f"{self.name}: callback"

    def check(self, function):
        """Refuses what cannot be called."""
        if not callable(function):
            raise TypeError(f"argument {self.name} is of type {type(function).__name__}, but the program takes a function")

    def bound(self, function, symbols, run):
        """The function for the program in a `run`, as C takes it."""

        def call(*values):
            if run.error is not None:
                return 0
            try:
                return self._call(function, values, symbols)
            except BaseException as error:  # It leaves the call of the program instead.
                run.stop(error)
                return 0

        return self._type(call)

    def _call(self, function, values, symbols):
        given, results = [], []
        for parameter, value in zip(self._parameters, values):
            if parameter.by_pointer:
                value = parameter.array(value, symbols)
            (results if parameter.is_result else given).append(value)
        returned = function(*given)
        expected = len(results) + (self._result is not None)
        if expected == 0:
            return None
        found = tuple(returned) if expected > 1 else (returned,)
        if len(found) != expected:
            raise TypeError(f"the callback {self.name} returned {len(found)} values, but the program takes {expected}")
        if any(value is None for value in found):
            raise TypeError(f"the callback {self.name} returned None, but the program takes {expected} values")
        number = ()
        if self._result is not None:
            number, found = found[:1], found[1:]
        for array, value in zip(results, found):
            array[...] = value
        if not number:
            return None
        kept = numpy.zeros((), self._result)
        kept[...] = number[0]
        return kept.item()


class Run:
    """One run of a program with callbacks: the exception that ended it, if there is one."""

    def __init__(self, stop, handle):
        self._stop = stop
        self._handle = handle
        self.error = None

    def stop(self, error):
        """Ends the run."""
        self.error = error
        self._stop(self._handle, None)
