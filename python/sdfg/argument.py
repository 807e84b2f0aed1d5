"""The arguments of a compiled program: what may be given for each, and how it gets to the program.

A value that does not fit is a TypeError (of the wrong kind or element type) or a ValueError (of the wrong size, layout or magnitude) that
names the argument and what the program takes. Nothing is converted but Python's numbers, and nothing is copied.
"""

import ctypes
import math
import operator
import struct

import numpy

from .device import DeviceMemory
from .dlpack import HostMemory
from .expression import Expression

# For each element type its name in NumPy, and how `struct` writes it; complex numbers are two floats.
TYPES = {
    "bool": ("bool", "?"),
    "i8": ("int8", "b"),
    "i16": ("int16", "h"),
    "i32": ("int32", "i"),
    "i64": ("int64", "q"),
    "u8": ("uint8", "B"),
    "u16": ("uint16", "H"),
    "u32": ("uint32", "I"),
    "u64": ("uint64", "Q"),
    "f16": ("float16", "e"),
    "f32": ("float32", "f"),
    "f64": ("float64", "d"),
    "complex64": ("complex64", "ff"),
    "complex128": ("complex128", "dd"),
}

# The interfaces of devices, by the option `target` of `sdfg.compile`.
_DEVICES = {"cuda": "CUDA", "opencl": "OpenCL"}


