"""Calls of compiled programs: what comes out, and that nothing is copied on the way."""

import copy
import pickle
import threading
import time
import unittest

import numpy
from numpy.testing import assert_array_equal

import sdfg
from programs import AXPY, LAYOUTS, NUMBERS, PICK, RESULTS, SLOW, SQUARE, VECTORS, compiled


class Values(unittest.TestCase):
    def test_arrays_are_changed_where_they_are(self):
        x, y = numpy.arange(4.0), numpy.ones(4)
        axpy = compiled(AXPY)
        self.assertEqual(axpy.arguments, ("a", "x", "y", "N"))
        self.assertIsNone(axpy(a=2, x=x, y=y))
        assert_array_equal(y, [1, 3, 5, 7])

    def test_every_number_gets_there_and_back(self):
        numbers = [
            ("bool", "bool", True),
            ("i8", "int8", -(2**7)),
            ("i16", "int16", -(2**15)),
            ("i32", "int32", -(2**31)),
            ("i64", "int64", -(2**63)),
            ("u8", "uint8", 2**8 - 1),
            ("u16", "uint16", 2**16 - 1),
            ("u32", "uint32", 2**32 - 1),
            ("u64", "uint64", 2**64 - 1),
            ("f16", "float16", 0.5),
            ("f32", "float32", 1.5e38),
            ("f64", "float64", 1.5e308),
            ("complex64", "complex64", 1.5 - 2.5j),
            ("complex128", "complex128", 1.5e308 - 2.5j),
        ]
        for name, numpy_name, number in numbers:
            with self.subTest(type=name):
                f, dtype = compiled(NUMBERS.replace("TYPE", name)), numpy.dtype(numpy_name)
                A = numpy.array([number, 0, number], dtype)
                B, C, r = numpy.zeros(3, dtype), numpy.zeros(1, dtype), numpy.zeros((), dtype)
                for given in (number, dtype.type(number)):
                    f(s=given, A=A, B=B, C=C, r=r)
                    assert_array_equal(B, A)
                    self.assertEqual((C[0], r[()]), (dtype.type(number), dtype.type(number)))

    def test_a_number_that_is_written_may_be_an_array_or_is_kept(self):
        x = numpy.array(0.25)
        compiled(SLOW)(x=x, T=2)
        expected = numpy.sin(numpy.sin(0.25) + 1) + 1
        self.assertAlmostEqual(x[()], expected, 14)
        number = 0.25
        compiled(SLOW)(x=number, T=2)
        self.assertEqual(number, 0.25)

    def test_lanes_of_vectors_are_a_dimension(self):
        A = numpy.arange(12, dtype="f4").reshape(3, 4)
        B = numpy.zeros_like(A)
        compiled(VECTORS)(A=A, B=B)
        assert_array_equal(B, 2 * A)

    def test_nothing_is_an_array_too(self):
        compiled(AXPY)(a=2, x=numpy.zeros(0), y=numpy.zeros(0))

    def test_subclasses_and_views_are_arrays(self):
        x = numpy.arange(10.0)[2:6]
        y = numpy.zeros(4).view(numpy.recarray)
        compiled(AXPY)(a=1, x=x, y=y)
        assert_array_equal(y, x)


class Results(unittest.TestCase):
    def test_results_are_in_the_order_of_their_numbers(self):
        A = numpy.arange(1.0, 4.0)
        first, number, last = compiled(RESULTS)(A=A)
        assert_array_equal(first, A)
        self.assertEqual(number, 1.0)
        self.assertIsInstance(number, float)
        assert_array_equal(last, [[0, 0, 0], [1, 2, 3]])
        self.assertEqual(last.strides, (8, 16))

    def test_each_call_has_results_of_its_own(self):
        f = compiled(PICK)
        one, two = f(A=numpy.array([1.0, 2.0]), at=0), f(A=numpy.array([1.0, 2.0]), at=1)
        self.assertEqual((one[0], two[0]), (1.0, 2.0))

    def test_a_result_may_be_given(self):
        mine = numpy.zeros(1)
        self.assertIs(compiled(PICK)(A=numpy.array([1.0, 2.0]), at=1, __return=mine), mine)
        self.assertEqual(mine[0], 2.0)


