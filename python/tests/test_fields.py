"""Fields of GT4Py as arguments of programs with its names."""

import types
import unittest

import numpy
from numpy.testing import assert_array_equal

from programs import compiled

SHIFTED = """sdfg shifted {
  symbol __a_I_range_0: i64
  symbol __a_I_range_1: i64
  symbol __a_I_stride: i64
  symbol __out_I_range_0: i64
  symbol __out_I_range_1: i64
  symbol __out_I_stride: i64
  array a: f64[__a_I_range_1 - __a_I_range_0] strides(__a_I_stride)
  array out: f64[__out_I_range_1 - __out_I_range_0] strides(__out_I_stride)

  state s {
    access a
    access out
    map m [i = __out_I_range_0:__out_I_range_1] {
      tasklet t (x) -> (y) { y = 2 * x + i }
      m.a -> t.x: a[i + 1 - __a_I_range_0]
      t.y -> m.out: out[i - __out_I_range_0]
    }
    a -> m.a
    m.out -> out
  }
}
"""


def field(array, *ranges):
    """A field as GT4Py has it, over dimensions I, J, ..."""
    dimensions = [types.SimpleNamespace(value=name) for name in "IJK"]
    return types.SimpleNamespace(ndarray=array, domain=types.SimpleNamespace(dims=dimensions[: len(ranges)], ranges=ranges))


class Fields(unittest.TestCase):
    def test_fields_are_arrays_with_ranges(self):
        f = compiled(SHIFTED)
        a, out = numpy.arange(20.0)[::2], numpy.zeros(4)
        f(a=field(a, range(-3, 7)), out=field(out, range(-2, 2)))
        # `out` at -2 is twice `a` at -1, which is its third element.
        assert_array_equal(out, [2 * a[2] - 2, 2 * a[3] - 1, 2 * a[4], 2 * a[5] + 1])

    def test_given_symbols_and_arrays_stay(self):
        f = compiled(SHIFTED)
        a, out = numpy.arange(5.0), numpy.zeros(3)
        f(a=a, __a_I_range_0=0, __a_I_range_1=5, out=field(out, range(7, 9)), __out_I_range_0=0, __out_I_range_1=3)
        assert_array_equal(out, [2, 5, 8])

    def test_ranges_that_are_missing_are_named(self):
        with self.assertRaisesRegex(TypeError, "without .*__a_I_range_0"):
            compiled(SHIFTED)(a=numpy.zeros(3), out=field(numpy.zeros(2), range(2)))
        with self.assertRaisesRegex(ValueError, "dimension 0 of argument a is 3, but the program takes .* = 4"):
            compiled(SHIFTED)(a=field(numpy.zeros(3), range(4)), out=field(numpy.zeros(2), range(2)))


if __name__ == "__main__":
    unittest.main()
