"""Arrays of a library of our own, which describes them by DLPack."""

import ctypes

import numpy

HOST, CUDA, PINNED, OPENCL, METAL = 1, 2, 3, 4, 8
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32 * 2),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, _destructor)(("PyCapsule_New", ctypes.pythonapi))


class Tensor:
    """An array of a library of DLPack 1.0. Strides and the offset are those of elements."""

    version = (1, 0)

    def __init__(self, place, address, shape, dtype="float64", *, strides=None, offset=0, flags=0, lanes=1):
        self.place, self.flags = place, flags
        #: Streams that consumers named, and the number of capsules that are left.
        self.streams, self.capsules = [], 0
        dtype = numpy.dtype(dtype)
        self._shape = (ctypes.c_int64 * len(shape))(*shape)
        self._strides = None if strides is None else (ctypes.c_int64 * len(shape))(*strides)
        listed = ctypes.POINTER(ctypes.c_int64)
        self._tensor = _Tensor(
            address,
            (place, 0),
            len(shape),
            _CODES[dtype.kind],
            8 * dtype.itemsize,
            lanes,
            ctypes.cast(self._shape, listed),
            listed() if strides is None else ctypes.cast(self._strides, listed),
            offset * dtype.itemsize,
        )
        self._free = _destructor(self._freed)

    def _freed(self, _):
        self.capsules -= 1

    def __dlpack_device__(self):
        return self.place, 0

    def _capsule(self, managed, name, stream):
        self.streams.append(stream)
        self.capsules += 1
        self._managed = managed
        return _new(ctypes.addressof(managed), name, self._free)

    def __dlpack__(self, *, stream=None, max_version=None):
        assert max_version is not None
        return self._capsule(_Versioned(self.version, None, None, self.flags, self._tensor), b"dltensor_versioned", stream)


class OldTensor(Tensor):
    """An array of a library from before DLPack 1.0."""

    def __dlpack__(self, *, stream=None):
        return self._capsule(_Managed(self._tensor, None, None), b"dltensor", stream)
