"""Streams of the caller: lists and deques, which a run changes."""

import collections
import unittest

import sdfg
from programs import compiled

DOUBLING = """\
sdfg doubling {
  symbol N: i64
  stream In: i32
  stream Out: f64
  state s {
    access In
    access Out
    map all [i = 0:N] schedule(sequential) {
      tasklet double (x) -> (y) { y = 2.0 * x }
      all.In -> double.x: In
      double.y -> all.Out: Out
    }
    In -> all.In
    all.Out -> Out
  }
}
"""

ROWS = """\
sdfg rows {
  symbol N: i64
  symbol M: i64
  stream In: TYPE[N, M]
  stream Out: TYPE[N]
  state s {
    access In
    access Out
    map all [i = 0:N, j = 0:M] schedule(sequential) {
      tasklet carry (x) -> (y) { y = x }
      all.In -> carry.x: In[i, j]
      carry.y -> all.Out: Out[i]
    }
    In -> all.In
    all.Out -> Out
  }
}
"""


class Streams(unittest.TestCase):
    def test_one_queue_is_a_list_or_a_deque(self):
        f = compiled(DOUBLING)
        self.assertEqual(str(f), "doubling(In: stream of int32, Out: stream of float64, N)")
        for kind in (list, collections.deque):
            given, found = kind([1, 2, 3]), kind([0.5])
            self.assertIsNone(f(In=given, Out=found, N=2))
            self.assertEqual((given, found), (kind([3]), kind([0.5, 2.0, 4.0])))
            self.assertIs(type(found[1]), float)

    def test_a_run_that_fails_changes_nothing(self):
        f, given, found = compiled(DOUBLING), [1], [7.0]
        with self.assertRaisesRegex(sdfg.RunError, "deadlock"):
            f(In=given, Out=found, N=2)
        self.assertEqual((given, found), ([1], [7.0]))

    def test_arrays_of_streams_are_nested_lists(self):
        f = compiled(ROWS.replace("TYPE", "i64"))
        self.assertEqual(f.arguments, ("In", "Out", "N", "M"))
        rows = [[[1, 2], collections.deque([3])], [[4], [5]], [[6], [7, 8, 9]]]
        found = [[], [0], []]
        f(In=rows, Out=found)
        self.assertEqual(rows, [[[2], collections.deque()], [[], []], [[], [8, 9]]])
        self.assertEqual(found, [[1, 3], [0, 4, 5], [6, 7]])
        f(In=[], Out=[], M=3)
        f(In=[[], []], Out=found[:2])
        self.assertEqual(found, [[1, 3], [0, 4, 5], [6, 7]])

    def test_every_type_of_element(self):
        for name, value in [("bool", True), ("u8", 200), ("f16", 0.5), ("f32", -1.5), ("complex128", 1 - 2j), ("f32x4", (1.0, 2.0, 3.0, 4.0))]:
            with self.subTest(type=name):
                found = [[]]
                compiled(ROWS.replace("TYPE", name))(In=[[[value, value]]], Out=found)
                self.assertEqual(found, [[value]])

    def test_refusals(self):
        doubling, rows = compiled(DOUBLING), compiled(ROWS.replace("TYPE", "i64"))
        refusals = [
            (doubling, {"In": [1.5], "Out": [], "N": 1}, TypeError, "argument In is 1.5, of type float, but the program takes int32"),
            (doubling, {"In": [2**40], "Out": [], "N": 1}, ValueError, "argument In is 1099511627776, which does not fit"),
            (doubling, {"In": (1, 2), "Out": [], "N": 1}, TypeError, "argument In is .* a list or a collections.deque"),
            (doubling, {"In": [1], "N": 1}, TypeError, "without Out: stream of float64"),
            (rows, {"In": [[1]], "Out": [[]]}, TypeError, "argument In .* nested lists of queues"),
            (rows, {"In": [[[1]], []], "Out": [[], []]}, ValueError, "argument In has rows of different lengths"),
            (rows, {"In": [[[1]]], "Out": [[], []]}, ValueError, "dimension 0 of argument Out is 2, but the program takes N = 1"),
            (rows, {"In": [[[1]], [[2]]], "Out": [[]] * 2}, ValueError, "argument Out has one list as several queues"),
        ]
        for f, arguments, error, message in refusals:
            with self.subTest(message=message), self.assertRaisesRegex(error, message):
                f(**arguments)


if __name__ == "__main__":
    unittest.main()
