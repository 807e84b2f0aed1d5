"""Programs that call functions of Python."""

import threading
import unittest

import numpy
from numpy.testing import assert_array_equal

import sdfg
from programs import compiled

# A number and an array that is changed where it is; then a result by value, with the array that the function returns.
CALLS = """
sdfg calls {
  symbol N: i64
  array A: f64[N, 2]
  array B: f64[N]
  scalar flag: bool
  state first {
    access A
    access out = A
    access flag
    tasklet t (a, f) -> (o) external change(f, i32(N), o) from callback
    A -> t.a
    flag -> t.f
    t.o -> out: A[0:N, 1]
  }
  state second {
    access A
    access B
    map all [i = 0:N] schedule(cpu_multicore) {
      tasklet t (x) -> (b) external b = double(x, i) from callback
      all.A -> t.x: A[i, 1]
      t.b -> all.B: B[i]
    }
    A -> all.A
    all.B -> B
  }
  state third {
    access A
    access B
    tasklet t (b) -> (o) external column(b, o) from callback
    B -> t.b
    t.o -> A: A[0:N, 0]
  }
}
"""


class Callbacks(unittest.TestCase):
    def setUp(self):
        self.calls = []
        self.program = compiled(CALLS)

    def change(self, flag, number, column):
        self.calls.append((flag, number, column.tolist(), column.flags.writeable))
        column += 1

    def double(self, x, index):
        self.calls.append((x, index, threading.get_ident()))
        return 2 * x

    def run_with(self, **functions):
        self.A, self.B = numpy.arange(6.0).reshape(3, 2), numpy.zeros(3)
        given = {"change": self.change, "double": self.double, "column": lambda b: b[::-1], **functions}
        return self.program(A=self.A, B=self.B, flag=True, **given)

    def test_functions_get_numbers_and_arrays_and_give_results(self):
        self.assertEqual(self.program.arguments, ("A", "B", "flag", "N", "change", "double", "column"))
        self.assertIn("double: callback", str(self.program))
        for _ in range(2):
            self.calls.clear()
            self.assertIsNone(self.run_with())
            own = threading.get_ident()
            self.assertEqual(self.calls, [(True, 3, [1, 3, 5], True), (2, 0, own), (4, 1, own), (6, 2, own)])
            assert_array_equal(self.B, [4, 8, 12])
            assert_array_equal(self.A, [[12, 2], [8, 4], [4, 6]])

    def test_an_exception_ends_the_run_and_leaves_the_call(self):
        def failing(x, index):
            self.calls.append(index)
            if index == 1:
                raise KeyError("enough")
            return x

        with self.assertRaisesRegex(KeyError, "enough"):
            self.run_with(double=failing)
        self.assertEqual(self.calls[1:], [0, 1])
        # The program can be called again.
        self.calls.clear()
        self.run_with()
        self.assertEqual(len(self.calls), 4)

    def test_other_threads_run_meanwhile(self):
        reached, go_on = threading.Event(), threading.Event()

        def waiting(x, index):
            reached.set()
            self.assertTrue(go_on.wait(20))
            return x

        thread = threading.Thread(target=lambda: self.run_with(double=waiting))
        thread.start()
        self.assertTrue(reached.wait(20))
        other = numpy.arange(6.0).reshape(3, 2), numpy.zeros(3)
        self.program(A=other[0], B=other[1], flag=False, change=self.change, double=self.double, column=lambda b: b)
        assert_array_equal(other[1], [4, 8, 12])
        go_on.set()
        thread.join(20)
        assert_array_equal(self.B, [2, 4, 6])

    def test_a_function_may_call_the_program_that_calls_it(self):
        def nested(x, index):
            if index == 0:
                inner = numpy.zeros(1)
                self.program(A=numpy.ones((1, 2)), B=inner, flag=True, change=self.change, double=self.double, column=lambda b: b)
                return inner[0]
            return x

        self.run_with(double=nested)
        assert_array_equal(self.B, [4, 4, 6])

    def test_an_array_of_one_element_is_an_array(self):
        program = compiled(
            """
sdfg one {
  array A: f64[1]
  array B: f64[1, 1]
  state s {
    access A
    access a2 = A
    access B
    tasklet t (x) -> (o, b) external change(x, o, b) from callback
    A -> t.x
    t.o -> a2
    t.b -> B
  }
}
"""
        )

        def change(number, one):
            self.calls.append((number, one.shape))
            one[0] += 1
            return [[7]]

        A, B = numpy.ones(1), numpy.zeros((1, 1))
        program(A=A, B=B, change=change)
        self.assertEqual(self.calls, [(1, (1,))])
        self.assertEqual((A.tolist(), B.tolist()), ([2], [[7]]))

    def test_what_does_not_fit_is_told(self):
        with self.assertRaisesRegex(TypeError, "without double: callback"):
            self.program(A=numpy.zeros((3, 2)), B=numpy.zeros(3), flag=True, change=self.change)
        with self.assertRaisesRegex(TypeError, "argument double is of type int, but the program takes a function"):
            self.run_with(double=1)
        with self.assertRaisesRegex(TypeError, "callback double returned None"):
            self.run_with(double=lambda x, index: None)
        with self.assertRaisesRegex(ValueError, "read-only"):
            self.run_with(column=lambda b: b.fill(0))
        with self.assertRaises(ValueError):
            self.run_with(column=lambda b: numpy.zeros(2))


if __name__ == "__main__":
    unittest.main()
