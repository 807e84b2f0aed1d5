"""Measures matrix products beside OpenBLAS and MKL: the other half of `cargo xtask bench cpu`.

- chain: the paper's program (Fig. 9b, `programs/matmul.sdft`) with 2048 rows and columns, after the chains of
  `examples/chains/matmul-2048*.chain.json`.
- node: the library node `MatMul` with symbols as extents, for the same size and for random ones.

Each call of ours is followed by one of each peer, and the process is bound to as many processors as threads run. A ratio is
the peer's time divided by ours in the same turn, so that more is faster. The table shows medians, and the smallest and
largest ratio. Results are compared with NumPy's in double precision. With one thread, `--cpu-time` takes CPU time, which
other work on the machine disturbs less than the clock.

OpenBLAS picks the kernels of Haswell for some processors with AVX-512, so `OPENBLAS_CORETYPE` names SkylakeX there.
"""

import argparse
import ctypes
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SIZE = 2048
CHAINS = {"f64": "matmul-2048", "f32": "matmul-2048-f32"}
ROW_MAJOR, NOT_TRANSPOSED = 101, 111
NODE = """sdfg matmul {{
  symbol M: i64
  symbol N: i64
  symbol K: i64
  array A: {ty}[M, K]
  array B: {ty}[K, N]
  array C: {ty}[M, N]
  state s {{
    access A
    access B
    access C
    library product: MatMul (_a, _b) -> (_c) {{}}
    A -> product._a
    B -> product._b
    product._c -> C: C[0:M, 0:N]
  }}
}}
"""


class Program:
    """A compiled product: of one size without symbols, or of any."""

    def __init__(self, library, threads, has_symbols):
        class Config(ctypes.Structure):
            _fields_ = [("size", ctypes.c_size_t), ("num_threads", ctypes.c_int32)]

        self.library = ctypes.CDLL(str(library))
        self.has_symbols = has_symbols
        self.handle = ctypes.c_void_p()
        config = Config(ctypes.sizeof(Config), threads)
        if self.library.matmul_create(ctypes.byref(config), ctypes.byref(self.handle)) != 0:
            sys.exit("error: the program cannot be started")

    def call(self, a, b, c):
        arguments = [self.handle, *(ctypes.c_void_p(matrix.ctypes.data) for matrix in (a, b, c))]
        if self.has_symbols:
            sizes = (a.shape[0], b.shape[1], a.shape[1])
            arguments += [ctypes.c_int64(size) for size in sizes]
        return lambda: self.library.matmul_run(*arguments)


class Blas:
    """A library with the C interface of BLAS."""

    def __init__(self, name, library, prefix, set_threads):
        self.name = name
        self.library = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        self.prefix = prefix
        self.set_threads = getattr(self.library, set_threads)

    def call(self, a, b, c):
        letter, scalar = ("d", ctypes.c_double) if a.dtype == np.float64 else ("s", ctypes.c_float)
        function = getattr(self.library, f"{self.prefix}cblas_{letter}gemm")
        (m, k), n = a.shape, b.shape[1]
        pointers = [ctypes.c_void_p(matrix.ctypes.data) for matrix in (a, b, c)]
        arguments = [ROW_MAJOR, NOT_TRANSPOSED, NOT_TRANSPOSED, m, n, k, scalar(1), pointers[0], k]
        arguments += [pointers[1], n, scalar(0), pointers[2], n]
        return lambda: function(*arguments)


def main():
    options = arguments()
    peers = blas_libraries()
    allowed = sorted(os.sched_getaffinity(0))
    clock = "CPU time" if options.cpu_time else "wall-clock time"
    print(f"matrix products, medians of {options.rounds} turns of {clock}; ratio: the peer's time by ours (smallest to largest)")
    print("peers: " + ", ".join(peer.name for peer in peers))
    with tempfile.TemporaryDirectory() as folder:
        for threads in options.threads:
            os.sched_setaffinity(0, allowed[-threads:])
            for peer in peers:
                peer.set_threads(threads)
            for ty in ("f64", "f32"):
                measure(options, Path(folder), peers, threads, ty)


def arguments():
    parser = argparse.ArgumentParser(description="Measures matrix products beside OpenBLAS and MKL.")
    parser.add_argument("--sdfg", type=Path, required=True, help="the command sdfg")
    parser.add_argument("--rounds", type=int, default=11, help="turns of each size")
    parser.add_argument("--shapes", type=int, default=100, help="random shapes, each extent log-uniform from 1 to 4096")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the shapes")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--cpu-time", action="store_true", help="CPU time instead of the clock, for one thread")
    options = parser.parse_args()
    if options.cpu_time and options.threads != [1]:
        parser.error("--cpu-time needs --threads 1")
    return options


