"""Programs before compilation, and their transformations: the ``sdfg`` command rewrites, checks and records."""

import json
import os
import pathlib
import tempfile
import warnings

from .command import CompileError, CompileWarning, _command, _output, _source, compile


class TransformError(Exception):
    """A transformation that does not apply, or parameters that do not fit, with the message of the ``sdfg`` command."""


class Match:
    """A place at which the pattern of a transformation occurs."""

    def __init__(self, transformation, at, refused):
        #: The name of the transformation.
        self.transformation = transformation
        #: The paths of the elements, in the order of the pattern.
        self.at = tuple(at)
        #: The reason for which the transformation does not apply; None if it does.
        self.refused = refused

    def __repr__(self):
        reason = f", refused: {self.refused}" if self.refused else ""
        return f"<sdfg.Match {self.transformation} at {', '.join(self.at)}{reason}>"


class Graph:
    """A program that transformations rewrite. `sdfg.open` makes it."""

    def __init__(self, program, *, allow_external=False, retarget=None):
        self._allow_external = ["--allow-external"] * bool(allow_external)
        with tempfile.TemporaryDirectory(prefix="sdfg-") as folder:
            path, text, self._front_end = _source(program, folder)
            machine = [f"--retarget={machine}" for machine in [retarget] if machine is not None]
            options = ["print", *self._allow_external, *machine, "--", path]
            self._text, notes = _output(_command(), options, text, CompileError)
        if notes:
            warnings.warn(notes, CompileWarning, stacklevel=3)
        # The text and the steps before each step.
        self._before = []
        self._steps = []

    def matches(self, transformation=None, **parameters):
        """The places at which a transformation matches, with the reasons for those that it refuses; without a name, the places at which
        some transformation applies."""
        if transformation is None and parameters:
            raise TypeError("parameters need the name of the transformation that has them")
        name = [] if transformation is None else [transformation, *_options(parameters)]
        found = json.loads(self._rewritten(["match", "--json"], name))
        return [Match(each["transformation"], each["at"], each.get("refused")) for each in found]

    def apply(self, transformation, *, at=(), everywhere=False, limit=None, assume=(), guard=False, verify=False, **parameters):
        """Applies a transformation at one place: `at` is a path of the match, or several in the order of its pattern.

        With `everywhere`, it applies at every match, again until there is none, or `limit` times. Without it, `limit` is a
        parameter of the transformation, as `LoopUnroll` has one.

        `assume` is a comparison of symbols that the check takes for granted, or several, as `"N >= 2"`. With `guard`, the program tests
        them at run time, and runs the original code where one does not hold. The other arguments are the parameters of the
        transformation. With `verify`, the interpreter compares the program before and
        after. Gives the graph, so that calls can follow each other.
        """
        paths = [at] if isinstance(at, str) else at
        if not (isinstance(paths, (list, tuple)) and all(isinstance(path, str) for path in paths)):
            raise TypeError("at is a path, or a list of paths in the order of the pattern")
        assumed = [assume] if isinstance(assume, str) else assume
        options = [*(f"--at={path}" for path in paths), *(f"--assume={text}" for text in assumed)]
        if limit is not None and not everywhere:
            parameters["limit"], limit = limit, None
        options += [*["--everywhere"] * bool(everywhere), *([] if limit is None else [f"--limit={limit}"])]
        options += [*["--guard"] * bool(guard), *["--verify"] * bool(verify), *_options(parameters)]
        return self._recorded(["transform", *options], [transformation])

    def simplify(self, *, fuel=None, verify=False):
        """Applies the strict transformations until none applies, at most `fuel` times. The chain records it as one step."""
        fuel = [] if fuel is None else [f"--fuel={fuel}"]
        return self._recorded(["simplify", *fuel, *["--verify"] * bool(verify)], [])

    def replay(self, chain, *, verify=False):
        """Applies the steps of a chain: the path of a file, or what `chain` gives."""
        origin = ""
        if isinstance(chain, (str, os.PathLike)):
            origin = f"{os.fspath(chain)}: "
            text = pathlib.Path(chain).read_text(encoding="utf-8")
            try:
                chain = json.loads(text)
            except ValueError as error:
                raise TransformError(f"{origin}this is no chain of transformations: {error}") from None
        with tempfile.TemporaryDirectory(prefix="sdfg-") as folder:
            path = os.path.join(folder, "chain.json")
            pathlib.Path(path).write_text(json.dumps(chain), encoding="utf-8")
            try:
                text = self._rewritten(["chain", "apply", *["--verify"] * bool(verify)], [path])
            except TransformError as error:
                # The file of the command is none of the caller.
                raise TransformError(str(error).replace(f"{path}: ", origin)) from None
        return self._now(text, self._steps + chain.get("steps", []))

    def undo(self):
        """Takes the last call of `apply`, `simplify` or `replay` back."""
        if not self._before:
            raise TransformError("there is nothing to undo")
        self._text, self._steps = self._before.pop()
        return self

    @property
    def chain(self):
        """The steps since the program was opened, as the content of a chain file."""
        return {"version": 1, "steps": self._steps}

    def save(self, path):
        """Writes the program in the text form; a path that ends with `.json` gets the chain instead."""
        path = pathlib.Path(path)
        text = json.dumps(self.chain, indent=2) + "\n" if path.suffix == ".json" else self._text
        path.write_text(text, encoding="utf-8")

    def compile(self, **options):
        """Compiles the program; the options are those of `sdfg.compile`."""
        program = compile(self._text, **options)
        program._front_end = self._front_end
        return program

    def __str__(self):
        return self._text

    def __repr__(self):
        return f"<sdfg.Graph {self._text.split(' ', 2)[1]} after {len(self._steps)} steps>"

    def _rewritten(self, command, arguments=()):
        return _run([*command, *self._allow_external, "--", "-", *arguments], self._text, TransformError)

    def _recorded(self, command, arguments):
        """Rewrites the program and adds the step to the chain."""
        with tempfile.TemporaryDirectory(prefix="sdfg-") as folder:
            record = os.path.join(folder, "chain.json")
            text = self._rewritten([*command, f"--record={record}"], arguments)
            steps = json.loads(pathlib.Path(record).read_text(encoding="utf-8"))["steps"]
        return self._now(text, self._steps + steps)

    def _now(self, text, steps):
        self._before.append((self._text, self._steps))
        self._text, self._steps = text, steps
        return self


def open(program, *, allow_external=False, retarget=None):
    """Opens a program to rewrite it: what `sdfg.compile` takes. `allow_external` and `retarget` are those of `sdfg.compile`.

        p = sdfg.open("gemm.sdfg")
        p.simplify()
        p.apply("MapTiling", at="gemm", tile_sizes=[32, 32])
        f = p.compile()
    """
    return Graph(program, allow_external=allow_external, retarget=retarget)


def transformations():
    """The names of the transformations."""
    listed = _run(["transforms"], None, TransformError)
    return [line.split()[0] for line in listed.splitlines()]


def _options(parameters):
    return [f"--param={name}={_json(name, value)}" for name, value in parameters.items()]


def _json(name, value):
    # Numbers and arrays of NumPy are numbers and lists.
    def plain(other):
        if not hasattr(other, "tolist"):
            raise TypeError(f"the parameter `{name}` is made of numbers, words and lists, not of {type(other).__name__}")
        return other.tolist()

    return json.dumps(value, default=plain)


def _run(arguments, text, error):
    return _output(_command(), arguments, text, error)[0]
