"""Fields of GT4Py as arguments.

A field is an array with the range of each dimension. GT4Py's graphs have the ranges as symbols, `__NAME_DIMENSION_range_0` (the begin) and
`__NAME_DIMENSION_range_1` (the end), beside the array.
"""

import numpy


def takes_fields(known):
    """Whether a program is one of GT4Py's field view, with ranges or tables of neighbours among its arguments."""
    return any(name.startswith("gt_conn_") or name.startswith("__") and name.endswith(("_range_0", "_range_1")) for name in known)


def unpacked(arguments, known):
    """The arguments with arrays and symbols in the place of fields; `known` are the program's arguments by name.

    A field is what has an array as `ndarray` and pairs of a dimension and its range as `domain`. Symbols that the caller gives stay.
    """
    fields = {name: value for name, value in arguments.items() if name in known and _is_field(value)}
    if not fields:
        return arguments
    result = {**arguments}
    for name, field in fields.items():
        result[name] = field.ndarray
        for dimension, extent in zip(field.domain.dims, field.domain.ranges):
            for symbol, value in (("0", extent.start), ("1", extent.stop)):
                symbol = f"__{name}_{dimension.value}_range_{symbol}"
                if symbol in known:
                    result.setdefault(symbol, value)
    return result


def _is_field(value):
    # Arrays and numbers are most of the arguments.
    if isinstance(value, (numpy.ndarray, numpy.generic, int, float, complex)):
        return False
    return hasattr(value, "ndarray") and hasattr(getattr(value, "domain", None), "ranges")
