"""Every line of ``docs/coming-from-dace.md``: our side always, DaCe's side where there is a Python with DaCe 1.0.2.

That Python is the one that runs this test, or the one that SDFG_DACE_PYTHON names.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import coming_from_dace as page

# The program that DaCe's `axpy` is, for machines without DaCe.
AXPY = """sdfg axpy {
  symbol N: i64
  array X: f64[N]
  array Y: f64[N]
  scalar alpha: f64

  state s {
    access X
    access old = Y
    access new = Y
    access alpha
    map m [i = 0:N] schedule(cpu_multicore) {
      tasklet t (a, x, y) -> (r) { r = a * x + y }
      m.alpha -> t.a: alpha
      m.X -> t.x: X[i]
      m.Y -> t.y: Y[i]
      t.r -> m.Y: Y[i]
    }
    alpha -> m.alpha
    X -> m.X
    old -> m.Y
    m.Y -> new
  }
}
"""


def dace_python():
    """A Python with DaCe, if one is known."""
    named = os.environ.get("SDFG_DACE_PYTHON")
    return named or (sys.executable if importlib.util.find_spec("dace") else None)


class ComingFromDace(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        self.folder = pathlib.Path(folder.name)
        self.commands = self.folder / "commands"
        self.commands.mkdir()
        (self.commands / "sdfg").symlink_to(os.path.abspath(os.environ["SDFG_COMMAND"]))
        path = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        os.environ["PATH"] = f"{self.commands}{os.pathsep}{path}"
        os.chdir(self.folder)

    def test_our_side(self):
        (self.folder / "axpy.sdft").write_text(AXPY)
        made = ["sdfg", "print", "axpy.sdft", "--format", "dace", "-o", "axpy.sdfg"]
        subprocess.run(made, check=True)
        for heading in ("Calls", "Behaviour"):
            messages, count = page.wrong(heading, ("here",))
            self.assertEqual(messages, [])
            self.assertGreater(count, 8, heading)
        messages, count = page.wrong_configuration()
        self.assertEqual(messages, [])
        self.assertGreater(count, 8)
        self.assertEqual(page.wrong_terms(page.blocks("sdft")[0]), [])

    def test_both_sides(self):
        python = dace_python()
        if python is None:
            self.skipTest("DaCe is absent: SDFG_DACE_PYTHON names no Python with DaCe 1.0.2, so that DaCe's side was not tested")
        environment = {**os.environ, "PATH": f"{os.path.dirname(python)}{os.pathsep}{os.environ['PATH']}"}
        environment["PATH"] = f"{self.commands}{os.pathsep}{environment['PATH']}"
        # DaCe's own settings of the user are no part of the page.
        environment["DACE_CONFIG"] = str(self.folder / "dace.conf")
        done = subprocess.run(
            [python, "-W", "ignore", page.__file__, str(self.folder)],
            env=environment,
            capture_output=True,
            text=True,
        )
        self.assertTrue(done.stdout.rstrip().endswith("done"), done.stdout + done.stderr)
        self.assertEqual([line for line in done.stdout.splitlines() if line.startswith("wrong: ")], [], done.stdout)

    def test_a_wrong_line_is_found(self):
        self.assertTrue(page.agrees([1, 2], [1, 2], False))
        self.assertFalse(page.agrees([1, 2], [1, 3], False))
        self.assertFalse(page.agrees(None, [1], False))
        self.assertFalse(page.agrees(None, TypeError, False))
        self.assertFalse(page.agrees(TypeError(), None, False))
        self.assertFalse(page.agrees("output", "other", True))
        self.assertFalse(page.agrees(RuntimeError("other"), "other", True))
        self.assertIsInstance(page.outcome(["none"], {}), NameError)
        self.assertTrue(page.needs_dace(["sdfg.compile(axpy)"]))
        self.assertFalse(page.needs_dace(['sdfg.compile("axpy.sdfg")']))
        self.assertNotEqual(page.wrong_terms(""), [])


if __name__ == "__main__":
    unittest.main()
