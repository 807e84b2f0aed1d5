"""Measures matrix products beside OpenBLAS and MKL: the other half of `cargo xtask bench cpu`.

- chain: the paper's program (Fig. 9b, `programs/matmul.sdft`) with 2048 rows and columns, after the chains of
  `examples/chains/matmul-2048*.chain.json`.
- node: the library node `MatMul` with symbols as extents, for the same size and for random ones.
- `--library`: other library nodes instead, in `f64` or `complex128`, beside `gemv`, `dot`, `omatcopy`, and a loop over `gemm` in C.

Each call of ours is followed by one of each peer, and the process is bound to as many processors as threads run. A ratio is
the peer's time divided by ours in the same turn, so that more is faster. The peak is the rate of multiply-adds that stay in
registers, the best of some runs before. The table shows medians, and the smallest and
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
ROW_MAJOR, NOT_TRANSPOSED, TRANSPOSED = 101, 111, 112
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


# Other library nodes with symbols as extents: arrays with their shapes, the last one the output, the node, and its edges.
LIBRARY = {
    "gemv": (["A: f64[M, N]", "x: f64[N]", "y: f64[M]"], "Gemv (_A, _x) -> (_y) {}", ["_A", "_x", "_y"]),
    "gemv_t": (["A: f64[M, N]", "x: f64[M]", "y: f64[N]"], "Gemv (_A, _x) -> (_y) { transA = True }", ["_A", "_x", "_y"]),
    "dot": (["x: f64[N]", "y: f64[N]", "r: f64[1]"], "Dot (_x, _y) -> (_result) {}", ["_x", "_y", "_result"]),
    "transpose": (["A: f64[M, N]", "B: f64[N, M]"], "Transpose (_inp) -> (_out) {}", ["_inp", "_out"]),
    "batched": (
        ["A: f64[P, M, N]", "B: f64[P, N, N]", "C: f64[P, M, N]"],
        "BatchedMatMul (_a, _b) -> (_c) {}",
        ["_a", "_b", "_c"],
    ),
    "batched_z": (
        ["A: complex128[P, M, N]", "B: complex128[P, N, N]", "C: complex128[P, M, N]"],
        "BatchedMatMul (_a, _b) -> (_c) {}",
        ["_a", "_b", "_c"],
    ),
}
SIZES = {
    "gemv": [{"M": 7, "N": 5}, {"M": 100, "N": 100}, {"M": 999, "N": 37}, {"M": 1000, "N": 1000}, {"M": 5000, "N": 5003}],
    "dot": [{"N": 5}, {"N": 100}, {"N": 1001}, {"N": 100_000}, {"N": 10_000_000}],
    "transpose": [{"M": 5, "N": 3}, {"M": 63, "N": 65}, {"M": 1000, "N": 1001}, {"M": 4096, "N": 4096}],
    "batched": [{"P": 100_000, "M": n, "N": n} for n in (3, 10, 16)],
    "batched_z": [{"P": 100_000, "M": n, "N": n} for n in (4, 10, 16)],
}
SIZES["gemv_t"] = SIZES["gemv"]


class Program:
    """A compiled product: of one size without symbols, or of any."""

    class Config(ctypes.Structure):
        _fields_ = [("size", ctypes.c_size_t), ("num_threads", ctypes.c_int32)]

    def __init__(self, library, threads, has_symbols):
        self.library = ctypes.CDLL(str(library))
        self.has_symbols = has_symbols
        self.handle = ctypes.c_void_p()
        config = Program.Config(ctypes.sizeof(Program.Config), threads)
        if self.library.matmul_create(ctypes.byref(config), ctypes.byref(self.handle)) != 0:
            sys.exit("error: the program cannot be started")

    def call(self, a, b, c):
        arguments = [self.handle, *(ctypes.c_void_p(matrix.ctypes.data) for matrix in (a, b, c))]
        if self.has_symbols:
            sizes = (a.shape[0], b.shape[1], a.shape[1])
            arguments += [ctypes.c_int64(size) for size in sizes]
        return lambda: self.library.matmul_run(*arguments)


class LibraryNode:
    """A compiled program of one library node."""

    def __init__(self, options, folder, name, threads):
        arrays, node, connectors = LIBRARY[name]
        self.name, self.arrays = name, arrays
        self.symbols = sorted({symbol for array in arrays for symbol in re.findall(r"\b[MNP]\b", array)})
        lines = [f"sdfg node_{name} {{"] + [f"symbol {symbol}: i64" for symbol in self.symbols]
        lines += [f"array {array}" for array in arrays] + ["state s {"]
        names = [array.split(":")[0] for array in arrays]
        lines += [f"access {array}" for array in names] + [f"library node: {node}"]
        lines += [f"{array} -> node.{connector}" for array, connector in zip(names[:-1], connectors)]
        dimensions = ", ".join([":"] * (arrays[-1].count(",") + 1))
        lines += [f"node.{connectors[-1]} -> {names[-1]}: {names[-1]}[{dimensions}]", "}", "}"]
        path = compiled(options, folder, "f64", "\n".join(lines), f"library-{name}")
        self.library = ctypes.CDLL(str(path))
        self.handle = ctypes.c_void_p()
        config = Program.Config(ctypes.sizeof(Program.Config), threads)
        if getattr(self.library, f"node_{name}_create")(ctypes.byref(config), ctypes.byref(self.handle)) != 0:
            sys.exit("error: the program cannot be started")

    def made(self, sizes):
        """Random arrays of these sizes; the last one is the output."""
        numbers = np.random.default_rng(0)
        result = []
        for array in self.arrays:
            shape = [sizes.get(extent, 1) for extent in re.findall(r"\[(.*)\]", array)[0].split(", ")]
            values = numbers.random(shape)
            result.append(values + 1j * numbers.random(shape) if "complex" in array else values)
        return result

    def call(self, arrays, sizes):
        arguments = [self.handle, *(ctypes.c_void_p(array.ctypes.data) for array in arrays)]
        arguments += [ctypes.c_int64(sizes[symbol]) for symbol in self.symbols]
        run = getattr(self.library, f"node_{self.name}_run")
        return lambda: run(*arguments)

    def expected(self, arrays):
        match self.name:
            case "gemv":
                return arrays[0] @ arrays[1]
            case "gemv_t":
                return arrays[0].T @ arrays[1]
            case "dot":
                return np.array([arrays[0] @ arrays[1]])
            case "transpose":
                return arrays[0].T
            case _:
                return arrays[0] @ arrays[1]


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

    def library_call(self, name, arrays, sizes):
        """The call for a library node: a loop over batches for those, and none where the library has no such function."""
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        m, n = sizes.get("M", 1), sizes["N"]
        one, zero = ctypes.c_double(1), ctypes.c_double(0)
        match name:
            case "gemv" | "gemv_t":
                function = getattr(self.library, f"{self.prefix}cblas_dgemv")
                way = NOT_TRANSPOSED if name == "gemv" else TRANSPOSED
                return lambda: function(ROW_MAJOR, way, m, n, one, pointers[0], n, pointers[1], 1, zero, pointers[2], 1)
            case "dot":
                function = getattr(self.library, f"{self.prefix}cblas_ddot")
                function.restype = ctypes.c_double

                def dot():
                    arrays[2][0] = function(n, pointers[0], 1, pointers[1], 1)

                return dot
            case "transpose":
                function = getattr(self.library, f"{self.prefix}cblas_domatcopy", None)
                if function is None:
                    return None
                return lambda: function(ROW_MAJOR, TRANSPOSED, m, n, one, pointers[0], n, pointers[1], m)
            case _:
                return batches(self, name, pointers, sizes)


# A loop over calls of BLAS in C, because a call from Python takes a microsecond.
BATCHES = """
#include <complex.h>
typedef void (*product)(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
typedef void (*complex_product)(int, int, int, int, int, int, const void *, const void *, int, const void *, int, const void *, void *, int);
void batched(product f, const double *a, const double *b, double *c, long p, int m, int n) {
  for (long i = 0; i < p; i++)
    f(101, 111, 111, m, n, n, 1, a + i * m * n, n, b + i * n * n, n, 0, c + i * m * n, n);
}
void batched_z(complex_product f, const double _Complex *a, const double _Complex *b, double _Complex *c, long p, int m, int n) {
  double _Complex one = 1, zero = 0;
  for (long i = 0; i < p; i++)
    f(101, 111, 111, m, n, n, &one, a + i * m * n, n, b + i * n * n, n, &zero, c + i * m * n, n);
}
"""


def batches(blas, name, pointers, sizes):
    """A loop in C over the products of a batch."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "batches.so")
        command = ["cc", "-O2", "-shared", "-fPIC", "-x", "c", "-", "-o", path]
        subprocess.run(command, input=BATCHES, text=True, check=True)
        library = ctypes.CDLL(str(path))
    letter = "d" if name == "batched" else "z"
    function = ctypes.cast(getattr(blas.library, f"{blas.prefix}cblas_{letter}gemm"), ctypes.c_void_p)
    loop = getattr(library, name)
    return lambda: loop(function, *pointers, ctypes.c_long(sizes["P"]), sizes["M"], sizes["N"])


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
            if options.library:
                measure_library(options, Path(folder), peers, threads)
                continue
            for ty in ("f64", "f32"):
                measure(options, Path(folder), peers, threads, ty)


def arguments():
    parser = argparse.ArgumentParser(description="Measures matrix products beside OpenBLAS and MKL.")
    parser.add_argument("--sdfg", type=Path, required=True, help="the command sdfg")
    parser.add_argument("--rounds", type=int, default=11, help="turns of each size, at least five of random ones")
    parser.add_argument("--shapes", type=int, default=100, help="random shapes, each extent log-uniform from 1 to 4096")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the shapes")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--library", nargs="*", choices=list(LIBRARY), help="other library nodes instead of products; all without names")
    parser.add_argument("--cpu-time", action="store_true", help="CPU time instead of the clock, for one thread")
    options = parser.parse_args()
    if options.library == []:
        options.library = list(LIBRARY)
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


