"""DaCe's programs compiled here compute what NumPy computes and what DaCe's own code computes.

DaCe compiles each program with a C++ compiler, in a folder that is removed afterwards, which takes seconds.
"""

import copy
import os
import tempfile
import unittest

import numpy
from numpy.testing import assert_allclose

try:
    import dace
except ImportError:
    raise unittest.SkipTest("DaCe is not installed: `cargo xtask python test --dace` installs it") from None

import sdfg
from programs import cases


def setUpModule():
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    unittest.addModuleCleanup(os.chdir, os.getcwd())
    os.chdir(folder.name)
    dace.Config.set("default_build_folder", value=folder.name)


def sizes(graph, given):
    """Values of the symbols in shapes, which DaCe's compiled programs ask for."""
    shapes = [(descriptor.shape, given[name].shape) for name, descriptor in graph.arglist().items() if numpy.ndim(given.get(name)) > 0]
    known = dict(pair for declared, found in shapes for pair in zip(map(str, declared), found))
    return {symbol: known.get(symbol, known.get(f"{symbol} + 1", 0) - 1) for symbol in map(str, graph.free_symbols)}


class Programs(unittest.TestCase):
    def same(self, found, expected):
        self.assertEqual(found is None, expected is None)
        for one, other in zip(*(result if isinstance(result, tuple) else (result,) for result in (found, expected))):
            if one is not None:
                self.assertEqual((one.shape, one.dtype), (other.shape, other.dtype))
                assert_allclose(one, other, rtol=1e-12)

    def check(self, f, arguments, reference):
        found, expected = copy.deepcopy(arguments), copy.deepcopy(arguments)
        self.same(f(**found), reference(**expected))
        for name, value in expected.items():
            assert_allclose(found[name], value, rtol=1e-12, err_msg=name)

    def test_as_numpy(self):
        for program, arguments, reference in cases(numpy.random.default_rng(1)):
            for simplify in (True, False):
                with self.subTest(program=program.name, simplify=simplify):
                    self.check(sdfg.compile(program.to_sdfg(simplify=simplify)), arguments, reference)

    def test_as_dace(self):
        for program, arguments, _ in cases(numpy.random.default_rng(2)):
            # DaCe passes complex numbers wrong: the program sees none.
            if any(isinstance(value, complex) for value in arguments.values()):
                continue
            with self.subTest(program=program.name):
                graph = program.to_sdfg()
                theirs = copy.deepcopy(graph).compile()

                self.check(sdfg.compile(graph), arguments, lambda **given: theirs(**given, **sizes(graph, given)))

    def test_functions_and_files_are_programs(self):
        program, arguments, reference = cases(numpy.random.default_rng(3))[0]
        self.check(sdfg.compile(program), arguments, reference)
        for name, compress in [("plain.sdfg", False), ("compressed.sdfgz", True)]:
            program.to_sdfg().save(name, compress=compress)
            self.check(sdfg.compile(name), arguments, reference)

    def test_declared_strides_are_strides_of_the_call(self):
        rows, columns, distance = (dace.symbol(name) for name in ("rows", "columns", "distance"))
        graph = dace.SDFG("copied")
        graph.add_array("A", [rows, columns], dace.float64, strides=[distance, 1], total_size=rows * distance)
        graph.add_array("B", [rows, columns], dace.float64, strides=[1, rows])
        state = graph.add_state()
        state.add_nedge(state.add_read("A"), state.add_write("B"), dace.Memlet("A[0:rows, 0:columns]"))
        A, B = numpy.random.default_rng(4).random((6, 9))[:, 2:7], numpy.zeros((6, 5), order="F")
        f = sdfg.compile(graph)
        f(A=A, B=B)
        assert_allclose(B, A, rtol=0)
        with self.assertRaisesRegex(ValueError, "argument B has strides"):
            f(A=A, B=numpy.zeros((6, 5)))

    def test_what_is_not_supported_is_an_error(self):
        graph = dace.SDFG("vectors")
        graph.add_array("A", [1], dace.float64)
        state = graph.add_state()
        code = state.add_tasklet("t", {}, {"o"}, "std::vector<double> v(3); o = v[1];", language=dace.Language.CPP)
        state.add_edge(code, "o", state.add_write("A"), None, dace.Memlet("A[0]"))
        with self.assertRaisesRegex(sdfg.CompileError, "vector"):
            sdfg.compile(graph)
        A = numpy.ones(1)
        sdfg.compile(graph, allow_external=True)(A=A)
        self.assertEqual(A[0], 0)
        code.code.as_string += " o = none;"
        with self.assertRaisesRegex(sdfg.CompileError, "tasklet `t` at vectors/"):
            sdfg.compile(graph, allow_external=True)


if __name__ == "__main__":
    unittest.main()
