"""Programs are rewritten, recorded and compiled."""

import json
import os
import tempfile
import unittest

import numpy

import sdfg

TWO_MAPS = """sdfg p {
  symbol N: i64
  array A: f64[N]
  array B: f64[N]
  transient array T: f64[N]
  state s {
    access A
    access T
    map add [i = 0:N] {
      tasklet plus (x) -> (y) { y = x + 1 }
      add.A -> plus.x: A[i]
      plus.y -> add.T: T[i]
    }
    access B
    map scale [k = 0:N] {
      tasklet times (x) -> (y) { y = 2 * x }
      scale.T -> times.x: T[k]
      times.y -> scale.B: B[k]
    }
    A -> add.A
    add.T -> T
    T -> scale.T
    scale.B -> B
  }
}
"""


class Graphs(unittest.TestCase):
    def result(self, graph):
        given, found = numpy.arange(5.0), numpy.zeros(5)
        graph.compile(level=0)(A=given, B=found)
        return found.tolist()

    def test_rewrites(self):
        graph = sdfg.open(TWO_MAPS)
        before = self.result(graph)
        self.assertEqual(graph.matches("MapFusion")[0].at, ("p/s/add", "p/s/T", "p/s/scale"))
        self.assertIn("MapTiling", [match.transformation for match in graph.matches()])
        refused = graph.matches("MapExpansion")[0].refused
        self.assertIn("the map has 1", refused)
        graph.apply("MapFusion", at=["add", "scale"], verify=True).apply("MapTiling", tile_sizes=[2])
        self.assertEqual(str(graph).count("map "), 2)
        self.assertEqual(self.result(graph), before)
        self.assertEqual([step["transformation"] for step in graph.chain["steps"]], ["MapFusion", "MapTiling"])
        replayed = sdfg.open(TWO_MAPS).replay(graph.chain, verify=True)
        self.assertEqual(str(replayed), str(graph))
        graph.undo().undo()
        self.assertEqual(str(graph), str(sdfg.open(TWO_MAPS)))
        self.assertEqual(graph.chain["steps"], [])

    def test_retargets(self):
        with self.assertWarnsRegex(sdfg.CompileWarning, "gpu_grid becomes default"):
            graph = sdfg.open(TWO_MAPS.replace("0:N] {", "0:N] schedule(gpu_grid) {", 1), retarget="cpu")
        self.assertEqual(str(graph), str(sdfg.open(TWO_MAPS)))

    def test_applies_everywhere(self):
        graph = sdfg.open(TWO_MAPS)
        graph.apply("MapFusion", everywhere=True)
        self.assertEqual(str(graph).count("map "), 1)
        self.assertEqual(graph.chain["steps"][0]["at"], "everywhere")
        with self.assertRaisesRegex(sdfg.TransformError, "still applies"):
            graph.apply("MapTiling", everywhere=True)
        graph.apply("MapTiling", everywhere=True, limit=1, tile_sizes=[2])
        self.assertEqual(str(graph).count("map "), 2)

    def test_simplifies_and_saves(self):
        graph = sdfg.open(TWO_MAPS)
        graph.apply("MapTiling", at="add", tile_sizes=[4])
        with tempfile.TemporaryDirectory() as folder:
            program, chain = os.path.join(folder, "p.sdft"), os.path.join(folder, "p.json")
            graph.save(program)
            graph.save(chain)
            self.assertEqual(str(sdfg.open(program)), str(graph))
            with open(chain, encoding="utf-8") as file:
                self.assertEqual(json.load(file), graph.chain)
            self.assertEqual(str(sdfg.open(TWO_MAPS).replay(chain)), str(graph))
        graph.simplify(verify=True)
        self.assertEqual([step["transformation"] for step in graph.chain["steps"]], ["MapTiling", "simplify"])
        self.assertEqual(str(sdfg.open(TWO_MAPS).replay(graph.chain)), str(graph))

    def test_steps_take_assumptions_and_guards(self):
        graph = sdfg.open(TWO_MAPS)
        with self.assertRaises(sdfg.TransformError):
            graph.apply("MapTiling", at="add", tile_sizes=["N - 2"])
        graph.apply("MapTiling", at="add", tile_sizes=["N - 2"], assume="N > 2", guard=True)
        self.assertEqual((graph.chain["steps"][0]["assume"], graph.chain["steps"][0]["guard"]), (["N > 2"], True))
        self.assertIn("if ", str(graph))
        self.assertEqual(str(sdfg.open(TWO_MAPS).replay(graph.chain)), str(graph))
        self.assertIn("MapTiling", sdfg.transformations())

    def test_parameters_have_the_names_of_the_metadata(self):
        graph = sdfg.open(TWO_MAPS.replace("i = 0:N]", "i = 0:3]"))
        with self.assertRaisesRegex(sdfg.TransformError, "parameter `limit`"):
            graph.apply("MapUnroll", at="add", limit=2)
        graph.apply("MapUnroll", at="add", limit=3)
        self.assertEqual(graph.chain["steps"][0]["parameters"], {"limit": 3})
        graph.apply("MapTiling", at="scale", tile_sizes=numpy.array([4]))
        with self.assertRaisesRegex(TypeError, "`tile_sizes` is made of numbers, words and lists, not of set"):
            graph.apply("MapTiling", at="scale", tile_sizes={4})
        with self.assertRaisesRegex(TypeError, "at is a path, or a list of paths"):
            graph.apply("MapTiling", at=3)
        with tempfile.TemporaryDirectory() as folder:
            chain = os.path.join(folder, "p.json")
            with open(chain, "w", encoding="utf-8") as file:
                file.write("no chain")
            with self.assertRaisesRegex(sdfg.TransformError, "p.json: this is no chain"):
                graph.replay(chain)
            with open(chain, "w", encoding="utf-8") as file:
                file.write("[]")
            with self.assertRaisesRegex(sdfg.TransformError, "p.json: this is no chain of transformations: it is no object"):
                graph.replay(chain)
        with self.assertRaisesRegex(sdfg.TransformError, "error: this is no chain of transformations: it is no object"):
            graph.replay([])
        with self.assertRaisesRegex(TypeError, "parameters need the name"):
            graph.matches(tile_sizes=[4])

    def test_refusals_change_nothing(self):
        graph = sdfg.open(TWO_MAPS)
        for arguments, message in [
            (dict(transformation="MapTilin"), "did you mean `MapTiling`"),
            (dict(transformation="MapTiling", at="add", sizes=[2]), "tile_sizes"),
            (dict(transformation="MapCollapse", at="add"), "does not match"),
        ]:
            with self.assertRaisesRegex(sdfg.TransformError, message):
                graph.apply(**arguments)
        with self.assertRaisesRegex(sdfg.TransformError, "nothing to undo"):
            graph.undo()
        with self.assertRaises(sdfg.CompileError):
            sdfg.open("sdfg p {\n  state s { access A }\n}")


if __name__ == "__main__":
    unittest.main()