def blas_libraries():
    """OpenBLAS, and MKL if it is installed."""
    if "avx512f" in Path("/proc/cpuinfo").read_text():
        os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX")
    import scipy_openblas32

    library = next(Path(scipy_openblas32.get_lib_dir()).glob("libscipy_openblas*.so"))
    openblas = Blas("OpenBLAS", library, "scipy_", "scipy_openblas_set_num_threads")
    openblas.library.scipy_openblas_get_corename.restype = ctypes.c_char_p
    openblas.name += f" ({openblas.library.scipy_openblas_get_corename().decode()})"
    peers = [openblas]
    for mkl in sorted(Path(sys.prefix, "lib").glob("libmkl_rt.so*")):
        peers.append(Blas("MKL", mkl, "", "MKL_Set_Num_Threads"))
        break
    return peers


def measure(options, folder, peers, threads, ty):
    dtype = {"f64": np.float64, "f32": np.float32}[ty]
    chain = Program(compiled(options, folder, ty, chained(options, ty), f"chain-{ty}"), threads, False)
    node = Program(compiled(options, folder, ty, NODE.format(ty=ty), f"node-{ty}"), threads, True)
    for name, program in (("chain", chain), ("node", node)):
        pairs = beside(options, program, peers, (SIZE, SIZE, SIZE), dtype, options.rounds)
        for peer, (ours, theirs, ratios) in pairs.items():
            rate = 2e-9 * SIZE**3
            print(
                f"{ty} {threads} thread(s) {SIZE}^3 {name:5} {rate / ours:7.1f} GFLOP/s, {peer} {rate / theirs:7.1f}: "
                f"{statistics.median(ratios):.3f} ({min(ratios):.2f} to {max(ratios):.2f})",
                flush=True,
            )
    shapes = random.Random(options.seed)
    found = {peer.name: [] for peer in peers}
    for _ in range(options.shapes):
        shape = tuple(round(math.exp(shapes.uniform(0, math.log(4096)))) for _ in range(3))
        for peer, (_, _, ratios) in beside(options, node, peers, shape, dtype, 5).items():
            found[peer].append((statistics.median(ratios), shape))
    for peer, ratios in found.items():
        if ratios:
            mean = statistics.geometric_mean(ratio for ratio, _ in ratios)
            few = ", ".join(f"{ratio:.2f} at {'x'.join(map(str, shape))}" for ratio, shape in sorted(ratios)[:4])
            print(
                f"{ty} {threads} thread(s) {len(ratios)} shapes (m x n x k), {peer}: geometric mean {mean:.3f}; "
                f"{sum(ratio < 0.7 for ratio, _ in ratios)} under 0.7; least {few}",
                flush=True,
            )


def chained(options, ty):
    """The paper's program for one size, after its chain."""
    text = (ROOT / "programs/matmul.sdft").read_text().replace("f64", ty)
    text = re.sub(r"^  symbol [MNK]: i64\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"\b[MNK]\b", str(SIZE), text)
    command = [options.sdfg, "chain", "apply", "-", ROOT / f"examples/chains/{CHAINS[ty]}.chain.json"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def compiled(options, folder, ty, text, name):
    library = folder / f"lib{name}.so"
    if not library.exists():
        subprocess.run([options.sdfg, "compile", "-", "-o", library], input=text, text=True, check=True)
    return library


def beside(options, program, peers, shape, dtype, rounds):
    """Medians of our seconds and of each peer's, with the ratios of each turn."""
    m, n, k = shape
    numbers = np.random.default_rng(0)
    a, b = numbers.random((m, k), dtype), numbers.random((k, n), dtype)
    c, d = np.zeros((m, n), dtype), np.zeros((m, n), dtype)
    ours = program.call(a, b, c)
    calls = {peer.name: peer.call(a, b, d) for peer in peers}
    expected = a.astype(np.float64) @ b.astype(np.float64)
    for call in (ours, *calls.values()):
        call()
    bound = np.finfo(dtype).eps * (k + 1) * (np.abs(expected).max() + 1)
    for result in (c, d):
        if np.abs(result - expected).max() > bound:
            sys.exit(f"error: the product of {m}x{k} and {k}x{n} is wrong")
    repeats = max(1, int(2e7 / (m * n * k)))
    clock = time.process_time if options.cpu_time else time.perf_counter

    def seconds(call):
        start = clock()
        for _ in range(repeats):
            call()
        return (clock() - start) / repeats

    turns = [(seconds(ours), {peer: seconds(call) for peer, call in calls.items()}) for _ in range(rounds)]
    median = statistics.median(own for own, _ in turns)
    result = {}
    for peer in calls:
        theirs = [of[peer] for _, of in turns]
        result[peer] = (median, statistics.median(theirs), [other / own for (own, _), other in zip(turns, theirs)])
    return result


if __name__ == "__main__":
    main()
