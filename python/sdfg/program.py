"""Compiled programs that can be called.

A program is a shared library with the interface that its C header describes. Its instances, which hold scratch memory, are made when calls need
them and kept for the next ones: calls that run at the same time have one each. The interpreter lock is free while a program runs.
"""

import ctypes
import operator
import weakref

import numpy

from .argument import Array, Scalar
from .callback import Callback, Run
from .device import DeviceMemory, Started, of_cuda_array, producers, stream_address
from .dlpack import is_tensor, tensor
from .field import takes_fields, unpacked
from .front_end import FrontEnd
from .stream import Passed, Stream
from .structure import flattened

# The version of the description that this package reads.
_VERSION = 1
# Bytes for a number in a call: as many as the largest type has.
_SLOT = 16


class RunError(RuntimeError):
    """A program that came to no good end, with the status and the message of the program."""

    def __init__(self, message, status):
        super().__init__(message)
        #: The name of the status, such as ``trap``.
        self.status = status


class _Configuration(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("num_threads", ctypes.c_int32)]


class _Instance:
    """An instance of the program, and the list of pointers that its calls pass."""

    def __init__(self, handle, n_arguments):
        self.handle = handle
        self.numbers = ctypes.create_string_buffer(_SLOT * n_arguments)
        base = ctypes.addressof(self.numbers)
        self.pointers = (ctypes.c_void_p * n_arguments)(*(base + _SLOT * index for index in range(n_arguments)))


