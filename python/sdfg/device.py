"""Memory of a device in calls, and runs on a stream of the caller."""

import math

import numpy

# CUDA's number for the default stream, which the program takes as NULL.
_DEFAULT_STREAM = 1


class DeviceMemory:
    """An array in memory of a device, as a call looks at it."""

    def __init__(self, owner, interface, *, shape, dtype, address, is_read_only, strides, stream=None, kept=None):
        #: The array, which lives as long as this.
        self.owner = owner
        #: The interface of the device: "cuda" or "opencl".
        self.interface = interface
        self.shape, self.dtype = shape, dtype
        self.ndim, self.size = len(shape), math.prod(shape)
        #: Of CUDA, the address of the first element; of OpenCL, a buffer.
        self.address = address
        self.is_read_only = is_read_only
        #: Bytes between neighbours; None of elements in row-major order with nothing between them.
        self.strides = strides
        #: The stream of CUDA in which its owner may still use it; None if a run need not wait for that.
        self.stream = stream
        self._kept = kept

    @property
    def is_dense(self):
        """Whether elements lie in row-major order with nothing between them."""
        if self.strides is None or self.size == 0:
            return True
        packed = (math.prod(self.shape[at + 1 :]) * self.dtype.itemsize for at in range(self.ndim))
        return all(extent == 1 or given == stride for extent, given, stride in zip(self.shape, self.strides, packed))


def of_cuda_array(name, value, described):
    """Memory of a device by the `__cuda_array_interface__` of an array (CuPy, PyTorch, Numba)."""
    if described.get("mask") is not None:
        raise TypeError(f"argument {name} has a mask, of which the program would know nothing")
    # Before version 3, callers put streams in order themselves.
    stream = described.get("stream") if described.get("version", 0) >= 3 else None
    if stream is not None and (isinstance(stream, bool) or not isinstance(stream, int) or stream <= 0):
        raise ValueError(f"argument {name} has the stream {stream!r} in its __cuda_array_interface__, but streams are None or positive numbers")
    address, is_read_only = described["data"]
    strides = described.get("strides")
    return DeviceMemory(
        value,
        "cuda",
        shape=tuple(described["shape"]),
        dtype=numpy.dtype(described["typestr"]),
        address=address or 0,
        is_read_only=is_read_only,
        strides=None if strides is None else tuple(strides),
        stream=stream,
    )


def stream_address(stream):
    """The address of a stream: of a number, or of a stream of CuPy (`ptr`), PyTorch (`cuda_stream`), Numba or PyOpenCL (`int_ptr`)."""
    if stream is None:
        return None
    for name in ("ptr", "cuda_stream", "int_ptr"):
        address = getattr(stream, name, None)
        if isinstance(address, int):
            return _given(address)
    handle = getattr(stream, "handle", stream)
    if hasattr(handle, "value"):
        handle = handle.value or 0  # a null pointer of ctypes has None
    elif handle is not stream and hasattr(handle, "__int__"):
        handle = int(handle)
    if isinstance(handle, int) and not isinstance(handle, bool):
        return _given(handle)
    raise TypeError(f"stream is of type {type(stream).__name__}, but is the address of a stream, an object of CuPy, PyTorch, Numba or PyOpenCL, or None")


def _given(address):
    """A stream as the program takes it."""
    return None if address in (0, _DEFAULT_STREAM) else address


def producers(arguments, stream):
    """The streams other than that of a run in which owners of its arguments may still use them, as the program takes them."""
    streams = {value.stream for value in arguments.values() if type(value) is DeviceMemory}
    return [_given(other) for other in sorted(streams - {None, stream or _DEFAULT_STREAM})]


class Started:
    """A run that was started on a stream. It keeps the arguments until it ends: at `wait`, or when nothing refers to it."""

    def __init__(self, wait, results, kept):
        self._wait, self._results, self._kept = wait, results, kept
        self._found = self._error = None

    def wait(self):
        """Waits until the run is complete; its results. A second wait has the same ones, or raises the same error."""
        wait, self._wait = self._wait, None
        if wait is not None:
            try:
                wait()
                self._found = self._results()
            except Exception as error:
                self._error = error
            finally:
                self._results = self._kept = None
        if self._error is not None:
            raise self._error
        return self._found

    def __del__(self):
        if getattr(self, "_wait", None) is not None:
            try:
                self.wait()
            except Exception:  # noqa: BLE001: an error is one of the stream, too
                pass
