"""From programs to functions: what may be given to `compile`, and how it fails."""

import os
import pathlib
import subprocess
import tempfile
import unittest
import warnings
from unittest import mock

import numpy

import sdfg
from programs import AXPY


class Compile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def computes(self, f, **more):
        y = numpy.ones(3)
        f(a=2, x=numpy.ones(3), y=y, **more)
        self.assertEqual(y.tolist(), [3.0] * 3)

    def test_programs_are_paths_and_texts(self):
        path = self.folder / "a program.sdft"
        path.write_text(AXPY)
        for program in (AXPY, path, str(path)):
            self.computes(sdfg.compile(program, level=0))

    def test_programs_are_what_saves_itself(self):
        class Graph:
            name = "mine"

            def save(self, path):
                pathlib.Path(path).write_text(AXPY)

        class Function:
            def to_sdfg(self):
                return Graph()

        self.computes(sdfg.compile(Graph(), level=0))
        self.computes(sdfg.compile(Function(), level=0))

    def test_functions_have_positions_and_a_closure(self):
        around = {"x": numpy.ones(3), "other": numpy.zeros(1)}

        class Graph:
            name, arg_names = "mine", ["a", "y"]

            def save(self, path):
                pathlib.Path(path).write_text(AXPY)

        class Function:
            def to_sdfg(self):
                return Graph()

            def __sdfg_closure__(self):
                return around

        f, y = sdfg.compile(Function(), level=0), numpy.ones(3)
        f(2.0, y)
        self.assertEqual(y.tolist(), [3.0] * 3)
        # The closure is that of the time of the call, unless the caller gives another value.
        around["x"] = 2 * numpy.ones(3)
        f(1.0, y=y)
        self.assertEqual(y.tolist(), [5.0] * 3)
        f(1.0, y, x=numpy.zeros(3))
        self.assertEqual(y.tolist(), [5.0] * 3)
        with self.assertRaisesRegex(TypeError, "takes 2 arguments by position, not 3: a, y"):
            f(1.0, y, y)
        with self.assertRaisesRegex(TypeError, "was given a by position and by name"):
            f(1.0, a=1.0, y=y)
        with self.assertRaisesRegex(TypeError, "without x"):
            sdfg.compile(Graph(), level=0)(1.0, y)

    def test_programs_for_gpus_are_retargeted(self):
        program = AXPY.replace("map m [i = 0:N]", "map m [i = 0:N] schedule(gpu_grid)")
        with self.assertRaisesRegex(sdfg.CompileError, "gpu_grid"):
            sdfg.compile(program, level=0)
        with self.assertWarnsRegex(sdfg.CompileWarning, "gpu_grid"):
            f = sdfg.compile(program, level=0, retarget="cpu")
        self.computes(f)

    def test_options_are_those_of_the_command(self):
        self.computes(sdfg.compile(AXPY, level=1, float_mode="strict", threads=2, reproducible=True, cache=False))
        self.computes(sdfg.compile(AXPY, level=1, threads=2, nested_threads=2))
        for options, message in [
            ({"level": "fastest"}, "invalid value 'fastest'"),
            ({"cpu": "no-such"}, "`no-such` is not a processor"),
            ({"specialize": {"M": 1}}, "M"),
            ({"may_overlap": ["z"]}, "z"),
            ({"retarget": "gpu"}, "invalid value 'gpu'"),
            ({"nested_threads": 0}, "invalid value '0'"),
        ]:
            with self.assertRaisesRegex(sdfg.CompileError, message):
                sdfg.compile(AXPY, **options)

    def test_symbols_with_a_value_for_good(self):
        f = sdfg.compile(AXPY, level="fast", specialize={"N": 3})
        self.assertEqual(str(f), "axpy(a: float64, x: float64[3], y: float64[3])")
        self.computes(f)
        self.computes(f, N=3)
        with self.assertRaisesRegex(ValueError, "symbol N is 4, but axpy was compiled for N=3"):
            f(a=2, x=numpy.ones(3), y=numpy.ones(3), N=4)

    def test_errors_are_those_of_the_command(self):
        with self.assertRaisesRegex(sdfg.CompileError, r"(?s)error.*y\[i \+ 1\]"):
            sdfg.compile(AXPY.replace("m.y: y[i]", "m.y: y[i + 1]"))
        with self.assertRaisesRegex(sdfg.CompileError, "cannot read `-nothing`"):
            sdfg.compile("-nothing")
        for path in ("", ".", "-"):
            with self.assertRaisesRegex(sdfg.CompileError, "error: "):
                sdfg.compile(path)
        for program in (3, None, b"x"):
            with self.assertRaisesRegex(TypeError, "a program is a path"):
                sdfg.compile(program)

    def test_warnings_of_the_command_are_warnings(self):
        doubtful = AXPY.replace("m.y: y[i]", "m.y: y[i * i % N]")
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            sdfg.compile(doubtful)
        self.assertEqual([(each.category, each.filename) for each in found], [(sdfg.CompileWarning, __file__)])
        self.assertIn("y[i**2 % N]", str(found[0].message))

    def test_what_was_compiled_is_not_loaded_again(self):
        def mapped():
            lines = pathlib.Path("/proc/self/maps").read_text().splitlines()
            return sum("libkept.so" in line for line in lines)

        kept = AXPY.replace("sdfg axpy", "sdfg kept")
        first = sdfg.compile(kept, level=0)
        self.computes(first)
        before = mapped()
        self.assertGreater(before, 0)
        path = self.folder / "kept.sdft"
        path.write_text(kept)
        with mock.patch("subprocess.run", side_effect=AssertionError("the command is not needed")):
            for threads in (None, 1, 2):
                self.computes(sdfg.compile(kept, level=0, threads=threads))
        self.computes(sdfg.compile(path, level=0))
        self.computes(sdfg.compile(path, level=0))
        # A file that changes is another program, and so is another option.
        path.write_text(kept.replace("a * x + y", "a * x - y"))
        y = numpy.ones(3)
        sdfg.compile(path, level=0)(a=2, x=numpy.ones(3), y=y)
        self.assertEqual(y.tolist(), [1.0] * 3)
        y = numpy.ones(3)
        first(a=2, x=numpy.ones(3), y=y)
        self.assertEqual(y.tolist(), [3.0] * 3)
        with self.assertRaises(sdfg.CompileError):
            sdfg.compile(kept, level=7)

    def test_warnings_are_told_each_time(self):
        doubtful = AXPY.replace("m.y: y[i]", "m.y: y[i * i % N]").replace("sdfg axpy", "sdfg doubtful")
        for _ in range(2):
            with self.assertWarns(sdfg.CompileWarning):
                sdfg.compile(doubtful)

    def test_numbers_of_threads_are_positive(self):
        for threads in (0, -1, 2**31):
            with self.assertRaisesRegex(ValueError, f"threads is {threads}, but has to be from 1"):
                sdfg.compile(AXPY, threads=threads)
        with self.assertRaisesRegex(TypeError, "threads is 'two', of type str"):
            sdfg.compile(AXPY, threads="two")

    def test_nothing_is_left_in_the_temporary_folder(self):
        with mock.patch.object(tempfile, "tempdir", str(self.folder)):
            self.computes(sdfg.compile(AXPY))
            with self.assertRaises(sdfg.CompileError):
                sdfg.compile("sdfg p {\n")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_command_that_is_not_there(self):
        with mock.patch.dict(os.environ, {"SDFG_COMMAND": "/nowhere/sdfg"}):
            with self.assertRaisesRegex(sdfg.CompileError, "cannot run the command /nowhere/sdfg"):
                sdfg.compile(AXPY)
        with mock.patch.dict(os.environ, {"SDFG_COMMAND": "", "PATH": str(self.folder)}):
            with mock.patch("sysconfig.get_path", lambda name: str(self.folder)):
                with self.assertRaisesRegex(sdfg.CompileError, "cargo xtask python"):
                    sdfg.compile(AXPY)
                installed = self.folder / "sdfg"
                installed.write_text("#!/bin/sh\necho not today >&2\nexit 1\n")
                installed.chmod(0o755)
                with self.assertRaisesRegex(sdfg.CompileError, "^not today$"):
                    sdfg.compile(AXPY)

    def test_packages_are_loaded(self):
        source, package = self.folder / "axpy.sdft", self.folder / "package"
        source.write_text(AXPY)
        command = [os.environ["SDFG_COMMAND"], "compile", str(source), "--emit", "package", "-o", str(package)]
        subprocess.run(command, check=True)
        self.computes(sdfg.load(package, threads=1))
        with self.assertRaisesRegex(FileNotFoundError, "is no package of"):
            sdfg.load(self.folder)
        description = package / "include" / "axpy.json"
        description.write_text(description.read_text().replace('"sdfg_interface": 1', '"sdfg_interface": 2'))
        with self.assertRaisesRegex(ValueError, "not of version 1"):
            sdfg.load(package)


if __name__ == "__main__":
    unittest.main()
