"""Distributed programs on the ranks of MPI, started by mpirun."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent

# A sum and a histogram: every rank has a partial result.
SUMS = """sdfg sums {
  symbol N: i64
  symbol B: i64
  array A: f64[N]
  array H: i64[B]
  scalar s: f64
  state all {
    access A
    access H
    access s
    map squares [i = 0:N] {
      tasklet t (a) -> (o) { o = a * a }
      squares.A -> t.a: A[i]
      t.o -> squares.s: s wcr(sum)
    }
    map bins [j = 0:N] {
      tasklet u (b) -> (o: i64) { o = 1 + i64(b) * 0 }
      bins.A -> u.b: A[j]
      u.o -> bins.H: H[j % B] wcr(sum)
    }
    A -> squares.A
    squares.s -> s
    A -> bins.A
    bins.H -> H
  }
}
"""


def _mpirun(ranks):
    # Tests have more ranks than the machine has processors, and run in containers.
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]


class Ranks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("mpirun"):
            raise unittest.SkipTest("there is no mpirun (Debian: apt-get install libopenmpi-dev openmpi-bin)")
        try:
            import mpi4py  # noqa: F401
        except ImportError:
            raise unittest.SkipTest("there is no mpi4py: python -m pip install mpi4py") from None

    def _distributed(self, folder, program, ranks, *options):
        path = os.path.join(folder, f"{pathlib.Path(program).stem}.{ranks}.sdft")
        command = [os.environ["SDFG_COMMAND"], "distribute", str(program), "-p", str(ranks), "-o", path, *options]
        subprocess.run(command, check=True, capture_output=True)
        return path

    def _runs(self, ranks, script, *arguments):
        done = subprocess.run([*_mpirun(ranks), sys.executable, str(script), *arguments], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("ok", done.stdout)

    def test_the_example(self):
        with tempfile.TemporaryDirectory() as folder:
            program = self._distributed(folder, ROOT / "programs/jacobi2d.sdft", 4, "--set", "N=64", "--set", "T=5")
            self._runs(5, ROOT / "examples/mpi/main.py", program)

    def test_parts_and_whole_arrays(self):
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "sums.sdft")
            pathlib.Path(source).write_text(SUMS)
            for ranks in (2, 3):
                product = self._distributed(folder, ROOT / "programs/matmul.sdft", ranks, "--data-parallel")
                sums = self._distributed(folder, source, ranks, "--data-parallel")
                self._runs(ranks, HERE / "on_ranks.py", product, sums)
