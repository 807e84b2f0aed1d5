"""From a program to a function: the ``sdfg`` command compiles, and what it makes is loaded.

The command is that of the variable SDFG_COMMAND, else the one in the folder of commands of this virtual environment, where
``cargo xtask python`` puts it, else the first on PATH.
"""

import ctypes
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sysconfig
import tempfile
import warnings

from .front_end import FrontEnd
from .program import Program, _thread_count
from .ranks import RankedProgram, shared

# What was compiled before in this process, by a hash of all that it depends on: the loaded library, its description, and what the command
# said. Libraries stay loaded for good, so that one for each content is enough.
_compiled = {}


class CompileError(Exception):
    """A program that cannot be compiled, with the message of the ``sdfg`` command."""


class CompileWarning(UserWarning):
    """What the ``sdfg`` command has to say of a program that it compiles."""


def compile(
    program,
    *,
    level=None,
    cpu=None,
    float_mode=None,
    threads=None,
    specialize=None,
    nested_threads=None,
    reproducible=False,
    checked=False,
    may_overlap=(),
    allow_external=False,
    retarget=None,
    target=None,
    cache=True,
    comm=None,
):
    """Compiles a program and loads it.

    `program` is the path of a file (DaCe's `.sdfg`, the text form, JSON), a DaCe SDFG, a function with `@dace.program`, or a program of the
    text form itself: a str with more than one line. The other arguments are options of `sdfg compile`:

    - level: how much to optimise: 0 to 3 (without, 3), or "fast" for code that is there soonest.
    - cpu: the processor by LLVM's name for it, or several levels of x86-64; without, this machine's.
    - float_mode: "strict", "contract" or "fast"; without, as the program says.
    - threads: of parallel maps; without, what the OpenMP runtime chooses.
    - nested_threads: of each map of schedule `cpu_multicore` inside another parallel map, at most; without, as the maps say.
    - specialize: values of symbols that code is made for, as in {"N": 4096}.
    - reproducible: the same bits with every number of threads.
    - checked: accesses out of bounds and reads of what was never written end a call with a RunError.
    - may_overlap: names of arguments of which any two may be given memory that overlaps.
    - allow_external: the program may bring C and C++ code and libraries of its own, which may do whatever you may.
    - retarget: "cpu" gives schedules and storages of GPUs and FPGAs those of the CPU; the changes are the text of a CompileWarning.
    - target: "cuda" or "opencl" runs kernels on a device, by its driver; the C compiler `cc` is needed.
    - cache: whether compiled code is kept, and taken if it is there.
    - comm: of a distributed program (`sdfg distribute`), the communicator of mpi4py whose ranks run it; without, all ranks.

    What the command warns of is a CompileWarning, what it refuses a CompileError.
    """
    # Before any work is done.
    _thread_count(threads)
    specialize = dict(specialize or {})
    options = [
        *(f"-O{level}" for level in [level] if level is not None),
        *(f"--cpu={cpu}" for cpu in [cpu] if cpu is not None),
        *(f"--float-mode={mode}" for mode in [float_mode] if mode is not None),
        *(f"--specialize={symbol}={value}" for symbol, value in specialize.items()),
        *(f"--nested-threads={number}" for number in [nested_threads] if number is not None),
        *["--reproducible"] * bool(reproducible),
        *["--checked"] * bool(checked),
        *(f"--may-overlap={name}" for name in may_overlap),
        *["--allow-external"] * bool(allow_external),
        *(f"--retarget={machine}" for machine in [retarget] if machine is not None),
        *(f"--target={machine}" for machine in [target] if machine is not None),
        *["--no-cache"] * (not cache),
    ]
    (code, description, message), front_end = shared(comm, lambda: _compiled_package(program, options, cache and not allow_external))
    if message:
        warnings.warn(message, CompileWarning, stacklevel=2)
    return _program(code, description, comm, threads=threads, fixed=specialize, front_end=front_end)


def _compiled_package(program, options, is_kept):
    """The library of a program, its description and what the command says of it; and what its front end knows of arguments."""
    with tempfile.TemporaryDirectory(prefix="sdfg-") as folder:
        path, text, front_end = _source(program, folder)
        command = _command()
        # Sources of external tasklets are files that may change.
        key = _content(command, options, path, text) if is_kept else None
        if key not in _compiled:
            package = os.path.join(folder, "package")
            is_for_device = any(option.startswith("--target=") for option in options)
            make = _device_package if is_for_device else _package
            message = make(command, package, [*options, "--", path], text)
            made = (*_opened(package), message)
            # Of two threads that compile the same, one is first.
            made = made if key is None else _compiled.setdefault(key, made)
        else:
            made = _compiled[key]
    return made, front_end