class Array:
    """An argument in the caller's memory: an array, or a scalar that the program writes."""

    def __init__(self, description, index):
        self.name = description["name"]
        #: The position in the signature.
        self.index = index
        self.dtype = numpy.dtype(TYPES[description["type"]][0])
        self.is_written = description["access"] != "read"
        layout = description.get("layout") or {"dense": True, "shape": [], "strides": [], "offset": "0", "elements": "1"}
        shape, strides = list(layout["shape"]), list(layout["strides"])
        offset, elements = layout["offset"], layout["elements"]
        lanes = description.get("lanes")
        if lanes:
            # NumPy has no short vectors: their lanes are one dimension more.
            strides, offset, elements = [f"({text})*{lanes}" for text in strides], f"({offset})*{lanes}", f"({elements})*{lanes}"
            shape.append(str(lanes))
            strides.append("1")
        #: Whether the program has it in memory of a device, so that a caller may have it there.
        self.is_on_device = False
        #: The interface of the program's device, "cuda" or "opencl"; None of a program without a device.
        self.device_interface = None
        self._is_scalar = description["kind"] == "scalar" and not lanes
        # A scalar that the program reads before it writes it may be given as a number, and then keeps its value as numbers do.
        self._number = Scalar(description, index) if self._is_scalar and description["access"] == "read_write" else None
        self.is_dense = layout["dense"]
        self.shape = tuple(map(Expression, shape))
        self._strides = tuple(map(Expression, strides))
        self._offset = Expression(offset)
        self._elements = Expression(elements)
        #: Dimensions whose extents are symbols, which they give their values.
        self.bound = tuple((at, extent.symbol) for at, extent in enumerate(self.shape) if extent.symbol)
        self._constants = tuple((at, int(extent.text)) for at, extent in enumerate(self.shape) if extent.text.isdigit())
        #: Dimensions whose extents are no plain symbols or numbers.
        self.computed = tuple(at for at, extent in enumerate(self.shape) if not extent.symbol and not extent.text.isdigit())
        #: Dimensions whose strides are symbols, which they give values if no extent does.
        self.bound_strides = () if self.is_dense else tuple((at, s.symbol) for at, s in enumerate(self._strides) if s.symbol)

    def __str__(self):
        return f"{self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]"

    def of_number(self, value):
        """Memory with a number, where the program takes one; other values stay what they are."""
        if self._number is None or isinstance(value, numpy.ndarray):
            return value
        memory = numpy.zeros((), self.dtype)
        self._number.put(memory, 0, value)
        return memory

    def check(self, value):
        """Looks at everything but sizes that depend on symbols."""
        if type(value) is DeviceMemory:
            self._check_device_memory(value)
            return
        # One flag says of most arrays all that there is to say about memory.
        if not (
            type(value) is numpy.ndarray
            and value.dtype == self.dtype
            and value.ndim == len(self.shape)
            and value.flags.carray
        ):
            self._check_slowly(value)
        shape = value.shape
        for at, extent in self._constants:
            if shape[at] != extent:
                raise ValueError(f"dimension {at} of argument {self.name} is {shape[at]}, but the program takes {extent}")

    def _check_device_memory(self, value):
        """The same of memory of a device."""
        self._check_device(value)
        if value.dtype != self.dtype:
            raise TypeError(f"argument {self.name} has elements of type {value.dtype}, but the program takes {self.dtype}")
        if value.ndim != len(self.shape):
            raise ValueError(
                f"argument {self.name} has {_counted(value.ndim)}, but the program takes {_counted(len(self.shape))}: {self}"
            )
        if self.is_written and value.is_read_only:
            raise ValueError(f"argument {self.name} is read-only, but the program writes it")
        if not self.is_dense:
            raise ValueError(f"argument {self.name} lies on the device, but the program takes it with strides, which calls from Python have on the host only")
        if not value.is_dense:
            raise ValueError(f"argument {self.name} has strides, but the program takes its elements in row-major order with nothing between them")
        for at, extent in self._constants:
            if value.shape[at] != extent:
                raise ValueError(f"dimension {at} of argument {self.name} is {value.shape[at]}, but the program takes {extent}")

    def _check_device(self, value):
        """Whether the program takes memory of such a device for this argument."""
        place = f"argument {self.name} lies in memory of a device of {_DEVICES[value.interface]}"
        if self.device_interface is None:
            raise TypeError(
                f"{place}, but the program runs on the host: compile it with target='{value.interface}', or copy the array to memory of the host"
            )
        if not self.is_on_device:
            raise TypeError(f"{place}, but the program takes it in memory of the host: its storage is not gpu_global")
        if value.interface != self.device_interface:
            raise TypeError(
                f"{place}, but the program was compiled with target='{self.device_interface}': compile it with "
                f"target='{value.interface}', or pass an array of NumPy, which the run copies"
            )

    def _check_slowly(self, value):
        if not isinstance(value, numpy.ndarray):
            hint = f", such as numpy.zeros((), '{self.dtype}'), for the result" if self._is_scalar else ""
            raise TypeError(
                f"argument {self.name} is of type {type(value).__name__}, but the program takes a numpy.ndarray{hint}: {self}"
            )
        if isinstance(value, numpy.ma.MaskedArray):
            raise TypeError(f"argument {self.name} has a mask, of which the program would know nothing")
        if value.dtype != self.dtype:
            raise TypeError(f"argument {self.name} has elements of type {value.dtype}, but the program takes {self.dtype}")
        if value.ndim != len(self.shape):
            raise ValueError(
                f"argument {self.name} has {_counted(value.ndim)}, but the program takes {_counted(len(self.shape))}: {self}"
            )
        if self.is_written and not value.flags.writeable:
            raise ValueError(f"argument {self.name} is read-only, but the program writes it")
        if not value.flags.aligned:
            raise ValueError(f"argument {self.name} lies at an address where its elements are not aligned")
        if self.is_dense and not value.flags.c_contiguous:
            raise ValueError(
                f"argument {self.name} has strides {_elements(value)}, but the program takes its elements in row-major order "
                "with nothing between them: give it numpy.ascontiguousarray(...), or declare strides in the program"
            )

    def check_sizes(self, value, symbols):
        """Looks at the extents and strides that depend on symbols."""
        shape = value.shape
        for at in self.computed:
            expected = self._value(self.shape[at], symbols)
            if shape[at] != expected:
                raise ValueError(
                    f"dimension {at} of argument {self.name} is {shape[at]}, but the program takes {self.shape[at]} = {expected}"
                )
        if self.is_dense or value.size == 0:
            return
        strides = [self._value(stride, symbols) for stride in self._strides]
        for extent, given, expected in zip(shape, value.strides, strides):
            # What has one element has no neighbour.
            if extent > 1 and given != expected * value.itemsize:
                raise ValueError(
                    f"argument {self.name} has strides {_elements(value)}, but the program takes {tuple(strides)}: "
                    f"{', '.join(map(str, self._strides))}"
                )

    def address(self, value, symbols):
        """What the program gets."""
        if type(value) is DeviceMemory:
            return value.address
        address = value.__array_interface__["data"][0]
        if self.is_dense:
            return address
        return address - self._value(self._offset, symbols) * value.itemsize

    def allocate(self, symbols):
        """An array for a result, of zeros."""
        shape = tuple(self._value(extent, symbols) for extent in self.shape)
        if any(extent < 0 for extent in shape):
            raise ValueError(f"the result {self} has the negative extents {shape}")
        if self.is_dense:
            return numpy.zeros(shape, self.dtype)
        memory = numpy.zeros(self._value(self._elements, symbols), self.dtype)
        strides = [self._value(stride, symbols) * self.dtype.itemsize for stride in self._strides]
        offset = self._value(self._offset, symbols) * self.dtype.itemsize
        return numpy.ndarray(shape, self.dtype, memory, offset, strides)

    def at_address(self, address, symbols):
        """The array that lies at an address."""
        shape = tuple(self._value(extent, symbols) for extent in self.shape)
        if any(extent < 0 for extent in shape):
            raise ValueError(f"argument {self} has the negative extents {shape}")
        elements = math.prod(shape) if self.is_dense else self._value(self._elements, symbols)
        memory = (ctypes.c_char * (elements * self.dtype.itemsize)).from_address(address)
        if self.is_dense:
            return numpy.ndarray(shape, self.dtype, memory)
        strides = [self._value(stride, symbols) * self.dtype.itemsize for stride in self._strides]
        return numpy.ndarray(shape, self.dtype, memory, self._value(self._offset, symbols) * self.dtype.itemsize, strides)

    def result(self, value):
        """A result as the caller gets it, when the run has ended."""
        if isinstance(value, DeviceMemory):
            return value.owner
        if isinstance(value.base, HostMemory):
            return value.base.owner
        return value[()] if self._is_scalar else value

    def symbols(self):
        """The symbols that have to have values."""
        layout = [*self._strides, self._offset, self._elements] if not self.is_dense else []
        return set().union(*(expression.symbols for expression in [*self.shape, *layout]))

    def _value(self, expression, symbols):
        try:
            return expression.value(symbols)
        except ArithmeticError as error:
            raise ValueError(f"the size {expression} of argument {self.name} has no value: {error}") from None


