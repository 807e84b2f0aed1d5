"""Extents and strides: integer expressions over symbols, as the description of a program has them.

They are texts of the project's grammar: integers, names, ``+ - * / // % **``, ``min``, ``max`` and ``ceil_div``, with Python's precedence and
meaning, but that ``/`` is exact. Python's own parser reads them, and nothing of what it reads is executed.
"""

import ast
import operator
import re
from fractions import Fraction

# Names that are not called. They get an underscore in front, so that none is a word of Python's, such as `lambda`.
_NAME = re.compile(r"\b([A-Za-z_][A-Za-z0-9_]*)\b(?!\()")

# Beyond so many bits, a power is no size of anything; computing it may take all memory.
_POWER_BITS = 4096


def _power(base, exponent):
    if exponent.denominator != 1:
        raise ArithmeticError("an exponent is a fraction")
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(base) > 1 and abs(exponent) * bits > _POWER_BITS:
        raise OverflowError("a power is too large")
    return Fraction(base) ** int(exponent)


_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: Fraction,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
# What keeps an expression linear in each symbol that occurs in it once.
_LINEAR = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.USub)
_FUNCTIONS = {"min": min, "max": max, "ceil_div": lambda a, b: -(-a // b)}


class Expression:
    """An expression that can be evaluated."""

    def __init__(self, text):
        self.text = text
        self._tree = ast.parse(_NAME.sub(r"_\1", text), mode="eval").body
        name = isinstance(self._tree, ast.Name)
        operators = [node for node in ast.walk(self._tree) if isinstance(node, (ast.operator, ast.unaryop, ast.Call))]
        self._is_linear = all(isinstance(node, _LINEAR) for node in operators)
        #: The symbol, if the expression is one and nothing more.
        self.symbol = self._tree.id[1:] if name else None
        #: The symbols that occur.
        self.symbols = {node.id[1:] for node in ast.walk(self._tree) if isinstance(node, ast.Name) and node.id[0] == "_"}

    def value(self, symbols):
        """The integer at the given values of the symbols; ArithmeticError where there is none."""
        value = _value(self._tree, symbols)
        if value.denominator != 1:
            raise ArithmeticError(f"{value} is a fraction")
        return int(value)

    def solved(self, symbol, symbols, value):
        """The value of `symbol` with which the expression has this value; None where that is not clear."""
        if not self._is_linear:
            return None
        at_zero, at_one = (Fraction(_value(self._tree, {**symbols, symbol: at})) for at in (0, 1))
        if at_zero == at_one:
            return None
        solution = (value - at_zero) / (at_one - at_zero)
        return int(solution) if solution.denominator == 1 else None

    def __str__(self):
        return self.text


def _value(node, symbols):
    kind = type(node)
    if kind is ast.Constant and type(node.value) is int:
        return node.value
    if kind is ast.Name:
        return symbols[node.id[1:]]
    if kind is ast.BinOp and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left, symbols), _value(node.right, symbols))
    if kind is ast.UnaryOp and type(node.op) is ast.USub:
        return -_value(node.operand, symbols)
    if kind is ast.Call and not node.keywords and getattr(node.func, "id", None) in _FUNCTIONS:
        return _FUNCTIONS[node.func.id](*(_value(argument, symbols) for argument in node.args))
    raise ArithmeticError("it has an operation that this package does not know")
