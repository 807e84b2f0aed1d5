"""Extents as expressions."""

import unittest

from sdfg.expression import Expression


class Expressions(unittest.TestCase):
    def test_values(self):
        symbols = {"N": 7, "M": -2, "lambda": 3, "min": 4}
        for text, value in [
            ("0", 0),
            ("2*N + M - 1", 11),
            ("-N", -7),
            ("(N**2 + N) / 2", 28),
            ("-N // 2", -4),
            ("-(N // 2)", -3),
            ("M % 5", 3),
            ("ceil_div(N, 2)", 4),
            ("ceil_div(N, M)", -3),
            ("min(N, M, 0)", -2),
            ("max(N, M)", 7),
            ("2**(N - 4)", 8),
            ("lambda*min", 12),
            ("(64*2**64)", 64 * 2**64),
            ("N / 2 + N / 2", 7),
            ("(N / 2) // 1", 3),
            ("1**(N*10**18)", 1),
        ]:
            self.assertEqual(Expression(text).value(symbols), value, text)

    def test_no_values(self):
        texts = ["N / 2", "N // Z", "N % Z", "Z**(-1)", "2**10**9", "3**N**N**N", "2**(N / 2)"]
        for text in [*texts, "f(N)", "N.real", "'N'", "[N]", "~N", "min(N, key=N)", "min(*N)", "(f)(N)"]:
            with self.assertRaises(ArithmeticError, msg=text):
                Expression(text).value({"N": 7, "Z": 0})

    def test_symbols(self):
        self.assertEqual(Expression("N").symbol, "N")
        self.assertIsNone(Expression("N + 1").symbol)
        self.assertEqual(Expression("max(N, M) + 2*True").symbols, {"N", "M", "True"})

    def test_solutions(self):
        for text, value, solution in [
            ("2*N + M + 1", 14, 5),
            ("2*N + M + 1", 13, None),
            ("N*M", 9, 3),
            ("N / 2", 4, 8),
            ("N // 2", 4, None),
            ("N % 3", 1, None),
            ("min(N, 5)", 3, None),
            ("N**2", 1, None),
        ]:
            self.assertEqual(Expression(text).solved("N", {"M": 3}, value), solution, text)


if __name__ == "__main__":
    unittest.main()