class Layouts(unittest.TestCase):
    def arrays(self):
        wide = numpy.arange(20.0).reshape(4, 5)
        return {"A": wide[:, :3], "B": numpy.zeros((4, 3), order="F"), "C": numpy.zeros(4)[::-1]}

    def test_strides_that_the_program_takes_are_used(self):
        given = self.arrays()
        compiled(LAYOUTS)(**given)
        assert_array_equal(given["B"], given["A"])
        assert_array_equal(given["C"], given["A"][:, 0])

    def test_other_strides_are_refused(self):
        for name, array in [("B", numpy.zeros((4, 3))), ("C", numpy.zeros(4)), ("A", numpy.zeros((8, 6))[::2, ::2])]:
            with self.assertRaisesRegex(ValueError, f"argument {name} has strides"):
                compiled(LAYOUTS)(**{**self.arrays(), name: array})

    def test_strides_of_one_element_mean_nothing(self):
        given = {"A": numpy.ones((1, 1)), "B": numpy.zeros((1, 1)), "C": numpy.zeros(1)}
        compiled(LAYOUTS)(**given, S=7)
        self.assertEqual((given["B"][0, 0], given["C"][0]), (1.0, 1.0))


    def test_strides_of_nothing_are_not_asked_for(self):
        f = compiled(LAYOUTS)
        for shape in ((0, 3), (3, 0), (0, 0)):
            f(A=numpy.ones(shape), B=numpy.zeros(shape, order="F"), C=numpy.zeros(shape[0])[::-1])
        # A wrong number is no reason to be less strict.
        with self.assertRaisesRegex(TypeError, "without"):
            f(A=numpy.ones((0, 3)), B=numpy.zeros((0, 3)))


class Symbols(unittest.TestCase):
    def test_symbols_follow_from_shapes_with_arithmetic(self):
        arrays = {"A": numpy.ones((5, 5)), "B": numpy.zeros((13, 3)), "C": numpy.zeros((2, 3))}
        compiled(SQUARE)(**arrays)
        self.assertEqual((arrays["B"][0, 0], arrays["C"][0, 0]), (1.0, 1.0))

    def test_a_symbol_that_is_in_sums_only_is_found(self):
        text = "sdfg p {\n symbol N: i64\n array A: f64[2 * N + 1]\n array __return: i64[1]\n state s {\n access o = __return\n"
        text += " tasklet t () -> (o) { o = N }\n t.o -> o: __return[0]\n }\n}\n"
        f = compiled(text)
        self.assertEqual(f(A=numpy.zeros(9))[0], 4)
        with self.assertRaisesRegex(TypeError, "without N"):
            f(A=numpy.zeros(8))

    def test_numpy_numbers_are_numbers(self):
        compiled(AXPY)(a=numpy.float32(2), x=numpy.zeros(3), y=numpy.zeros(3), N=numpy.int8(3))


class Processes(unittest.TestCase):
    def test_calls_run_side_by_side(self):
        f, n, wrong = compiled(SLOW), 8, []

        def work(seed):
            alone = numpy.array(float(seed))
            for _ in range(100):
                alone[()] = numpy.sin(alone) + 1
            for _ in range(50):
                x = numpy.array(float(seed))
                f(x=x, T=100)
                if abs(x - alone) > 1e-12:
                    wrong.append(seed)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(n)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_others_run_meanwhile(self):
        f, duration, T = compiled(SLOW), 0, 10**5
        while duration < 0.2:
            T *= 2
            begin = time.process_time()
            f(x=0.5, T=T)
            duration = time.process_time() - begin
        thread, turns = threading.Thread(target=f, kwargs={"x": 0.5, "T": T}), 0
        thread.start()
        while thread.is_alive():
            turns += 1
            time.sleep(0.001)
        self.assertGreater(turns, 10)

    def test_programs_of_one_name_do_not_meet(self):
        two = compiled(AXPY.replace("a * x + y", "a * x - y"))
        for f, expected in [(compiled(AXPY), 5.0), (two, 1.0), (compiled(AXPY), 5.0)]:
            y = numpy.array([2.0])
            f(a=1, x=numpy.array([3.0]), y=y)
            self.assertEqual(y[0], expected)

    def test_a_program_is_freed_but_not_copied(self):
        f = sdfg.compile(AXPY, level="fast")
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
            with self.assertRaisesRegex(TypeError, "cannot be copied"):
                attempt(f)
        f(a=1, x=numpy.zeros(3), y=numpy.zeros(3))
        idle = f._idle
        self.assertEqual(len(idle), 1)
        del f
        self.assertEqual(idle, [])


if __name__ == "__main__":
    unittest.main()
