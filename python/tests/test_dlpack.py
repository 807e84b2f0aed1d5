"""Arrays of other libraries in memory of the host, by DLPack."""

import unittest

import numpy
from numpy.testing import assert_array_equal

from programs import AXPY, compiled
from sdfg.dlpack import tensor
from tensors import CUDA, HOST, METAL, PINNED, OldTensor, Tensor


_RETURNED = """sdfg returned {
  symbol N: i64
  array x: f64[N]
  array __return: f64[N]
  state s {
    access x
    access __return
    x -> __return
  }
}
"""


def _of(array, kind=Tensor, place=HOST, **options):
    return kind(place, array.__array_interface__["data"][0], array.shape, array.dtype, **options)


class Tensors(unittest.TestCase):
    def test_memory_of_the_host_is_used_in_place(self):
        axpy = compiled(AXPY)
        for kind in (Tensor, OldTensor):
            for place in (HOST, PINNED):
                x, y = numpy.arange(4.0), numpy.ones(4)
                tensors = _of(x, kind, place), _of(y, kind, place, strides=(1,))
                self.assertIsNone(axpy(a=2.0, x=tensors[0], y=tensors[1]))
                assert_array_equal(y, 2 * x + 1)
                for each in tensors:
                    self.assertEqual((each.streams, each.capsules), ([None], 0))

    def test_capsules_live_as_long_as_arrays(self):
        described = _of(numpy.arange(4.0))
        array = tensor("x", described, None)
        self.assertEqual(described.capsules, 1)
        del array
        self.assertEqual(described.capsules, 0)

    def test_parts_begin_behind_the_address(self):
        x, y = numpy.arange(6.0), numpy.ones(3)
        part = Tensor(HOST, x.__array_interface__["data"][0], (3,), offset=2)
        compiled(AXPY)(a=1.0, x=part, y=y)
        assert_array_equal(y, x[2:5] + 1)

    def test_an_array_without_elements_has_no_address(self):
        empty = Tensor(HOST, None, (0,))
        compiled(AXPY)(a=1.0, x=empty, y=Tensor(HOST, None, (0,)))
        self.assertEqual(empty.capsules, 0)

    def test_refusals(self):
        axpy = compiled(AXPY)
        x, y = numpy.arange(4.0), numpy.ones(4)

        def refused(error, message, **arguments):
            with self.assertRaisesRegex(error, message):
                axpy(**{"a": 1.0, "x": x, "y": y, **arguments})

        refused(TypeError, "argument x has elements of type float32, but the program takes float64", x=_of(x.astype("float32")))
        refused(ValueError, "argument y is read-only, but the program writes it", y=_of(y, flags=1))
        refused(ValueError, "argument y of type Tensor cannot be used where it is: its library gives a copy", y=_of(y, flags=2))
        refused(ValueError, "argument x has strides", x=Tensor(HOST, x.__array_interface__["data"][0], (2,), strides=(2,)), y=y[:2])
        refused(TypeError, "argument x has elements of a type that NumPy does not have: code 2, 64 bits", x=_of(x, lanes=2))
        refused(TypeError, "argument x lies in memory of a device of Metal, but programs take", x=_of(x, place=METAL))
        refused(TypeError, "argument x lies in memory of a device of CUDA, but the program runs on the host", x=_of(x, place=CUDA))
        other = _of(x)
        other.version = (2, 0)
        refused(ValueError, "argument x of type Tensor cannot be used where it is: its library has version 2.0 of DLPack", x=other)
        refuses = _of(x)
        refuses.__dlpack_device__ = lambda: (HOST, 0)

        def fails(**_):
            raise BufferError("it has gradients")

        refuses.__dlpack__ = fails
        refused(ValueError, "argument x of type Tensor cannot be used where it is: it has gradients", x=refuses)

    def test_results_are_what_was_passed(self):
        x, found = numpy.arange(3.0), numpy.zeros(3)
        passed = _of(found)
        self.assertIs(compiled(_RETURNED)(x=x, __return=passed), passed)
        assert_array_equal(found, x)


if __name__ == "__main__":
    unittest.main()
