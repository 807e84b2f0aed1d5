"""Structures as arguments.

A program has the members of a structure as arguments of their own: `a_b` is the member `b` of `a`. A caller may pass the structure instead: an
object with attributes, a mapping, or a `ctypes.Structure` as DaCe's callers make it, whose pointers say nothing of sizes.
"""

import collections.abc
import ctypes

import numpy


class _Address:
    """Memory whose extents follow from symbols."""

    def __init__(self, address):
        self.address = address


def flattened(arguments, known):
    """The arguments with members in the place of structures; `known` are the program's arguments by name.

    A structure is a value whose name is no argument, where others have it as a prefix. What a program uses of a structure has to be there, other
    members do not matter.
    """
    result, addresses = {}, {}
    for name, value in arguments.items():
        members = [] if name in known else [argument for argument in known if argument.startswith(f"{name}_")]
        if not members or isinstance(value, (numpy.ndarray, numpy.generic, int, float, complex)):
            result[name] = value
            continue
        for member in members:
            if member in arguments:
                continue
            found = _member(value, member[len(name) + 1 :], known[member])
            if isinstance(found, _Address):
                addresses[member] = found
            elif found is not None:
                result[member] = found
    if addresses:
        symbols = _symbols(result, known)
        for member, found in addresses.items():
            array = known[member]
            missing = sorted(array.symbols() - symbols.keys())
            if missing:
                raise TypeError(f"member {member} is a pointer, which does not tell the extents of {array}: give {', '.join(missing)}")
            if not found.address:
                raise ValueError(f"member {member} is a null pointer, but the program uses it")
            result[member] = array.at_address(found.address, symbols)
    return result


def _symbols(arguments, known):
    """The values of symbols that arguments give, by name or as extents."""
    symbols = {}
    for name, value in arguments.items():
        argument = known.get(name)
        if getattr(argument, "is_symbol", False):
            symbols[name] = argument.integer(value)
        elif isinstance(value, numpy.ndarray) and hasattr(argument, "bound"):
            symbols.update({symbol: value.shape[at] for at, symbol in argument.bound if at < value.ndim})
    return symbols


def _member(value, path, argument):
    """The member at a path whose names are joined by `_`; nothing if there is none. A further `_` makes names of arguments different."""
    for name in _names(value):
        if path.rstrip("_") == name.rstrip("_") and path.startswith(name):
            return _field(value, name, argument)
        if path.startswith(f"{name}_"):
            found = _member(_inner(value, name), path[len(name) + 1 :], argument)
            if found is not None:
                return found
    return None


def _names(value):
    """The names of the members, longest first: `a_b` may be a member beside `a`."""
    if isinstance(value, ctypes.Structure):
        names = [field[0] for field in value._fields_]
    elif isinstance(value, collections.abc.Mapping):
        names = [name for name in value if isinstance(name, str)]
    else:
        names = [name for name in dir(value) if not name.startswith("__")] if value is not None else []
    return sorted(names, key=len, reverse=True)


def _inner(value, name):
    found = value[name] if isinstance(value, collections.abc.Mapping) else getattr(value, name)
    # A pointer to a structure is the structure.
    return found.contents if isinstance(found, ctypes._Pointer) and found else found


def _field(value, name, argument):
    found = value[name] if isinstance(value, collections.abc.Mapping) else getattr(value, name)
    if not isinstance(value, ctypes.Structure):
        return found
    kind = dict((field[0], field[1]) for field in value._fields_)[name]
    if isinstance(found, ctypes._Pointer):
        return _Address(ctypes.cast(found, ctypes.c_void_p).value)
    if kind is ctypes.c_void_p:
        return _Address(found)
    if hasattr(argument, "at_address"):
        # A number that the program writes lies in the structure.
        return argument.at_address(ctypes.addressof(value) + getattr(type(value), name).offset, {})
    return found
