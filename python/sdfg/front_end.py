"""Arguments that a program of DaCe's Python front end knows beside its graph.

A function with ``@dace.program`` has an order of its parameters, and values that it takes from the variables around it: its closure, whose arrays
are the arguments ``__g_NAME`` of the graph. Callers of the function do not pass these, so calls here need not either.
"""


class FrontEnd:
    """The order of positional arguments, and values of arguments that a call leaves out."""

    def __init__(self, program=None, graph=None):
        """`program` is what `sdfg.compile` was given, `graph` the SDFG of DaCe that was made of it."""
        #: Names in the order of the function's parameters; empty if there is no function.
        self.order = tuple(getattr(graph, "arg_names", None) or ())
        self._closure = getattr(program, "__sdfg_closure__", None)
        #: Other names of callbacks in the graph, each with its name in the closure.
        self._renamed = dict(getattr(graph, "callback_mapping", None) or {})

    def named(self, program, positional, arguments):
        """The arguments of a call, all by name."""
        if not positional:
            return arguments
        if not self.order:
            raise TypeError(f"{program.name} takes its arguments by name: {program}")
        if len(positional) > len(self.order):
            raise TypeError(f"{program.name} takes {len(self.order)} arguments by position, not {len(positional)}: {', '.join(self.order)}")
        given = dict(zip(self.order, positional))
        twice = sorted(given.keys() & arguments.keys())
        if twice:
            raise TypeError(f"{program.name} was given {', '.join(twice)} by position and by name")
        return {**given, **arguments}

    def completed(self, arguments, known):
        """The arguments with those that the front end has a value for; `known` are the names of the program's arguments.

        The closure is evaluated at each call, as DaCe does: a variable that names another array since gives that one.
        """
        if self._closure is None or arguments.keys() >= set(known):
            return arguments
        closure = self._closure()
        closure.update({name: closure[own] for name, own in self._renamed.items() if own in closure})
        return {**{name: value for name, value in closure.items() if name in known}, **arguments}
