"""Arrays of other libraries by DLPack, which a call uses where they are.

Memory of the host becomes an array of NumPy, memory of a device what calls know of it. A capsule is not taken from its library: it is kept until the
run is complete, and then frees what it holds as one that nobody took.
"""

import ctypes
import math

import numpy

from .device import DeviceMemory

# Codes of places: memory of the host, and the interfaces of devices whose memory programs use. Managed memory of CUDA is both, but the host may only
# read it when the device is done, so it counts as memory of the device.
_HOST, _PINNED = 1, 3
_DEVICES = {2: "cuda", 4: "opencl", 13: "cuda"}
_OTHERS = {7: "Vulkan", 8: "Metal", 10: "ROCm", 11: "ROCm", 14: "oneAPI", 15: "WebGPU"}
# Codes of types, as the letters of NumPy.
_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
# Flags of a versioned capsule.
_READ_ONLY, _COPIED = 1, 2
# The place of no elements.
_NOTHING = (ctypes.c_longdouble * 1)()
# The newest version whose members this module reads.
_VERSION = (1, 0)


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("place", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


class HostMemory:
    """Memory of the host of another library, which is the base of an array of NumPy."""

    def __init__(self, owner, capsule, described):
        #: The array of the other library.
        self.owner = owner
        self._capsule = capsule
        self.__array_interface__ = described


def is_tensor(value):
    """Whether a value has the methods of DLPack."""
    return hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__")


def tensor(name, value, stream):
    """The memory of an array of another library: an array of NumPy, or memory of a device, which follows in a stream what its library has begun."""
    place = int(value.__dlpack_device__()[0])
    kind = type(value).__name__
    if place not in (_HOST, _PINNED, *_DEVICES):
        where = _OTHERS.get(place, f"the kind {place} of DLPack")
        raise TypeError(f"argument {name} lies in memory of a device of {where}, but programs take memory of the host, of CUDA and of OpenCL")
    # Other devices have no number for a stream.
    options = {"stream": stream or 1} if _DEVICES.get(place) == "cuda" else {}
    try:
        capsule = _capsule(value, options)
        described, flags = _opened(name, capsule)
    except (BufferError, RuntimeError) as error:
        raise ValueError(f"argument {name} of type {kind} cannot be used where it is: {error}") from error
    if flags & _COPIED:
        raise ValueError(f"argument {name} of type {kind} cannot be used where it is: its library gives a copy")
    if described.code not in _KINDS or described.bits % 8 or described.lanes != 1:
        raise TypeError(f"argument {name} has elements of a type that NumPy does not have: code {described.code}, {described.bits} bits")
    dtype = numpy.dtype("?" if _KINDS[described.code] == "b" else f"{_KINDS[described.code]}{described.bits // 8}")
    shape = tuple(described.shape[: described.ndim]) if described.ndim else ()
    strides = None
    if described.ndim and described.strides:
        strides = tuple(stride * dtype.itemsize for stride in described.strides[: described.ndim])
    address, is_read_only = described.data or 0, bool(flags & _READ_ONLY)
    if described.place in (_HOST, _PINNED):
        size = math.prod(shape) * dtype.itemsize
        # An array without elements may have no address.
        data = (address + described.byte_offset if size else ctypes.addressof(_NOTHING), is_read_only)
        memory = {"shape": shape, "typestr": dtype.str, "data": data, "strides": strides if size else None, "version": 3}
        return numpy.asarray(HostMemory(value, capsule, memory))
    interface = _DEVICES[described.place]
    if interface == "opencl" and described.byte_offset:
        raise ValueError(f"argument {name} begins inside of a buffer of OpenCL, but programs take buffers from their beginning")
    return DeviceMemory(
        value,
        interface,
        shape=shape,
        dtype=dtype,
        address=address + described.byte_offset,
        is_read_only=is_read_only,
        strides=strides,
        kept=capsule,
    )


def _capsule(value, options):
    try:
        return value.__dlpack__(**options, max_version=_VERSION)
    except TypeError:
        # Libraries from before DLPack 1.0 take no version.
        return value.__dlpack__(**options)


def _opened(name, capsule):
    """What a capsule describes, and its flags."""
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        if versioned.major != _VERSION[0]:
            raise BufferError(f"its library has version {versioned.major}.{versioned.minor} of DLPack")
        return versioned.tensor, versioned.flags
    if _is_valid(capsule, b"dltensor"):
        return _Tensor.from_address(_pointer(capsule, b"dltensor")), 0
    raise TypeError(f"argument {name} gives no capsule of DLPack")
