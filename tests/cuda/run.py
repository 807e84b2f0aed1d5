"""Compiles the CUDA programs of this folder, runs them on the GPU of this machine, and compares with the interpreter.

`cargo xtask gpu FOLDER` writes the folder. Needs nvcc and Python 3, nothing else.

    python3 run.py [--sanitize] [PROGRAM ...]
    python3 run.py --compile sm_80,sm_90 [PROGRAM ...]

The second form needs no GPU: it only compiles the kernels for these architectures, and counts registers and spills.
"""

import concurrent.futures
import ctypes
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("SDFG_GPU_BUILD", "/tmp/sdfg_gpu"))
FLOATS = {"f32": "f", "f64": "d", "c64": "f", "c128": "d"}
# Relative difference of results: mathematical functions of the device are not those of the interpreter, and atomic sums
# have no order.
BOUNDS = {"f": 1e-5, "d": 1e-11}


def described(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def compile_program(name):
    """The messages of nvcc; none if it has none."""
    library = BUILD / f"{name}.so"
    flags = described(name)["flags"]
    command = ["nvcc", "-arch=native", *flags, "-Xcompiler=-fPIC", "-shared", "-o", library, FOLDER / f"{name}.cu"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, (done.stdout + done.stderr).strip()


def compile_kernels(name, architecture):
    """The status of nvcc, its messages, and for each kernel its registers and the bytes that it spills."""
    flags = described(name)["flags"]
    cubin = BUILD / f"{name}.{architecture}.cubin"
    command = ["nvcc", f"-arch={architecture}", *flags, "-cubin", "-Xptxas=-v", "-o", cubin, FOLDER / f"{name}.cu"]
    done = subprocess.run(command, capture_output=True, text=True)
    text = done.stdout + done.stderr
    registers = [int(count) for count in re.findall(r"Used (\d+) registers", text)]
    spilled = [int(count) for count in re.findall(r"(\d+) bytes spill stores", text)]
    is_count = re.compile(r"ptxas info|bytes stack frame|^\s*$")
    messages = "\n".join(line for line in text.splitlines() if not is_count.search(line))
    return done.returncode, messages, list(zip(registers, spilled))


def compile_all(architectures, names):
    """Compiles the kernels of programs, and prints totals for each architecture."""
    failed = 0
    for architecture in architectures:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            outcomes = list(pool.map(lambda name: compile_kernels(name, architecture), names))
        kernels = [kernel for _, _, kernels in outcomes for kernel in kernels]
        for name, (status, messages, _) in zip(names, outcomes):
            if status != 0 or messages:
                failed += 1
                print(f"{name}: {messages[:600]}")
        registers = max((count for count, _ in kernels), default=0)
        spilling = sum(1 for _, spilled in kernels if spilled > 0)
        print(f"{architecture}: {len(names)} programs, {len(kernels)} kernels, at most {registers} registers, {spilling} spill")
    print(f"{failed} with messages of nvcc")
    return 0 if failed == 0 else 1


def difference(kind, expected, found):
    """A text where results differ; None where they are equal, up to the bound of their type."""
    if expected == found:
        return None
    letter = FLOATS.get(kind)
    if letter is None:
        return "differs"
    size = struct.calcsize(letter)
    a = struct.unpack(f"<{len(expected) // size}{letter}", expected)
    b = struct.unpack(f"<{len(found) // size}{letter}", found)
    largest = max((abs(x) for x in a if x == x and abs(x) != float("inf")), default=0.0)
    for index, (x, y) in enumerate(zip(a, b)):
        equal = x == y or (x != x and y != y) or abs(x - y) <= BOUNDS[letter] * max(largest, 1.0)
        if not equal:
            return f"element {index} is {y}, not {x}"
    return None


def run_program(name):
    """Runs a program twice on one handle. The text of its failure; None if its results are right."""
    program = described(name)
    library = ctypes.CDLL(str(BUILD / f"{name}.so"))
    handle = ctypes.c_void_p()
    create = getattr(library, program["name"] + "_create")
    if create(None, ctypes.byref(handle)) != 0:
        return "no handle"
    error = getattr(library, program["name"] + "_error")
    error.restype = ctypes.c_char_p
    failure = None
    for _ in range(2):
        buffers = [ctypes.create_string_buffer(bytes.fromhex(a["given"]), len(a["given"]) // 2) for a in program["arguments"]]
        pointers = (ctypes.c_void_p * max(len(buffers), 1))(*[ctypes.addressof(buffer) for buffer in buffers])
        status = getattr(library, program["invoke"])(handle, pointers)
        if status != 0:
            failure = f"status {status}: {error(handle).decode()}"
            break
        for argument, buffer in zip(program["arguments"], buffers):
            if "expected" in argument:
                found = difference(argument["type"], bytes.fromhex(argument["expected"]), buffer.raw)
                if found is not None:
                    failure = f"`{argument['name']}`: {found}"
    getattr(library, program["name"] + "_destroy")(handle)
    return failure


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--one"]:
        failure = run_program(arguments[1])
        print(failure or "")
        return 1 if failure else 0
    architectures = arguments[1].split(",") if arguments[:1] == ["--compile"] and len(arguments) > 1 else []
    arguments = arguments[2:] if architectures else arguments
    sanitize = "--sanitize" in arguments
    names = [name for name in arguments if not name.startswith("--")]
    names = names or sorted(path.stem for path in FOLDER.glob("*.cu"))
    BUILD.mkdir(parents=True, exist_ok=True)
    if architectures:
        return compile_all(architectures, names)
    begin = time.time()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(compile_program, names))
    built = time.time() - begin
    passed, failed, warned = 0, 0, 0
    for name, (status, messages) in zip(names, outcomes):
        if messages:
            warned += 1
            print(f"{name}: nvcc: {messages[:600]}")
        if status != 0:
            failed += 1
            continue
        command = [sys.executable, __file__, "--one", name]
        if sanitize:
            command = ["compute-sanitizer", "--error-exitcode", "9", *command]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode == 0:
            passed += 1
        else:
            failed += 1
            print(f"{name}: {(done.stdout + done.stderr).strip()[-800:]}")
    print(f"compiled in {built:.1f} s, ran in {time.time() - begin - built:.1f} s, {warned} with messages of nvcc")
    print(f"passed {passed}, failed {failed}")
    return 0 if failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