# Multiply-adds of registers alone: as many sums as hide the latency of two units, with all threads at once.
PEAK = """
typedef {c} vector __attribute__((vector_size({bytes})));
void peak(long n, int threads, {c} *out) {{
  #pragma omp parallel num_threads(threads)
  {{
    vector sums[24] = {{0}}, factor = {{0}};
    for (int j = 0; j < 24; j++) sums[j] += 1;
    factor += ({c})0.5;
    for (long i = 0; i < n; i++)
      #pragma GCC unroll 24
      for (int j = 0; j < 24; j++) sums[j] = sums[j] * factor + factor;
    for (int j = 1; j < 24; j++) sums[0] += sums[j];
    #pragma omp critical
    *out += sums[0][0];
  }}
}}
"""


def peak_rate(options, folder, ty, threads):
    """The most multiply-adds that the processor was seen to do, in GFLOP/s."""
    wide = "avx512f" in Path("/proc/cpuinfo").read_text()
    c, size = {"f64": ("double", 8), "f32": ("float", 4)}[ty]
    length = 64 if wide else 32
    library = folder / f"peak-{ty}.so"
    command = ["cc", "-O3", "-march=native", "-ffp-contract=fast", "-fopenmp", "-shared", "-fPIC", "-x", "c", "-", "-o", library]
    subprocess.run(command, input=PEAK.format(c=c, bytes=length), text=True, check=True)
    function = ctypes.CDLL(str(library)).peak
    n, out = 3_000_000, np.zeros(1, {"f64": np.float64, "f32": np.float32}[ty])

    def seconds():
        start = time.perf_counter()
        function(ctypes.c_long(n), threads, ctypes.c_void_p(out.ctypes.data))
        return time.perf_counter() - start

    best = min(seconds() for _ in range(max(5, options.rounds)))
    return 2e-9 * 24 * (length // size) * n * threads / best


def measure(options, folder, peers, threads, ty):
    peak = peak_rate(options, folder, ty, threads)
    print(f"{ty} {threads} thread(s) multiply-adds in registers {peak:.1f} GFLOP/s", flush=True)
    dtype = {"f64": np.float64, "f32": np.float32}[ty]
    chain = Program(compiled(options, folder, ty, chained(options, ty), f"chain-{ty}"), threads, False)
    node = Program(compiled(options, folder, ty, NODE.format(ty=ty), f"node-{ty}"), threads, True)
    for name, program in (("chain", chain), ("node", node)):
        pairs = beside(options, program, peers, (SIZE, SIZE, SIZE), dtype, options.rounds)
        for peer, (ours, theirs, ratios) in pairs.items():
            rate = 2e-9 * SIZE**3
            print(
                f"{ty} {threads} thread(s) {SIZE}^3 {name:5} {rate / ours:7.1f} GFLOP/s ({rate / ours / peak:.2f} of the peak), "
                f"{peer} {rate / theirs:7.1f}: "
                f"{statistics.median(ratios):.3f} ({min(ratios):.2f} to {max(ratios):.2f})",
                flush=True,
            )
    shapes = random.Random(options.seed)
    found = {peer.name: [] for peer in peers}
    for _ in range(options.shapes):
        shape = tuple(round(math.exp(shapes.uniform(0, math.log(4096)))) for _ in range(3))
        for peer, (_, _, ratios) in beside(options, node, peers, shape, dtype, max(5, options.rounds)).items():
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


def measure_library(options, folder, peers, threads):
    for name in options.library:
        node = LibraryNode(options, folder, name, threads)
        for sizes in SIZES[name]:
            arrays = node.made(sizes)
            expected = node.expected(arrays)
            others = [*arrays[:-1], np.zeros_like(arrays[-1])]
            calls = {peer.name: peer.library_call(name, others, sizes) for peer in peers}
            calls = {peer: call for peer, call in calls.items() if call is not None}
            pairs = in_turns(options, node.call(arrays, sizes), calls, math.prod(sizes.values()), options.rounds)
            if not all(np.allclose(result, expected, rtol=1e-10) for result in (arrays[-1], others[-1])):
                sys.exit(f"error: the result of {name} of {sizes} is wrong")
            extents = " x ".join(str(size) for size in sizes.values())
            for peer, (ours, theirs, ratios) in pairs.items():
                print(
                    f"{name:9} {threads} thread(s) {extents:18} {1e6 * ours:10.2f} us, {peer} {1e6 * theirs:10.2f} us: "
                    f"{statistics.median(ratios):.3f} ({min(ratios):.2f} to {max(ratios):.2f})",
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
    return in_turns(options, ours, calls, m * n * k, rounds)


def in_turns(options, ours, calls, work, rounds):
    """Medians of our seconds and of each peer's, with the ratios of each turn. Small ones are repeated within a turn."""
    repeats = max(1, int(2e7 / (work + 10_000)))
    clock = time.process_time if options.cpu_time else time.perf_counter

    def seconds(call):
        start = clock()
        for _ in range(repeats):
            call()
        return (clock() - start) / repeats

    for call in (ours, *calls.values()):
        call()
    turns = [(seconds(ours), {peer: seconds(call) for peer, call in calls.items()}) for _ in range(rounds)]
    median = statistics.median(own for own, _ in turns)
    result = {}
    for peer in calls:
        theirs = [of[peer] for _, of in turns]
        result[peer] = (median, statistics.median(theirs), [other / own for (own, _), other in zip(turns, theirs)])
    return result


if __name__ == "__main__":
    main()