def _package(command, package, options, text):
    """Writes a package; what the command says."""
    return _run(command, ["compile", "--emit=package", f"--output={package}", *options], text)


def _device_package(command, package, options, text):
    """Writes the parts of a package that calls need, of a program for a device; what the command says."""
    os.makedirs(os.path.join(package, "include"))
    os.makedirs(os.path.join(package, "lib"))
    description = os.path.join(package, "include", "program.json")
    message = _run(command, ["compile", "--emit=interface", f"--output={description}", *options], text)
    with open(description, encoding="utf-8") as file:
        name = json.load(file)["program"]
    _run(command, ["compile", "--emit=so", f"--output={os.path.join(package, 'lib', f'lib{name}.so')}", *options], text)
    return message


def _program(code, description, comm, **options):
    """The program, on the ranks of a communicator if it is distributed."""
    if "ranks" in description:
        return RankedProgram(code, description, comm=comm, **options)
    if comm is not None:
        raise ValueError(f"{description['program']} is not distributed: `sdfg distribute` divides a program over ranks")
    return Program(code, description, **options)


def load(folder, *, threads=None, specialize=None, comm=None):
    """Loads a package that ``sdfg compile --emit package`` made.

    `threads` is as in `compile`; `specialize` are the values of symbols that it was compiled for, which calls then may repeat.
    `comm` is as in `compile`, too.
    """
    code, description = shared(comm, lambda: _opened(folder))
    return _program(code, description, comm, threads=threads, fixed=specialize)


def _opened(folder):
    """The library of a package, loaded, and its description."""
    folder = pathlib.Path(folder)
    descriptions = sorted(folder.glob("include/*.json"))
    if len(descriptions) != 1:
        raise FileNotFoundError(f"{folder} is no package of `sdfg compile --emit package`: it has no include/NAME.json")
    description = json.loads(descriptions[0].read_text(encoding="utf-8"))
    library = folder / "lib" / f"lib{description['program']}.so"
    communication = folder / "lib" / "libsdfg_mpi.so"
    if "ranks" in description and communication.exists():
        # The program looks for it when it is made, and the folder may be gone then: so it is there for all of the process.
        ctypes.CDLL(str(communication.resolve()), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(library.resolve())), description


def _content(command, options, path, text):
    """A hash of all that compiled code depends on; None for a program that cannot be read, of which the command tells why."""
    try:
        source = text.encode() if text is not None else pathlib.Path(path).read_bytes()
        # Another command, or another build of this one, may compile otherwise.
        status = os.stat(shutil.which(command) or command)
    except (OSError, UnicodeError):
        return None
    environment = sorted((name, value) for name, value in os.environ.items() if name.startswith("SDFG_"))
    parts = (command, status.st_mtime_ns, status.st_size, environment, options, text is None)
    return hashlib.sha256(repr(parts).encode(errors="surrogateescape") + source).hexdigest()


def _source(program, folder):
    """The path for the command, what it gets as its standard input, and what the front end of a DaCe program knows of arguments."""
    graph = program.to_sdfg() if hasattr(program, "to_sdfg") else program
    if hasattr(graph, "save") and hasattr(graph, "name"):
        path = os.path.join(folder, f"{graph.name}.sdfg")
        graph.save(path)
        return path, None, FrontEnd(program, graph)
    if isinstance(program, str) and "\n" in program:
        return "-", program, FrontEnd()
    if isinstance(program, (str, os.PathLike)):
        path = os.fspath(program)
        # `-` would be the standard input.
        return (os.path.join(os.curdir, path) if path == "-" else path), None, FrontEnd()
    raise TypeError(
        f"a program is a path, a DaCe SDFG, a function with @dace.program or a text of several lines, not {type(program).__name__}"
    )


def _run(command, arguments, text):
    """Runs the command; what it says when it succeeds."""
    return _output(command, arguments, text, CompileError)[1]


def _output(command, arguments, text, error):
    """Runs the command; what it writes, and what it says."""
    try:
        done = subprocess.run(
            [command, "--color=never", *arguments],
            input=text or "",
            capture_output=True,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as reason:
        raise CompileError(f"cannot run the command {command}: {reason}") from None
    message = done.stderr.strip()
    if done.returncode:
        raise error(message or f"the command {command} ended with status {done.returncode}")
    return done.stdout, message


def _command():
    chosen = os.environ.get("SDFG_COMMAND")
    installed = os.path.join(sysconfig.get_path("scripts"), "sdfg")
    command = chosen or (installed if os.access(installed, os.X_OK) else shutil.which("sdfg"))
    if not command:
        raise CompileError(
            "there is no `sdfg` command: install it with `cargo xtask python`, put it on PATH, or set SDFG_COMMAND to its path"
        )
    return command