class Program:
    """A compiled program, a function of its arguments by name. `sdfg.compile` and `sdfg.load` make it."""

    def __init__(self, code, description, *, threads=None, fixed=None, front_end=None):
        """`code` is the loaded library. It stays loaded for good: unloading it could take along an OpenMP runtime whose threads are waiting."""
        if description.get("sdfg_interface") != _VERSION:
            raise ValueError(f"the description of the program is not of version {_VERSION}: compile it again")
        #: The name of the program.
        self.name = description["program"]
        self._front_end = front_end or FrontEnd()
        #: Values of the symbols that it was compiled for.
        self._fixed = dict(fixed or {})
        self._statuses = {status["code"]: status for status in description["statuses"]}
        #: Whether the call under way has reached the program.
        self._has_begun = False
        callbacks = description.get("callbacks", ())
        arguments = [self._make_argument(each, index) for index, each in enumerate(description["arguments"])]
        self._callbacks = [Callback(each, len(arguments) + at) for at, each in enumerate(callbacks)]
        self._set_arguments(arguments)
        #: Names of arguments in memory of a device; None of a program without a device.
        self._on_device = description.get("device")
        for array in self._arrays:
            array.is_on_device = array.name in (self._on_device or ())
            array.device_interface = description.get("device_interface")
        self._open(code, threads)

    def _set_arguments(self, arguments):
        self._arguments = {argument.name: argument for argument in arguments}
        self._takes_fields = takes_fields(self._arguments)
        self._arrays = [argument for argument in arguments if isinstance(argument, Array)]
        self._streams = [argument for argument in arguments if isinstance(argument, Stream)]
        self._scalars = [argument for argument in arguments if isinstance(argument, Scalar) and not argument.is_symbol]
        self._symbols = [argument for argument in arguments if isinstance(argument, Scalar) and argument.is_symbol]
        #: Symbols that nothing but distances between elements needs: where there are no elements, they may be anything.
        self._idle_symbols = _only_in_strides(arguments)
        results = [array for array in self._arrays if _result_order(array.name) is not None]
        self._results = sorted(results, key=lambda array: _result_order(array.name))

    def _make_argument(self, description, index):
        return _argument(description, index)

    def _make_configuration(self, threads):
        return _Configuration(ctypes.sizeof(_Configuration), threads)

    def _open(self, code, threads):
        pointer, status = ctypes.c_void_p, ctypes.c_int32

        def function(suffix, result, *arguments):
            found = getattr(code, self.name + suffix)
            found.restype, found.argtypes = result, arguments
            return found

        self._create = function("_create", status, pointer, ctypes.POINTER(pointer))
        self._invoke = function("__invoke", status, pointer, pointer)
        self._error = function("_error", ctypes.c_char_p, pointer)
        destroy = function("_destroy", None, pointer)
        if self._on_device is not None:
            self._start = function("__start", status, pointer, pointer, pointer)
            self._wait = function("_wait", status, pointer)
            self._import = function("_import", status, pointer, pointer, pointer, ctypes.POINTER(pointer))
            self._follow = function("_follow", status, pointer, pointer, pointer)
        self._stop = function("_stop", None, pointer, ctypes.c_char_p) if self._callbacks else None
        self._configuration = self._make_configuration(_thread_count(threads))
        # A processor that the code has no version for is told now, not at the first call.
        self._idle = [self._new_instance()]
        weakref.finalize(self, _destroy_all, destroy, self._idle).atexit = False

    def __call__(self, /, *positional, **arguments):
        """Runs the program; the result is what it returns, in `__return` containers of its own.

        Arrays are NumPy arrays, which the program reads and writes where they are; numbers and symbols are Python's or NumPy's numbers.
        A queue of a stream is a list or a `collections.deque`, which holds its elements at the end of the run.
        Symbols that are extents of arrays follow from these. A structure of a DaCe program is passed as one value or by its members. Programs
        of GT4Py take its fields. A program that was a function with `@dace.program` also takes arguments by position, and takes the values of
        its closure itself. Arrays of other libraries are used where they are (`__dlpack__`). Those with the storage `gpu_global` may lie on a device
        (`__cuda_array_interface__`, `__dlpack__`).
        """
        return self._called(positional, arguments, lambda instance: self._invoke(instance.handle, instance.pointers))[0]()

    def start(self, /, *positional, stream=None, **arguments):
        """Starts a run on a stream: a value whose `wait` has the results.

        `stream` is a stream of CuPy, PyTorch or Numba, a queue of PyOpenCL, the address of one, or None for the default stream. The run follows
        what is in the stream, and what is given to the stream then follows the run. Arguments of the host have their results behind `wait`, and
        must stay as they are before.
        """
        if self._on_device is None:
            raise TypeError(f"{self.name} uses no device: call it, or compile it with target='cuda' or 'opencl'")
        if self._streams or self._callbacks:
            raise TypeError(f"{self.name} has streams or callbacks as arguments: call it")
        address = stream_address(stream)
        results, instance, given = self._called(
            positional, arguments, lambda instance: self._start(instance.handle, address, instance.pointers), address, keeps=True
        )

        def wait():
            status = self._wait(instance.handle)
            failure = self._failure(status, self._error(instance.handle)) if status else None
            self._idle.append(instance)
            if failure is not None:
                raise failure

        return Started(wait, results, given)

    def _called(self, positional, arguments, invoke, stream=None, keeps=False):
        """Calls a function with an instance that has the arguments, for a run in a stream.

        A function that gives the results when the run has ended, and the instance and arguments, if they are kept.
        """
        arguments = self._front_end.completed(self._front_end.named(self, positional, arguments), self.arguments)
        functions = self._functions(arguments) if self._callbacks else {}
        if self._takes_fields:
            arguments = unpacked(arguments, self._arguments)
        if not arguments.keys() <= self._arguments.keys():
            arguments = self._without_fixed(flattened(arguments, self._arguments))
        queues = {stream.name: stream.queues(arguments[stream.name]) for stream in self._streams if stream.name in arguments}
        symbols = self._bind(arguments, queues, stream)
        for array in self._results:
            if array.name not in arguments:
                arguments[array.name] = array.allocate(symbols)
        try:
            instance = self._idle.pop()
        except IndexError:
            instance = self._new_instance()
        passed_streams = Passed()
        is_kept = False
        try:
            self._pass(instance, arguments, symbols, stream)
            for queue in self._streams:
                extents, listed = queues[queue.name]
                queue.check_sizes(extents, symbols)
                instance.pointers[queue.index] = passed_streams.add(queue, listed)
            if functions:
                run = Run(self._stop, instance.handle)
                # They live as long as the run.
                passed = [callback.bound(functions[callback.name], symbols, run) for callback in self._callbacks]
                for callback, function in zip(self._callbacks, passed):
                    instance.pointers[callback.index] = ctypes.cast(function, ctypes.c_void_p)
            others = producers(arguments, stream) if self._on_device else ()
            for other in others:
                self._order(instance, stream, other)
            self._has_begun = True
            status = invoke(instance)
            if functions and run.error is not None:
                raise run.error
            if status:
                raise self._failure(status, self._error(instance.handle))
            passed_streams.hand_back()
            if keeps:
                self._order_owners(instance, stream, others)
            is_kept = keeps
        finally:
            passed_streams.free()
            if not is_kept:
                self._idle.append(instance)

        def results():
            found = tuple(array.result(arguments[array.name]) for array in self._results)
            return found if len(found) > 1 else found[0] if found else None

        return results, instance, arguments

    def _order(self, instance, stream, before):
        """Lets what follows in one stream come behind what is in another one."""
        status = self._follow(instance.handle, stream, before)
        if status:
            raise self._failure(status, self._error(instance.handle))

    def _order_owners(self, instance, stream, others):
        """Lets owners of arguments, in streams of their own, use them again behind a run."""
        try:
            for other in others:
                self._order(instance, other, stream)
        except BaseException:
            # The arguments may end with the exception.
            self._wait(instance.handle)
            raise

    def _functions(self, arguments):
        """Takes the functions for callbacks out of the arguments."""
        functions = {}
        for callback in self._callbacks:
            if callback.name not in arguments:
                raise TypeError(f"{self.name} was called without {callback}. It takes: {self}")
            callback.check(arguments[callback.name])
            functions[callback.name] = arguments.pop(callback.name)
        return functions

    def _bind(self, arguments, queues, stream):
        """Values of all symbols, once what can be checked without them is checked."""
        symbols = {}
        for symbol in self._symbols:
            if symbol.name in arguments:
                symbols[symbol.name] = symbol.integer(arguments[symbol.name])
        missing = [each for each in [*self._scalars, *self._streams] if each.name not in arguments]
        for array in self._arrays:
            if array.name not in arguments:
                if array not in self._results:
                    missing.append(array)
                continue
            value = arguments[array.name]
            if type(value) is not numpy.ndarray:
                value = arguments[array.name] = _known(array, value, stream)
            array.check(value)
            for dimension, symbol in array.bound:
                extent = value.shape[dimension]
                if symbols.setdefault(symbol, extent) != extent:
                    raise ValueError(self._inconsistent(symbol, arguments, array))
        for stream in self._streams:
            for dimension, symbol in stream.bound if stream.name in queues else ():
                extents = queues[stream.name][0]
                # Where there are no rows, nothing tells the extents of the others.
                if 0 not in extents[:dimension]:
                    symbols.setdefault(symbol, extents[dimension])
        if len(symbols) < len(self._symbols):
            self._bind_others(arguments, symbols)
            # Those that follow from an array that is missing are not asked for.
            follow = {symbol for array in missing if isinstance(array, (Array, Stream)) for _, symbol in array.bound}
            missing += [symbol for symbol in self._symbols if symbol.name not in follow | symbols.keys()]
        if missing:
            names = "; ".join(map(str, missing))
            raise TypeError(f"{self.name} was called without {names}. It takes: {self}")
        return symbols

    def _bind_others(self, arguments, symbols):
        """Gives values to symbols that are no extents, by extents such as `N + 1` and by strides."""
        given = [(array, arguments[array.name]) for array in self._arrays if array.name in arguments]
        for array, value in given:
            for dimension in array.computed:
                extent = array.shape[dimension]
                unknown = extent.symbols - symbols.keys()
                if len(unknown) == 1:
                    (symbol,) = unknown
                    solution = extent.solved(symbol, symbols, value.shape[dimension])
                    symbols.update({} if solution is None else {symbol: solution})
        for array, value in given:
            for dimension, symbol in array.bound_strides:
                # Of a dimension with one element, the stride says nothing.
                if value.shape[dimension] > 1 and value.strides[dimension] % value.itemsize == 0:
                    symbols.setdefault(symbol, value.strides[dimension] // value.itemsize)
        for array, value in given:
            for dimension, symbol in array.bound_strides:
                if value.size == 0 and symbol in self._idle_symbols:
                    symbols.setdefault(symbol, max(value.strides[dimension] // value.itemsize, 1))

    def _inconsistent(self, symbol, arguments, last):
        """What to say of a symbol that arguments up to `last` give two values."""
        places = [(arguments[symbol], f"by {symbol}={arguments[symbol]}")] if symbol in arguments else []
        for array in self._arrays[: self._arrays.index(last) + 1]:
            if array.name in arguments:
                shape = arguments[array.name].shape
                places += [(shape[at], f"by dimension {at} of {array.name}") for at, name in array.bound if name == symbol]
        first, by_first = places[0]
        second, by_second = next(place for place in places if place[0] != first)
        return f"symbol {symbol} is {first} {by_first}, but {second} {by_second}"

    def _pass(self, instance, arguments, symbols, stream):
        """Puts the arguments where the program takes them from."""
        pointers, numbers = instance.pointers, instance.numbers
        for array in self._arrays:
            value = arguments[array.name]
            array.check_sizes(value, symbols)
            address = array.address(value, symbols)
            if type(value) is DeviceMemory and value.interface == "opencl":
                address = self._imported(instance, stream, address)
            pointers[array.index] = address
        for scalar in self._scalars:
            scalar.put(numbers, _SLOT * scalar.index, arguments[scalar.name])
        for symbol in self._symbols:
            symbol.put(numbers, _SLOT * symbol.index, symbols[symbol.name])

    def _imported(self, instance, stream, buffer):
        """The address by which a run takes a buffer of OpenCL."""
        address = ctypes.c_void_p()
        status = self._import(instance.handle, stream, buffer, ctypes.byref(address))
        if status:
            raise self._failure(status, self._error(instance.handle))
        return address.value

    def _without_fixed(self, arguments):
        """The arguments without symbols that the program was compiled for, whose values have to be those."""
        kept = {}
        for name, value in arguments.items():
            if name in self._arguments:
                kept[name] = value
            elif name not in self._fixed:
                raise TypeError(f"{self.name} has no argument {name}. It takes: {self}")
            elif value != self._fixed[name]:
                raise ValueError(f"symbol {name} is {value}, but {self.name} was compiled for {name}={self._fixed[name]}")
        return kept

    def _new_instance(self):
        handle = ctypes.c_void_p()
        status = self._create(ctypes.byref(self._configuration), ctypes.byref(handle))
        if status:
            raise self._failure(status, self._why_unmade())
        return _Instance(handle, len(self._arguments) + len(self._callbacks))

    def _why_unmade(self):
        """What is known of a failure to make an instance, besides its status."""
        return b""

    def _failure(self, status, text):
        known = self._statuses.get(status, {"name": "unknown", "message": f"status {status}"})
        message = f"{self.name} failed: {text.decode(errors='replace') or known['message']}"
        if known["name"] == "invalid_argument":
            return ValueError(message)
        if known["name"] == "out_of_memory":
            return MemoryError(message)
        return RunError(message, known["name"])

    @property
    def arguments(self):
        """The names of the arguments, symbols and callbacks, in the order of the signature."""
        return (*self._arguments, *(callback.name for callback in self._callbacks))

    def __str__(self):
        return f"{self.name}({', '.join(map(str, [*self._arguments.values(), *self._callbacks]))})"

    def __repr__(self):
        return f"<sdfg.Program {self}>"

    def __reduce__(self):
        # A copy would use instances that are destroyed with the original.
        raise TypeError(f"the compiled program {self.name} cannot be copied or pickled")


def _known(array, value, stream):
    """A value that is no plain array of NumPy, as the checks of an array know it."""
    if isinstance(value, numpy.ndarray):
        return value
    described = getattr(value, "__cuda_array_interface__", None)
    # Before version 3, it tells no stream; DLPack orders the stream of the run behind the library's own.
    if described is not None and (described.get("version", 0) >= 3 or not is_tensor(value)):
        return of_cuda_array(array.name, value, described)
    return tensor(array.name, value, stream) if is_tensor(value) else array.of_number(value)


def _thread_count(threads):
    """The number for the program, which is 0 if the OpenMP runtime chooses."""
    if threads is None:
        return 0
    try:
        count = operator.index(threads)
    except TypeError:
        raise TypeError(f"threads is {threads!r}, of type {type(threads).__name__}, but is a number or None") from None
    if not 0 < count < 2**31:
        raise ValueError(f"threads is {count}, but has to be from 1 to {2**31 - 1}; None lets the OpenMP runtime choose")
    return count


def _only_in_strides(arguments):
    """The symbols that are strides of arrays, and in the shape of none."""
    arrays = [argument for argument in arguments if isinstance(argument, Array)]
    strides = {symbol for array in arrays for _, symbol in array.bound_strides}
    return strides - {symbol for array in arrays for extent in array.shape for symbol in extent.symbols}


def _argument(description, index):
    if description["kind"] == "queue":
        return Stream(description, index)
    is_number = description["kind"] == "symbol" or description["access"] == "read" and "lanes" not in description
    return Scalar(description, index) if is_number and description["kind"] != "array" else Array(description, index)


def _result_order(name):
    """A number for `__return` (-1) and `__return_NUMBER`, none for other names."""
    if name == "__return":
        return -1
    number = name[len("__return_") :]
    return int(number) if name.startswith("__return_") and number.isdigit() else None


def _destroy_all(destroy, instances):
    while instances:
        destroy(instances.pop().handle)
