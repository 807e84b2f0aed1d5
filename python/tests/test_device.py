"""Programs for a device: memory of the device as arguments, and runs on a stream of the caller.

The driver of CUDA and NVRTC are the stand-ins of `tests/cuda`, which run kernels on this processor.
"""

import ctypes
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy
from numpy.testing import assert_array_equal

import sdfg

_SOURCES = pathlib.Path(__file__).parents[2] / "tests" / "cuda"

_DOUBLE = """sdfg doubled {
  symbol N: i64
  array A: f64[N] storage(gpu_global)
  array B: f64[N] storage(gpu_global)
  array H: f64[N]
  state s {
    access A
    access B
    access H
    map m [i = 0:N] schedule(gpu_grid) {
      tasklet t (x) -> (y) { y = 2.0 * x }
      m.A -> t.x: A[i]
      t.y -> m.B: B[i]
    }
    A -> m.A
    m.B -> B
    B -> H
  }
}
"""


class OnDevice:
    """An array in memory of the stand-in, as CuPy describes it."""

    def __init__(self, driver, values):
        self._driver, address = driver, ctypes.c_uint64()
        assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(values.nbytes)) == 0
        self.address = address.value
        assert driver.cuMemcpyHtoD_v2(address, values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(values.nbytes)) == 0
        self.__cuda_array_interface__ = {
            "shape": values.shape,
            "typestr": values.dtype.str,
            "data": (self.address, False),
            "version": 3,
            "strides": None,
        }

    def values(self, number):
        found = numpy.zeros(number)
        assert self._driver.cuMemcpyDtoH_v2(found.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(self.address), ctypes.c_size_t(found.nbytes)) == 0
        return found


class Devices(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        for name, variable in [("driver", "SDFG_CUDA_DRIVER"), ("nvrtc", "SDFG_NVRTC")]:
            library = os.path.join(folder.name, f"lib{name}.so")
            source = [f'-DSTAND_IN_FOLDER="{_SOURCES}"', str(_SOURCES / f"{name}.cpp")]
            subprocess.run(["g++", "-shared", "-fPIC", "-O1", "-std=c++17", *source, "-o", library], check=True)
            os.environ[variable] = library
            cls.addClassCleanup(os.environ.pop, variable)
        cls.driver, context = ctypes.CDLL(os.environ["SDFG_CUDA_DRIVER"]), ctypes.c_void_p()
        assert cls.driver.cuInit(0) == 0 and cls.driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        assert cls.driver.cuCtxPushCurrent_v2(context) == 0
        cls.double = sdfg.compile(_DOUBLE, target="cuda", cache=False)

    def test_memory_of_the_device_is_used_in_place(self):
        a, b, h = OnDevice(self.driver, numpy.arange(5.0)), OnDevice(self.driver, numpy.zeros(5)), numpy.zeros(5)
        self.double(A=a, B=b, H=h)
        assert_array_equal(b.values(5), 2 * numpy.arange(5.0))
        assert_array_equal(h, 2 * numpy.arange(5.0))

    def test_a_run_is_started_on_a_stream(self):
        stream = ctypes.c_void_p()
        self.assertEqual(self.driver.cuStreamCreate(ctypes.byref(stream), 1), 0)
        for order in range(4):
            a, b, h = OnDevice(self.driver, numpy.arange(6.0) + order), OnDevice(self.driver, numpy.zeros(6)), numpy.zeros(6)
            self.driver.standInSetOrder(0, order)
            started = self.double.start(A=a, B=b, H=h, stream=stream.value)
            if order == 0:
                self.assertEqual(h[5], 0, "the call returns before the run is complete")
            self.assertIsNone(started.wait())
            self.assertIsNone(started.wait())
            assert_array_equal(h, 2 * (numpy.arange(6.0) + order))
        # A run that nobody waits for ends with its value.
        b = OnDevice(self.driver, numpy.zeros(6))
        self.double.start(A=a, B=b, H=h, stream=stream)
        assert_array_equal(b.values(6), 2 * (numpy.arange(6.0) + 3))

    def test_memory_of_the_host_is_copied(self):
        a, b, h = numpy.arange(4.0), numpy.zeros(4), numpy.zeros(4)
        self.assertIsNone(self.double.start(A=a, B=b, H=h).wait())
        assert_array_equal(b, 2 * a)
        assert_array_equal(h, 2 * a)

    def test_refusals(self):
        a, b, h = OnDevice(self.driver, numpy.zeros(5)), OnDevice(self.driver, numpy.zeros(5)), numpy.zeros(5)
        with self.assertRaisesRegex(TypeError, "argument H lies in memory of a device of CUDA, but the program takes it in memory of the host: its"):
            self.double(A=a, B=b, H=OnDevice(self.driver, h))
        with self.assertRaisesRegex(TypeError, "elements of type <f4"):
            self.double(A=OnDevice(self.driver, numpy.zeros(5, "float32")), B=b, H=h)
        with self.assertRaisesRegex(ValueError, "symbol N is 5 by dimension 0 of A, but 4 by dimension 0 of B"):
            self.double(A=a, B=OnDevice(self.driver, numpy.zeros(4)), H=h)
        b.__cuda_array_interface__["data"] = (b.address, True)
        with self.assertRaisesRegex(ValueError, "argument B is read-only"):
            self.double(A=a, B=b, H=h)
        b.__cuda_array_interface__["data"] = (b.address, False)
        b.__cuda_array_interface__["strides"] = (16,)
        with self.assertRaisesRegex(ValueError, "argument B has strides"):
            self.double(A=a, B=b, H=h)
        with self.assertRaisesRegex(TypeError, "stream is of type str"):
            self.double.start(A=a, B=a, H=h, stream="x")
        on_host = sdfg.compile(_DOUBLE.replace(" storage(gpu_global)", "").replace(" schedule(gpu_grid)", ""))
        with self.assertRaisesRegex(TypeError, "doubled uses no device"):
            on_host.start(A=h, B=h.copy(), H=h.copy())
        with self.assertRaisesRegex(TypeError, "argument A lies in memory of a device of CUDA, but the program runs on the host: compile it with target='cuda'"):
            on_host(A=a, B=h.copy(), H=h.copy())
        # OpenCL has no addresses: the run would copy from memory that the host cannot read.
        by_opencl = sdfg.compile(_DOUBLE, target="opencl", cache=False)
        refusal = "argument A lies in memory of a device of CUDA, but the program was compiled with target='opencl': compile it with target='cuda'"
        with self.assertRaisesRegex(TypeError, refusal):
            by_opencl(A=a, B=h.copy(), H=h.copy())


if __name__ == "__main__":
    unittest.main()
