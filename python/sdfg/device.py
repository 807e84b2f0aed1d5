"""Memory of a device in calls, and runs on a stream of the caller."""

import math


class DeviceMemory:
    """An array in memory of a device of CUDA, by its `__cuda_array_interface__` (CuPy, PyTorch, Numba), as a call looks at it."""

    #: The interface of the device.
    interface = "cuda"

    def __init__(self, name, value):
        described = value.__cuda_array_interface__
        self.shape = tuple(described["shape"])
        self.typestr = described["typestr"]
        self.address, self.is_read_only = described["data"]
        if described.get("mask") is not None:
            raise TypeError(f"argument {name} has a mask, of which the program would know nothing")
        self.ndim, self.size = len(self.shape), math.prod(self.shape)
        self._strides = described.get("strides")
        #: The array, which lives as long as this.
        self.owner = value

    def strides(self, itemsize):
        """Bytes between neighbours."""
        if self._strides is not None:
            return tuple(self._strides)
        return tuple(math.prod(self.shape[at + 1 :]) * itemsize for at in range(self.ndim))


def is_device_memory(value):
    """Whether a value lies in memory of a device of CUDA."""
    return hasattr(value, "__cuda_array_interface__")


def stream_address(stream):
    """The address of a stream: of a number, or of a stream of CuPy (`ptr`), PyTorch (`cuda_stream`), Numba or PyOpenCL (`int_ptr`)."""
    if stream is None:
        return None
    for name in ("ptr", "cuda_stream", "int_ptr"):
        address = getattr(stream, name, None)
        if isinstance(address, int):
            return address or None
    handle = getattr(stream, "handle", stream)
    if hasattr(handle, "value"):
        handle = handle.value or 0  # a null pointer of ctypes has None
    elif handle is not stream and hasattr(handle, "__int__"):
        handle = int(handle)
    if isinstance(handle, int) and not isinstance(handle, bool):
        return handle or None
    raise TypeError(f"stream is of type {type(stream).__name__}, but is the address of a stream, an object of CuPy, PyTorch, Numba or PyOpenCL, or None")


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
