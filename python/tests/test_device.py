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
from tensors import CUDA, OPENCL, Tensor

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

    def give(self, values, stream):
        """A copy to it, as a command of a stream."""
        place = values.ctypes.data_as(ctypes.c_void_p)
        assert self._driver.cuMemcpyHtoDAsync_v2(ctypes.c_uint64(self.address), place, ctypes.c_size_t(values.nbytes), stream) == 0

    def take(self, values, stream):
        """A copy from it, as a command of a stream."""
        place = values.ctypes.data_as(ctypes.c_void_p)
        assert self._driver.cuMemcpyDtoHAsync_v2(place, ctypes.c_uint64(self.address), ctypes.c_size_t(values.nbytes), stream) == 0

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

    def _stream(self):
        stream = ctypes.c_void_p()
        self.assertEqual(self.driver.cuStreamCreate(ctypes.byref(stream), 1), 0)
        return stream

    def test_runs_follow_the_streams_of_producers(self):
        producer = self._stream()
        for order in range(4):
            values, h = numpy.arange(7.0) + order, numpy.zeros(7)
            a, b = OnDevice(self.driver, numpy.zeros(7)), OnDevice(self.driver, numpy.zeros(7))
            a.__cuda_array_interface__["stream"] = producer.value
            self.driver.standInSetOrder(0, order)
            a.give(values, producer)
            self.double(A=a, B=b, H=h)
            assert_array_equal(h, 2 * values, f"order {order}")

    def test_producers_follow_runs_in_other_streams(self):
        producer, stream = self._stream(), self._stream()
        for order in range(4):
            values, found, h = numpy.arange(7.0) + order, numpy.zeros(7), numpy.zeros(7)
            a, b = OnDevice(self.driver, numpy.zeros(7)), OnDevice(self.driver, numpy.zeros(7))
            for array in (a, b):
                array.__cuda_array_interface__["stream"] = producer.value
            self.driver.standInSetOrder(0, order)
            a.give(values, producer)
            started = self.double.start(A=a, B=b, H=h, stream=stream)
            b.take(found, producer)
            a.give(numpy.zeros(7), producer)
            self.assertEqual(self.driver.cuStreamSynchronize(producer), 0)
            assert_array_equal(found, 2 * values, f"order {order}")
            started.wait()

    def test_default_streams_have_numbers(self):
        values, h = numpy.arange(4.0), numpy.zeros(4)
        b = OnDevice(self.driver, numpy.zeros(4))
        for number in (None, 1, 2):
            a = OnDevice(self.driver, values)
            a.__cuda_array_interface__["stream"] = number
            self.double(A=a, B=b, H=h)
            self.double.start(A=a, B=b, H=h, stream=number).wait()
            assert_array_equal(h, 2 * values)
        for number in (0, -1, True, "1"):
            a.__cuda_array_interface__["stream"] = number
            with self.assertRaisesRegex(ValueError, "argument A has the stream .* but streams are None or positive numbers"):
                self.double(A=a, B=b, H=h)
        # Before version 3, no stream was described.
        a.__cuda_array_interface__["version"] = 2
        self.double(A=a, B=b, H=h)
        a.__cuda_array_interface__.update(version=3, stream=12345)
        with self.assertRaisesRegex(sdfg.RunError, "streams of the caller are not both of the device"):
            self.double(A=a, B=b, H=h)

    def test_tensors_are_used_in_place(self):
        values, h, stream = numpy.arange(5.0), numpy.zeros(5), self._stream()
        a, b = OnDevice(self.driver, values), OnDevice(self.driver, numpy.zeros(5))
        tensors = Tensor(CUDA, a.address, (5,)), Tensor(CUDA, b.address, (5,))
        self.double(A=tensors[0], B=tensors[1], H=h)
        assert_array_equal(b.values(5), 2 * values)
        part = Tensor(CUDA, a.address, (3,), offset=2)
        run = self.double.start(A=part, B=Tensor(CUDA, b.address, (3,)), H=h[:3], stream=stream)
        self.assertEqual(part.capsules, 1, "it is kept until the run is complete")
        run.wait()
        del run
        assert_array_equal(b.values(3), 2 * values[2:])
        # The library puts the stream of the run behind its own.
        self.assertEqual((tensors[0].streams, part.streams), ([1], [stream.value]))
        self.assertEqual((tensors[0].capsules, part.capsules), (0, 0))
        # A description without a stream gives way to it.
        tensors[0].__cuda_array_interface__ = {**a.__cuda_array_interface__, "version": 2}
        self.double(A=tensors[0], B=b, H=h)
        self.assertEqual(tensors[0].streams, [1, 1])
        with self.assertRaisesRegex(TypeError, "argument H lies in memory of a device of CUDA, but the program takes it in memory of the host"):
            self.double(A=a, B=b, H=tensors[0])
        with self.assertRaisesRegex(TypeError, "argument A lies in memory of a device of OpenCL, but the program was compiled with target='cuda'"):
            self.double(A=Tensor(OPENCL, 64, (5,)), B=b, H=h)

    def test_buffers_of_opencl_are_used_in_place(self):
        try:
            opencl = ctypes.CDLL("libOpenCL.so.1")
        except OSError:
            self.skipTest("no driver of OpenCL")
        pointer, size, error = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int32()
        platform, device = pointer(), pointer()
        if opencl.clGetPlatformIDs(1, ctypes.byref(platform), None) or opencl.clGetDeviceIDs(platform, ctypes.c_uint64(0xFFFFFFFF), 1, ctypes.byref(device), None):
            self.skipTest("no device of OpenCL")
        for name in ("clCreateContext", "clCreateCommandQueue", "clCreateBuffer"):
            getattr(opencl, name).restype = pointer
        context = pointer(opencl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(error)))
        queue = pointer(opencl.clCreateCommandQueue(context, device, ctypes.c_uint64(0), ctypes.byref(error)))
        values, found, h = numpy.arange(6.0), numpy.zeros(6), numpy.zeros(6)
        a, b = (pointer(opencl.clCreateBuffer(context, ctypes.c_uint64(1), size(values.nbytes), None, ctypes.byref(error))) for _ in range(2))
        opencl.clEnqueueWriteBuffer(queue, a, 1, size(0), size(values.nbytes), values.ctypes.data_as(pointer), 0, None, None)
        double = sdfg.compile(_DOUBLE, target="opencl", cache=False)
        double.start(A=Tensor(OPENCL, a.value, (6,)), B=Tensor(OPENCL, b.value, (6,)), H=h, stream=queue).wait()
        opencl.clEnqueueReadBuffer(queue, b, 1, size(0), size(found.nbytes), found.ctypes.data_as(pointer), 0, None, None)
        assert_array_equal(found, 2 * values)
        assert_array_equal(h, 2 * values)
        with self.assertRaisesRegex(ValueError, "argument A begins inside of a buffer of OpenCL"):
            double(A=Tensor(OPENCL, a.value, (3,), offset=3), B=h[:3].copy(), H=h[:3])
        # Objects of OpenCL stay: the program keeps its handle as long as the process.

    def test_memory_of_the_host_is_copied(self):
        a, b, h = numpy.arange(4.0), numpy.zeros(4), numpy.zeros(4)
        self.assertIsNone(self.double.start(A=a, B=b, H=h).wait())
        assert_array_equal(b, 2 * a)
        assert_array_equal(h, 2 * a)

    def test_refusals(self):
        a, b, h = OnDevice(self.driver, numpy.zeros(5)), OnDevice(self.driver, numpy.zeros(5)), numpy.zeros(5)
        with self.assertRaisesRegex(TypeError, "argument H lies in memory of a device of CUDA, but the program takes it in memory of the host: its"):
            self.double(A=a, B=b, H=OnDevice(self.driver, h))
        with self.assertRaisesRegex(TypeError, "elements of type float32"):
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
