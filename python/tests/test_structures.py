"""Structures as arguments of programs whose arguments are their members."""

import ctypes
import types
import unittest

import numpy
from numpy.testing import assert_array_equal

from programs import compiled

MEMBERS = """sdfg members {
  symbol N: i64
  scalar s_by: f64
  array s_in_x: f64[N]
  scalar s_sum: f64

  state one {
    access s_by
    access s_in_x
    access after = s_in_x
    map m [i = 0:N] schedule(sequential) {
      tasklet t (by, x) -> (r) { r = by * x }
      m.s_by -> t.by: s_by
      m.s_in_x -> t.x: s_in_x[i]
      t.r -> m.s_in_x: s_in_x[i]
    }
    s_by -> m.s_by
    s_in_x -> m.s_in_x
    m.s_in_x -> after
  }

  state two {
    access s_in_x
    access s_sum
    tasklet u (x) -> (r) { r = x + 1 }
    s_in_x -> u.x: s_in_x[1]
    u.r -> s_sum: s_sum
  }
}
"""


class Inner(ctypes.Structure):
    _fields_ = [("unused", ctypes.c_int), ("x", ctypes.c_void_p)]


class Outer(ctypes.Structure):
    _fields_ = [("in", ctypes.POINTER(Inner)), ("by", ctypes.c_double), ("sum", ctypes.c_double)]


class Structures(unittest.TestCase):
    def test_objects_and_mappings_are_structures(self):
        f = compiled(MEMBERS)
        x, total = numpy.arange(3.0), numpy.zeros(())
        inner = types.SimpleNamespace(x=x, other="no member of the program")
        f(s={"in": inner, "by": 2.0, "sum": total})
        assert_array_equal(x, [0, 2, 4])
        self.assertEqual(total[()], 3)
        f(s={"in": inner, "by": 2.0}, s_sum=total)
        assert_array_equal(x, [0, 4, 8])

    def test_structures_of_ctypes_have_pointers_and_numbers(self):
        f = compiled(MEMBERS)
        x = numpy.arange(4.0)
        structure = Outer(ctypes.pointer(Inner(7, x.ctypes.data)), 3.0, 0.0)
        f(s=structure, N=4)
        assert_array_equal(x, [0, 3, 6, 9])
        self.assertEqual(structure.sum, 4.0)

    def test_what_is_missing_is_named(self):
        f = compiled(MEMBERS)
        with self.assertRaisesRegex(TypeError, "without s_by"):
            f(s={"in": {"x": numpy.zeros(3)}, "sum": numpy.zeros(())})
        with self.assertRaisesRegex(TypeError, "s_in_x is a pointer, which does not tell the extents of .*: give N"):
            f(s=Outer(ctypes.pointer(Inner(0, 64)), 1.0, 0.0))
        with self.assertRaisesRegex(ValueError, "s_in_x is a null pointer"):
            f(s=Outer(ctypes.pointer(Inner(0, None)), 1.0, 0.0), N=2)
        with self.assertRaisesRegex(TypeError, "no argument other"):
            f(other={"in": 1})


if __name__ == "__main__":
    unittest.main()
