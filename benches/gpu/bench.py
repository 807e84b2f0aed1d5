"""Measures the programs of this folder on the GPU of this machine, beside the libraries of the GPU.

`cargo xtask bench gpu FOLDER` writes the folder. Needs Python 3 with NumPy, and nvcc for programs that are not built yet. The peers are
those of PyTorch and CuPy that are installed, and copies of memory by the runtime of CUDA.

    python3 bench.py [--seconds 540] [--json FILE] [NAME ...]
    python3 bench.py --quick [NAME ...]

Each program first runs once, and its results are compared with NumPy's. Then it takes turns with each peer, timed by CUDA's events. A
ratio is the peer's time divided by ours in the same turn, so that more is faster; where there are several peers, it is that of the
fastest one. A line has medians, and the smallest and largest ratio. Programs whose limit is the memory have a copy of as many
bytes as their peer, so that the ratio is the part of the measured bandwidth that they reach.

`--quick` tests this script without a GPU: small programs, compiled by g++ with a stand-in for CUDA, and NumPy as the peer.
"""

import argparse
import concurrent.futures
import contextlib
import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("SDFG_GPU_BUILD", "/tmp/sdfg_gpu_bench"))
ROUNDS, QUICK_ROUNDS = 21, 2
# A measurement repeats a program until it takes so long, because events have a resolution of a microsecond.
SHORTEST_MS = 4.0
# Compiling a program, and running it with its peers, in seconds.
LONGEST_BUILD, LONGEST_RUN = 240, 150


class Wrong(Exception):
    """Why a benchmark fails."""


def far(np, name, found, expected, bound):
    """A text where results differ from those of NumPy by more than a part of the largest one; None where they do not."""
    worst = np.max(np.abs(found - expected)) if expected.size else 0.0
    largest = np.max(np.abs(expected)) if expected.size else 0.0
    if worst <= bound * max(largest, 1e-300):
        return None
    return f"`{name}` differs from NumPy's by {worst:.3g}, and its largest element is {largest:.3g}"


