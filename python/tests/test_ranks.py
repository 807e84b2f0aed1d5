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
            for ranks in (2, 3):
                product = self._distributed(folder, ROOT / "programs/matmul.sdft", ranks, "--data-parallel")
                sums = self._distributed(folder, ROOT / "tests/data/sums.sdft", ranks, "--data-parallel")
                self._runs(ranks, HERE / "on_ranks.py", product, sums)
