"""What is wrong with an argument is said by its name, with what the program takes; nothing is converted in silence."""

import unittest

import numpy

import sdfg
from programs import AXPY, NUMBERS, PICK, RESULTS, SLOW, SQUARE, compiled


def read_only(array):
    array.flags.writeable = False
    return array


class Refusals(unittest.TestCase):
    def refused(self, error, message, text, **arguments):
        with self.assertRaisesRegex(error, message):
            compiled(text)(**arguments)

    def axpy(self, error, message, **other):
        given = {"a": 1.0, "x": numpy.zeros(4), "y": numpy.zeros(4), **other}
        self.refused(error, message, AXPY, **{name: value for name, value in given.items() if value is not Ellipsis})

    def test_names(self):
        self.axpy(TypeError, "no argument z. It takes: axpy.a: float64, x: float64.N., y: float64.N., N.", z=1)
        self.axpy(TypeError, "without a: float64; x: float64.N.. It", a=..., x=...)
        with self.assertRaisesRegex(TypeError, "by name: axpy.a: "):
            compiled(AXPY)(1.0, numpy.zeros(4))

    def test_element_types(self):
        for dtype in ("f4", ">f8", "i8", "c16", "O"):
            self.axpy(TypeError, "argument x has elements of type .*, but the program takes float64", x=numpy.zeros(4, dtype))

    def test_kinds_of_values(self):
        for value in ([1.0] * 4, 1.0, None, "x", memoryview(b"12345678")):
            self.axpy(TypeError, "argument x is of type .*, but the program takes a numpy.ndarray: x: float64.N.", x=value)
        for value in ("1.0", 1j, None, [1.0], numpy.zeros(1), b"1"):
            self.axpy(TypeError, "argument a is .*, but the program takes float64", a=value)
        self.axpy(TypeError, "argument x has a mask", x=numpy.ma.masked_array(numpy.zeros(4), True))
        self.axpy(TypeError, "argument N is 4.0, of type float, but the program takes int64", N=4.0)
        self.refused(TypeError, r"argument r is of type int, .* such as numpy.zeros\(\(\), 'int32'\)", NUMBERS.replace("TYPE", "i32"),
                     s=1, r=1, A=numpy.zeros(1, "i4"), B=numpy.zeros(1, "i4"), C=numpy.zeros(1, "i4"))

    def test_numbers_that_do_not_fit(self):
        def number(name, dtype, value, error):
            given = {key: numpy.zeros(1, dtype) for key in "ABC"}
            self.refused(error, "argument s is", NUMBERS.replace("TYPE", name), s=value, r=numpy.zeros((), dtype), **given)

        number("i8", "i1", 128, ValueError)
        number("u8", "u1", -1, ValueError)
        number("u64", "u8", 2**64, ValueError)
        number("i32", "i4", 1.5, TypeError)
        number("bool", "?", 1, TypeError)
        number("f16", "f2", 1e6, ValueError)
        number("f32", "f4", 1e300, ValueError)
        number("f64", "f8", 10**400, ValueError)
        number("complex64", "c8", "1", TypeError)
        self.refused(ValueError, "argument T is .*, which does not fit in int64", SLOW, x=1.0, T=2**63)

    def test_sizes(self):
        self.axpy(ValueError, "symbol N is 4 by dimension 0 of x, but 5 by dimension 0 of y", y=numpy.zeros(5))
        self.axpy(ValueError, "symbol N is 3 by N=3, but 4 by dimension 0 of x", N=3)
        self.axpy(ValueError, "argument x has 2 dimensions, but the program takes 1 dimension", x=numpy.zeros((2, 2)))
        square = {"A": numpy.zeros((5, 5)), "B": numpy.zeros((13, 3)), "C": numpy.zeros((2, 3))}
        self.refused(ValueError, "symbol N is 5 by dimension 0 of A, but 4 by dimension 1 of A", SQUARE, **{**square, "A": numpy.zeros((5, 4))})
        self.refused(ValueError, r"dimension 0 of argument B is 12, .* M \+ 2\*N = 13", SQUARE, **{**square, "B": numpy.zeros((12, 3))})
        self.refused(ValueError, r"dimension 1 of argument C is 2, .* ceil_div\(N, 2\) = 3", SQUARE, **{**square, "C": numpy.zeros((2, 2))})
        self.refused(ValueError, "dimension 0 of argument __return is 2, but the program takes 1", PICK,
                     A=numpy.zeros(3), at=0, __return=numpy.zeros(2))

    def test_memory(self):
        self.axpy(ValueError, r"argument x has strides \(2,\), but the program takes its elements in row-major", x=numpy.zeros(8)[::2])
        self.axpy(ValueError, "argument x has strides", x=numpy.zeros(4)[::-1])
        self.axpy(ValueError, "argument y is read-only, but the program writes it", y=read_only(numpy.zeros(4)))
        compiled(AXPY)(a=1, x=read_only(numpy.zeros(4)), y=numpy.zeros(4))
        unaligned = numpy.zeros(33, "u1")[1:].view("f8")
        self.axpy(ValueError, "argument x lies at an address where its elements are not aligned", x=unaligned)
        both = numpy.zeros(6)
        self.axpy(ValueError, "axpy failed: `x` and `y` overlap", x=both[:4], y=both[2:])
        sdfg.compile(AXPY, level="fast", may_overlap=["x", "y"])(a=1, x=both[:4], y=both[2:])

    def test_a_call_after_a_refusal_works(self):
        self.axpy(TypeError, "argument a", a="x")
        y = numpy.ones(2)
        compiled(AXPY)(a=1, x=y.copy(), y=y)
        self.assertEqual(y.tolist(), [2.0, 2.0])

    def test_results_that_have_no_size(self):
        with self.assertRaisesRegex(TypeError, "without A: float64.N.. It"):
            compiled(RESULTS)()


class Runs(unittest.TestCase):
    def test_checked_code_tells_where_it_was_wrong(self):
        f = compiled(PICK, checked=True)
        self.assertEqual(f(A=numpy.array([1.0, 2.0]), at=1)[0], 2.0)
        with self.assertRaisesRegex(sdfg.RunError, "pick failed: out of bounds: index 2 in dimension 0") as caught:
            f(A=numpy.array([1.0, 2.0]), at=2)
        self.assertEqual(caught.exception.status, "trap")
        self.assertEqual(f(A=numpy.array([1.0, 2.0]), at=0)[0], 1.0)

    def test_the_processor_is_looked_at_when_the_program_is_loaded(self):
        f = sdfg.compile(AXPY, level="fast", cpu="x86-64,x86-64-v2")
        y = numpy.ones(1)
        f(a=1, x=numpy.ones(1), y=y)
        self.assertEqual(y[0], 2.0)


if __name__ == "__main__":
    unittest.main()