class Product:
    """A product of matrices in f32, of which the program fixes the depth; PyTorch's and CuPy's are those of cuBLAS, without TF32."""

    program, unit = "matmul", "TFLOP/s"
    sizes, quick = {"M": 64, "N": 64}, {"M": 2, "N": 1}

    def data(self, np, rng, M, N):
        a = rng.random((64 * M, 4096), dtype=np.float32) - np.float32(0.5)
        b = rng.random((4096, 64 * N), dtype=np.float32) - np.float32(0.5)
        return {"A": a, "B": b, "C": np.zeros((64 * M, 64 * N), np.float32)}

    def wrong(self, np, before, after):
        rows = slice(None, None, max(len(before["A"]) // 64, 1))
        expected = before["A"][rows].astype(np.float64) @ before["B"].astype(np.float64)
        return far(np, "C", after["C"][rows], expected, 1e-4)

    def amount(self, data):
        return 2e-12 * data["A"].size * data["B"].shape[1]

    def arrays(self, xp, data):
        a, b, c = data["A"], data["B"], xp.empty_like(data["C"])
        return lambda: xp.matmul(a, b, out=c)

    def torch(self, torch, data):
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.set_float32_matmul_precision("highest")
        a, b, c = data["A"], data["B"], torch.empty_like(data["C"])
        return lambda: torch.matmul(a, b, out=c)


class ByMemory:
    """A program whose peer is a copy."""

    unit, has_copy = "GB/s", True

    def amount(self, data):
        return 1e-9 * self.moved(data)


class Jacobi(ByMemory):
    """Two sweeps."""

    program = "jacobi2d"
    sizes, quick = {"N": 8192, "T": 1}, {"N": 37, "T": 1}

    def data(self, np, rng, N, T):
        a = rng.random((N, N))
        return {"A": a, "B": a.copy()}

    def wrong(self, np, before, after):
        def sweep(a, b):
            inner = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
            b[1:-1, 1:-1] = inner

        a, b = before["A"].copy(), before["B"].copy()
        sweep(a, b)
        sweep(b, a)
        return far(np, "A", after["A"], a, 1e-12) or far(np, "B", after["B"], b, 1e-12)

    def moved(self, data):
        return 2 * 2 * data["A"].nbytes


class Axpy(ByMemory):
    program = "axpy"
    sizes, quick = {"N": 1 << 27}, {"N": 3000}

    def data(self, np, rng, N):
        return {"x": rng.random(N), "y": rng.random(N), "a": np.array([1.5])}

    def wrong(self, np, before, after):
        return far(np, "y", after["y"], 1.5 * before["x"] + before["y"], 1e-14)

    def moved(self, data):
        return 3 * data["x"].nbytes


class Transpose(ByMemory):
    program = "transpose"
    sizes, quick = {"N": 12288}, {"N": 75}

    def data(self, np, rng, N):
        return {"A": rng.random((N, N)), "B": np.zeros((N, N))}

    def wrong(self, np, before, after):
        return None if np.array_equal(after["B"], before["A"].T) else "`B` is not the transpose of `A`"

    def moved(self, data):
        return 2 * data["A"].nbytes


class Sum(ByMemory):
    program = "sum"
    sizes, quick = {"N": 1 << 28}, {"N": 3000}

    def data(self, np, rng, N):
        return {"A": rng.random(N), "total": np.zeros(1)}

    def wrong(self, np, before, after):
        return far(np, "total", after["total"], np.array([before["A"].sum()]), 1e-11)

    def moved(self, data):
        return data["A"].nbytes


class SumOfColumns(ByMemory):
    program = "sum_of_columns"
    sizes, quick = {"N": 16384}, {"N": 300}

    def data(self, np, rng, N):
        return {"A": rng.random((N, N)), "s": np.zeros(N)}

    def wrong(self, np, before, after):
        return far(np, "s", after["s"], before["A"].sum(axis=0), 1e-11)

    def moved(self, data):
        return data["A"].nbytes


class Histogram:
    """Of grey values; CuPy's is `bincount`, PyTorch's, too."""

    program, unit = "histogram", "Gelement/s"
    sizes, quick = {"H": 16384, "W": 16384}, {"H": 40, "W": 75}

    def data(self, np, rng, H, W):
        return {"image": rng.integers(0, 256, (H, W), dtype=np.uint8), "bins": np.zeros(256, np.int64)}

    def wrong(self, np, before, after):
        expected = np.bincount(before["image"].ravel(), minlength=256)
        return None if np.array_equal(after["bins"], expected) else "`bins` differ from NumPy's"

    def amount(self, data):
        return 1e-9 * data["image"].size

    def arrays(self, xp, data):
        image = data["image"].ravel()
        return lambda: xp.bincount(image, minlength=256)

    def torch(self, torch, data):
        image = data["image"].view(-1)
        return lambda: torch.bincount(image, minlength=256)


class Query:
    """A filter that keeps a tenth of a column."""

    program, unit = "query", "Gelement/s"
    sizes, quick = {"N": 1 << 27}, {"N": 3000}

    def data(self, np, rng, N):
        count = np.zeros(1, np.int64)
        return {"column": rng.random(N), "threshold": np.array([0.9]), "selected": np.zeros(N), "count": count}

    def wrong(self, np, before, after):
        expected = np.sort(before["column"][before["column"] > 0.9])
        if int(after["count"][0]) != expected.size:
            return f"`count` is {int(after['count'][0])} and not {expected.size}"
        # The order of elements of a stream is that of the device.
        found = np.sort(after["selected"][: expected.size])
        return None if np.array_equal(found, expected) else "`selected` has other elements"

    def amount(self, data):
        return 1e-9 * data["column"].size

    def arrays(self, xp, data):
        column = data["column"]
        return lambda: column[column > 0.9]

    def torch(self, torch, data):
        column = data["column"]
        return lambda: torch.masked_select(column, column > 0.9)


class SparseProduct:
    """A matrix in compressed rows and a vector; PyTorch's and CuPy's products are those of cuSPARSE."""

    program, unit = "spmv", "GFLOP/s"
    sizes, quick = {"H": 1 << 20, "W": 1 << 20, "nnz": 32 << 20}, {"H": 60, "W": 37, "nnz": 700}

    def data(self, np, rng, H, W, nnz):
        row = np.zeros(H + 1, np.uint32)
        row[1:] = np.cumsum(rng.multinomial(nnz, np.full(H, 1 / H)))
        column = rng.integers(0, W, nnz, dtype=np.uint32)
        return {"A_row": row, "A_col": column, "A_val": rng.random(nnz), "x": rng.random(W), "b": np.zeros(H)}

    def wrong(self, np, before, after):
        sums = np.zeros(before["A_val"].size + 1)
        np.cumsum(before["A_val"] * before["x"][before["A_col"]], out=sums[1:])
        row = before["A_row"]
        expected = sums[row[1:]] - sums[row[:-1]]
        # Differences of long sums are less exact than the sums of rows.
        return far(np, "b", after["b"], expected, 1e-6)

    def amount(self, data):
        return 2e-9 * data["A_val"].size

    def cupy(self, cupy, data):
        from cupyx.scipy import sparse

        index = [data[name].astype(cupy.int32) for name in ("A_col", "A_row")]
        matrix = sparse.csr_matrix((data["A_val"], *index), shape=(data["b"].size, data["x"].size))
        x = data["x"]
        return lambda: matrix @ x

    def torch(self, torch, data):
        index = [data[name].to(torch.int32) for name in ("A_row", "A_col")]
        size = (data["b"].numel(), data["x"].numel())
        matrix, x = torch.sparse_csr_tensor(*index, data["A_val"], size=size), data["x"]
        return lambda: torch.mv(matrix, x)


class SmallProducts:
    """Products of 16 by 16 complex matrices; PyTorch's and CuPy's are the batched ones of cuBLAS."""

    program, unit = "sbsmm", "TFLOP/s"
    sizes, quick = {"P": 1 << 17}, {"P": 5}

    def data(self, np, rng, P):
        a, b = (rng.random((P, 16, 16)) + 1j * rng.random((P, 16, 16)) for _ in range(2))
        return {"A": a, "B": b, "C": np.zeros_like(a)}

    def wrong(self, np, before, after):
        every = slice(None, None, max(len(before["A"]) // 1024, 1))
        return far(np, "C", after["C"][every], before["A"][every] @ before["B"][every], 1e-13)

    def amount(self, data):
        return 8e-12 * data["A"].size * 16

    def arrays(self, xp, data):
        a, b, c = data["A"], data["B"], xp.empty_like(data["C"])
        return lambda: xp.matmul(a, b, out=c)

    def torch(self, torch, data):
        a, b, c = data["A"], data["B"], torch.empty_like(data["C"])
        return lambda: torch.bmm(a, b, out=c)


BENCHMARKS = [Product(), Jacobi(), Axpy(), Transpose(), Sum(), SumOfColumns(), Histogram(), Query(), SparseProduct(), SmallProducts()]
NAMES = {benchmark.program: benchmark for benchmark in BENCHMARKS}
TYPES = {"complex64": "complex64", "complex128": "complex128", "bool": "bool"}
LETTERS = {"i": "int", "u": "uint", "f": "float"}


def numpy_type(name):
    return TYPES.get(name) or LETTERS[name[0]] + name[1:]


def described(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


# Building.


def library_of(name, quick):
    return BUILD / f"{name}{'.quick' if quick else ''}.so"


def build(name, quick):
    """Compiles a program unless an earlier call did. The text of its failure; None if there is none."""
    library, source = library_of(name, quick), BUILD / f"{name}.bench.cu"
    sources = [FOLDER / f"{name}.cu", FOLDER / "device.h"]
    try:
        if library.exists() and all(library.stat().st_mtime > file.stat().st_mtime for file in sources):
            return None
        source.write_text("".join(f'#include "{file}"\n' for file in sources))
        if quick:
            command = ["g++", "-O0", "-std=c++17", "-fopenmp", "-fno-strict-aliasing", "-fPIC", "-w", "-x", "c++"]
            command += ["-isystem", FOLDER / "stand-in"]
        else:
            command = ["nvcc", "-arch=native", *described(name)["flags"], "-Xcompiler=-fPIC"]
        unfinished = library.with_suffix(f".{os.getpid()}.unfinished")
        command += ["-shared", "-o", unfinished, source]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_BUILD)
        if done.returncode != 0:
            lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if "error" in line]
            return f"{command[0]}: {(lines or ['no message'])[0]}"
        unfinished.replace(library)
    except FileNotFoundError as error:
        return f"there is no `{error.filename}`"
    except subprocess.TimeoutExpired:
        return f"{command[0]} takes longer than {LONGEST_BUILD} s"
    except OSError as error:
        return str(error)
    return None


# Measuring, in a process of its own for each program.


class Device:
    """The memory and the clock of the device, by the functions of `device.h`."""

    def __init__(self, library):
        self.library, self.memories = library, []
        library.bench_message.restype = ctypes.c_char_p
        self.call("bench_open")

    def close(self):
        # An error that ends a benchmark may make these fail, too, and is told.
        for memory in self.memories:
            self.library.bench_free(memory)
        self.library.bench_close()

    def call(self, function, *arguments):
        status = getattr(self.library, function)(*arguments)
        if status != 0:
            raise Wrong(f"{function}: {self.library.bench_message(status).decode()}")

    def memory(self, size):
        memory = ctypes.c_void_p()
        self.call("bench_allocate", ctypes.byref(memory), ctypes.c_size_t(size))
        self.memories.append(memory)
        return memory

    def copy(self, to, source, size):
        self.call("bench_copy", to, source, ctypes.c_size_t(size))

    def time(self, run):
        milliseconds = ctypes.c_float()
        self.call("bench_start")
        run()
        self.call("bench_stop", ctypes.byref(milliseconds))
        return milliseconds.value


class Program:
    """A program with its arguments, arrays among them in memory of the device."""

    def __init__(self, np, name, device, symbols, data):
        self.np, self.library, self.device, self.of = np, device.library, device, described(name)
        self.data, self.pointers, self.kept = data, [], []
        for argument in self.of["arguments"]:
            wanted = np.dtype(numpy_type(argument["type"]))
            array = data.get(argument["name"])
            if array is None:
                array = np.array([symbols[argument["name"]]], wanted)
            if array.dtype != wanted or not array.flags.c_contiguous:
                raise Wrong(f"`{argument['name']}` has elements of {wanted}, and the script of {array.dtype}")
            if argument["on_device"]:
                pointer = device.memory(array.nbytes)
                device.copy(pointer, ctypes.c_void_p(array.ctypes.data), array.nbytes)
            else:
                # The program may write it, and the script compares with what was given.
                array = array.copy()
                pointer = ctypes.c_void_p(array.ctypes.data)
            self.kept.append(array)
            self.pointers.append(pointer)
        self.arguments = (ctypes.c_void_p * len(self.pointers))(*[pointer.value for pointer in self.pointers])
        self.handle = ctypes.c_void_p()
        if getattr(self.library, self.of["create"])(None, ctypes.byref(self.handle)) != 0:
            raise Wrong("the program cannot be started")
        self.start = ctypes.cast(getattr(self.library, self.of["start"]), ctypes.c_void_p)

    def checked(self, status):
        if status != 0:
            error = getattr(self.library, self.of["error"])
            error.restype = ctypes.c_char_p
            raise Wrong(f"status {status}: {error(self.handle).decode()}")

    def run(self, count):
        self.checked(self.library.bench_run(self.start, self.handle, self.arguments, ctypes.c_int(count)))

    def wait(self):
        self.checked(getattr(self.library, self.of["wait"])(self.handle))

    def results(self):
        """The arguments as they are now."""
        found = {}
        for argument, pointer, array in zip(self.of["arguments"], self.pointers, self.kept):
            if argument["on_device"]:
                array = self.np.empty_like(array)
                self.device.copy(ctypes.c_void_p(array.ctypes.data), pointer, array.nbytes)
            found[argument["name"]] = array
        return found

    def close(self):
        getattr(self.library, self.of["destroy"])(self.handle)


def copies(device, size):
    """The peer of programs whose limit is the memory: it moves as many bytes, half of them by reads."""
    size = size // 2
    to, source = device.memory(size), device.memory(size)

    def times(count):
        def run():
            for _ in range(count):
                device.call("bench_give_copy", to, source, ctypes.c_size_t(size))

        return device.time(run)

    return times


def numpy_peer(np, benchmark, data):
    run = benchmark.arrays(np, data)

    def times(count):
        begin = time.perf_counter()
        for _ in range(count):
            run()
        return 1e3 * (time.perf_counter() - begin)

    return times


def torch_peer(benchmark, data):
    import torch

    if not torch.cuda.is_available():
        raise Wrong("PyTorch finds no device")
    # PyTorch computes with few types of integers without a sign.
    signed = {"uint32": "int32"}
    move = lambda array: torch.from_numpy(array.view(signed.get(str(array.dtype), array.dtype))).cuda()
    run = benchmark.torch(torch, {name: move(array) for name, array in data.items()})
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def times(count):
        begin.record()
        for _ in range(count):
            run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end)

    return times


def cupy_peer(benchmark, data):
    import cupy

    make = benchmark.cupy if hasattr(benchmark, "cupy") else benchmark.arrays
    run = make(cupy, {name: cupy.asarray(array) for name, array in data.items()})
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()

    def times(count):
        begin.record()
        for _ in range(count):
            run()
        end.record()
        end.synchronize()
        return cupy.cuda.get_elapsed_time(begin, end)

    return times


def peers_of(np, benchmark, device, data, quick):
    """The peers that this machine has, and why it lacks others."""
    if hasattr(benchmark, "has_copy"):
        return {"copy": copies(device, benchmark.moved(data))}, {}
    if quick:
        makers = {"NumPy": lambda: numpy_peer(np, benchmark, data)} if hasattr(benchmark, "arrays") else {}
    else:
        makers = {"PyTorch": lambda: torch_peer(benchmark, data), "CuPy": lambda: cupy_peer(benchmark, data)}
    found, missing = {}, {}
    for name, make in makers.items():
        try:
            times = make()
            times(1)
            found[name] = times
        except ImportError:
            missing[name] = "not installed"
        except Exception as error:  # a peer may fail in any way, and ours is measured all the same
            missing[name] = (str(error).splitlines() or [type(error).__name__])[0]
    return found, missing


def measure(benchmark, quick):
    """Runs a program, compares, and measures. A record for JSON."""
    import numpy as np

    library = ctypes.CDLL(str(library_of(benchmark.program, quick)))
    symbols = benchmark.quick if quick else benchmark.sizes
    data = benchmark.data(np, np.random.default_rng(1), **symbols)
    with contextlib.closing(Device(library)) as device:
        with contextlib.closing(Program(np, benchmark.program, device, symbols, data)) as program:
            return {"program": benchmark.program, "sizes": symbols, **times_of(np, benchmark, device, program, quick)}


def times_of(np, benchmark, device, program, quick):
    data = program.data
    program.run(1)
    program.wait()
    wrong = benchmark.wrong(np, data, program.results())
    if wrong is not None:
        raise Wrong(wrong)
    peers, missing = peers_of(np, benchmark, device, data, quick)
    sides = {"ours": lambda count: device.time(lambda: program.run(count)), **peers}
    counts = {}
    for name, times in sides.items():
        times(1)
        counts[name] = 1 if quick else min(max(round(SHORTEST_MS / max(times(1), 1e-3)), 1), 200)
    found = {name: [] for name in sides}
    for _ in range(QUICK_ROUNDS if quick else ROUNDS):
        for name, times in sides.items():
            found[name].append(times(counts[name]) / counts[name])
    program.wait()
    medians = {name: statistics.median(times) for name, times in found.items()}
    ours = max(medians["ours"], 1e-6)
    record = {"ms": medians["ours"], "times": found, "missing": missing}
    record |= {"reached": benchmark.amount(data) / (ours * 1e-3), "unit": benchmark.unit}
    if peers:
        best = min(peers, key=lambda name: medians[name])
        ratios = [theirs / max(own, 1e-6) for theirs, own in zip(found[best], found["ours"])]
        record |= {"peer": best, "peer_ms": medians[best], "ratio": statistics.median(ratios)}
        record |= {"ratio_from": min(ratios), "ratio_to": max(ratios)}
    return record


# The command.


def line(record):
    """A record as text."""
    name = f"{record['program']:<15}"
    if "failed" in record:
        return f"{name} failed: {record['failed']}"
    text = f"{name} {record['ms']:10.4f} ms {record['reached']:10.4g} {record['unit']:<10}"
    if "ratio" in record:
        text += f"  {record['peer']} {record['peer_ms']:.4f} ms, ratio {record['ratio']:.3f}"
        text += f" [{record['ratio_from']:.3f}, {record['ratio_to']:.3f}]"
    for peer, why in record["missing"].items():
        text += f"; {peer}: {why}"
    return text if "ratio" in record else text + "  no peer, so no ratio"


def one(name, quick):
    try:
        record = measure(NAMES[name], quick)
    except Wrong as wrong:
        record = {"program": name, "failed": str(wrong)}
    except Exception as error:  # the caller prints one line for it
        record = {"program": name, "failed": f"{type(error).__name__}: {error}"}
    print(json.dumps(record))


def run(name, quick, seconds):
    """The record of a program, measured in a process of its own: a failed kernel makes a process useless."""
    if seconds < 1:
        return {"program": name, "failed": "no time is left"}
    command = [sys.executable, __file__, "--one", name] + (["--quick"] if quick else [])
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=min(seconds, LONGEST_RUN))
        if done.returncode == 0:
            return json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return {"program": name, "failed": f"it takes longer than {min(seconds, LONGEST_RUN):.0f} s"}
    why = (done.stderr.strip().splitlines() or ["no message"])[-1]
    return {"program": name, "failed": f"status {done.returncode}: {why}"}


def machine(quick):
    if quick:
        return "stand-in for CUDA, small sizes: these times say nothing about a GPU"
    query = ["nvidia-smi", "--query-gpu=name,driver_version,clocks.max.sm", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, timeout=30).stdout.strip() or "unknown device"
    except (OSError, subprocess.TimeoutExpired):
        return "unknown device"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--quick", action="store_true", help="small sizes, without a GPU")
    parser.add_argument("--seconds", type=float, default=540.0, help="for everything together (default 540)")
    parser.add_argument("--json", type=pathlib.Path, default=BUILD / "bench.json", help="the file of all times")
    parser.add_argument("--one", metavar="NAME", choices=NAMES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return one(options.one, options.quick)
    for name in options.names:
        if name not in NAMES:
            parser.error(f"there is no `{name}`, but {', '.join(NAMES)}")
    try:
        import numpy  # noqa: F401
    except ImportError:
        sys.exit("error: this needs NumPy (python3 -m pip install numpy)")
    end = time.monotonic() + options.seconds
    names = options.names or list(NAMES)
    BUILD.mkdir(parents=True, exist_ok=True)
    device = machine(options.quick)
    print(device, flush=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = dict(zip(names, pool.map(lambda name: build(name, options.quick), names)))
    records = []
    for name in names:
        failure = failures[name]
        left = end - time.monotonic()
        record = {"program": name, "failed": failure} if failure else run(name, options.quick, left)
        records.append(record)
        print(line(record), flush=True)
    options.json.write_text(json.dumps({"device": device, "benchmarks": records}, indent=1) + "\n")
    failed = sum("failed" in record for record in records)
    print(f"{len(records) - failed} measured, {failed} failed; all times: {options.json}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