class Scalar:
    """A number that the program only reads, or a symbol."""

    def __init__(self, description, index):
        self.name = description["name"]
        self.index = index
        self.is_symbol = description["kind"] == "symbol"
        self.type, code = TYPES[description["type"]]
        self._pack_into = struct.Struct("=" + code).pack_into
        self._convert = {"?": _truth, "e": _real, "f": _real, "d": _real, "ff": _complex, "dd": _complex}.get(code, operator.index)

    def __str__(self):
        return self.name if self.is_symbol else f"{self.name}: {self.type}"

    def integer(self, value):
        """The value of a symbol."""
        try:
            return operator.index(value)
        except TypeError:
            raise self._wrong_type(value) from None

    def put(self, memory, at, value):
        """Writes the value as it lies in memory."""
        try:
            converted = self._convert(value)
            if type(converted) is tuple:
                self._pack_into(memory, at, *converted)
            else:
                self._pack_into(memory, at, converted)
        except TypeError:
            raise self._wrong_type(value) from None
        except (struct.error, OverflowError):
            raise ValueError(f"argument {self.name} is {value}, which does not fit in {self.type}") from None

    def _wrong_type(self, value):
        given = type(value).__name__
        return TypeError(f"argument {self.name} is {value!r}, of type {given}, but the program takes {self.type}")


def _truth(value):
    if isinstance(value, (bool, numpy.bool_)):
        return bool(value)
    raise TypeError


def _real(value):
    if isinstance(value, (str, bytes, numpy.ndarray)):
        raise TypeError
    return float(value)


def _complex(value):
    if isinstance(value, (str, bytes, numpy.ndarray)):
        raise TypeError
    value = complex(value)
    return value.real, value.imag


def _counted(dimensions):
    return "1 dimension" if dimensions == 1 else f"{dimensions} dimensions"


def _elements(array):
    """Strides in elements, where they are whole."""
    size = array.itemsize
    return tuple(stride // size if stride % size == 0 else stride / size for stride in array.strides)
