"""Streams as arguments: each queue is a list or a `collections.deque` of Python's numbers, which a run changes.

The program gets the elements of a queue in memory of C's `malloc`, which it may move as `realloc` does. A run that succeeds leaves the
elements there that are in the queue at its end; after a failure the caller's queues are as they were.
"""

import collections
import ctypes
import math

import numpy

from .argument import TYPES, Scalar
from .expression import Expression

_libc = ctypes.CDLL(None)
_malloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(("malloc", _libc))
_free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(("free", _libc))


class _Queue(ctypes.Structure):
    _fields_ = [("elements", ctypes.c_void_p), ("count", ctypes.c_int64)]


class Stream:
    """A stream, or an array of streams."""

    def __init__(self, description, index):
        self.name = description["name"]
        self.index = index
        self.dtype = numpy.dtype(TYPES[description["type"]][0])
        self.lanes = description.get("lanes", 1)
        self._number = Scalar(description, index)
        self.shape = tuple(map(Expression, description.get("layout", {"shape": []})["shape"]))
        #: Dimensions whose extents are symbols, which they give their values.
        self.bound = tuple((at, extent.symbol) for at, extent in enumerate(self.shape) if extent.symbol)

    def __str__(self):
        extents = f"[{', '.join(map(str, self.shape))}]" if self.shape else ""
        return f"{self.name}: stream of {self.dtype}{extents}"

    def queues(self, value):
        """The extents of an array of streams, and its queues in row-major order."""
        extents, level = [], [value]
        for _ in self.shape:
            if not all(isinstance(each, (list, tuple)) for each in level):
                raise self._wrong_kind(value)
            lengths = {len(each) for each in level}
            if len(lengths) > 1:
                raise ValueError(f"argument {self.name} has rows of different lengths, {sorted(lengths)}: {self}")
            extents.append(lengths.pop() if lengths else 0)
            level = [each for row in level for each in row]
        if not all(isinstance(queue, (list, collections.deque)) for queue in level):
            raise self._wrong_kind(value)
        if len({id(queue) for queue in level}) < len(level):
            raise ValueError(f"argument {self.name} has one {type(level[0]).__name__} as several queues")
        return extents, level

    def _wrong_kind(self, value):
        nested = "nested lists of queues, which are " if self.shape else ""
        return TypeError(
            f"argument {self.name} is {value!r}, of type {type(value).__name__}, but the program takes {nested}"
            f"a list or a collections.deque of numbers: {self}"
        )

    def check_sizes(self, extents, symbols):
        """Looks at the extents."""
        for at, (extent, given) in enumerate(zip(self.shape, extents)):
            # Where there are no rows, nothing tells the extents of the others.
            if 0 in extents[:at]:
                return
            expected = extent.value(symbols)
            if given != expected:
                raise ValueError(
                    f"dimension {at} of argument {self.name} is {given}, but the program takes {extent} = {expected}"
                )

    def elements(self, queue):
        """The elements of a queue as the program takes them."""
        given = list(queue)
        lanes = (self.lanes,) if self.lanes > 1 else ()
        found = numpy.zeros((len(given), *lanes), self.dtype)
        for at, element in enumerate(given):
            if lanes and len(element) != self.lanes:
                raise ValueError(f"argument {self.name} has an element of {len(element)} lanes, but the program takes {self.lanes}")
            for lane, number in enumerate(element if lanes else (element,)):
                self._number.put(found, (at * self.lanes + lane) * self.dtype.itemsize, number)
        return found


class Passed:
    """Streams in the memory that a run takes them from."""

    def __init__(self):
        self._passed = []

    def add(self, stream, queues):
        """Copies the elements of queues; the address of what the program gets."""
        arrays = [stream.elements(queue) for queue in queues]
        memory = (_Queue * len(queues))()
        self._passed.append((stream, queues, memory))
        for place, array in zip(memory, arrays):
            if len(array):
                place.elements = _malloc(array.nbytes)
                if not place.elements:
                    raise MemoryError(f"there is no memory for the elements of argument {stream.name}")
                ctypes.memmove(place.elements, array.ctypes.data, array.nbytes)
                place.count = len(array)
        return ctypes.addressof(memory)

    def hand_back(self):
        """Gives the queues the elements that the program left in them."""
        found = []
        for stream, queues, memory in self._passed:
            lanes = (stream.lanes,) if stream.lanes > 1 else ()
            for queue, place in zip(queues, memory):
                left = numpy.zeros((place.count, *lanes), stream.dtype)
                if place.count:
                    ctypes.memmove(left.ctypes.data, place.elements, left.nbytes)
                found.append((queue, left.tolist()))
        for queue, left in found:
            queue.clear()
            queue.extend(map(tuple, left) if left and isinstance(left[0], list) else left)

    def free(self):
        """Frees the memory."""
        for _, _, memory in self._passed:
            for place in memory:
                _free(place.elements)
        self._passed = []
