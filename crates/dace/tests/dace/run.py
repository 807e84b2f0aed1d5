"""Loads, validates, compiles and runs graphs with DaCe 1.0.2, and compares what they compute with what is expected.

Each line of the standard input is the path of a graph and, behind a tab, that of a folder with inputs and expected outputs
(`meta.json` and `.npy` files as in the corpus; without strides there, the descriptor's hold), or of a JSON file with both (as
`tests/programs/make.py` writes), or `-` to end with validation. For each, a line with the path, how far it came and why no further is written:
`read`, `loaded`, `valid`, `compiled`, `ran`, `same`. Each graph runs in a process of its own, as its code may crash.
"""
import ctypes
import json
import multiprocessing
import os
import pathlib
import shutil
import sys
import tempfile

# Plain C++ arithmetic, short compile times and one order of everything.
os.environ['DACE_compiler_cpu_args'] = '-std=c++14 -fPIC -O1 -w -ffp-contract=off'
os.environ['DACE_compiler_cpu_openmp_sections'] = '0'
os.environ['DACE_optimizer_automatic_simplification'] = '0'
os.environ['DACE_compiler_allow_view_arguments'] = '1'
os.environ['DACE_progress'] = '0'
os.environ['OMP_NUM_THREADS'] = '1'

import dace  # noqa: E402
import numpy as np  # noqa: E402
from dace.data import Scalar, Structure  # noqa: E402

SECONDS = int(os.environ.get('SDFG_DACE_SECONDS', '300'))


def number(extent, symbols):
    """The value of a symbolic extent."""
    return int(dace.symbolic.evaluate(extent, symbols))


def argument(data, folder, descriptor, symbols):
    """One argument in the memory layout that the descriptor asks for."""
    if 'value' in data:
        return descriptor.dtype.type(data['value'])
    if isinstance(data.get('input'), np.ndarray):
        value = data['input'].astype(descriptor.dtype.as_numpy_dtype())
        return descriptor.dtype.type(value.flat[0]) if isinstance(descriptor, Scalar) else np.array(value, ndmin=1)
    values = np.load(folder / data['input']) if 'input' in data else None
    if isinstance(descriptor, Scalar):
        return descriptor.dtype.type(values.flat[0])
    dtype = descriptor.dtype.as_numpy_dtype()
    if data.get('layout') == 'raw':
        return values.copy()
    if values is None:
        values = np.zeros(data['shape'], dtype)
    shape = data['shape']
    if 'strides' in data:
        strides, total_size = data['strides'], data['total_size']
    else:
        # A scalar that is written is an array of one element in DaCe.
        shape = [number(extent, symbols) for extent in descriptor.shape]
        strides = [number(stride, symbols) for stride in descriptor.strides]
        total_size = number(descriptor.total_size, symbols)
    strides = [stride * dtype.itemsize for stride in strides]
    buffer = np.zeros(max(total_size, 1), dtype)
    strided = np.lib.stride_tricks.as_strided(buffer, shape, strides)
    strided[...] = values.reshape(shape)
    return strided


def structure(name, known, folder, descriptor, symbols, members):
    """A structure whose members are flat arguments (`a_b` is the member `b` of `a`), as DaCe's callers pass it. `members` gets the values
    by the names of the flat arguments; those that the flat program does not use are empty.
    """
    fields = {}
    for member, inner in descriptor.members.items():
        flat = f'{name}_{member}'
        if isinstance(inner, Structure):
            found = structure(flat, known, folder, inner, symbols, members)
            members[flat] = found
            fields[member] = ctypes.pointer(found)
        elif flat in known:
            value = argument(known[flat], folder, inner, symbols)
            if isinstance(inner, Scalar):
                fields[member] = value.item()
            else:
                members[flat] = value
                fields[member] = value.__array_interface__['data'][0]
        else:
            fields[member] = 0
    found = descriptor.dtype._typeclass.as_ctypes()(**fields)
    for member, inner in descriptor.members.items():
        if isinstance(inner, Scalar) and f'{name}_{member}' in known:
            members[f'{name}_{member}'] = Field(found, member)
    return found


class Field:
    """A number in a structure, which the program may write."""

    def __init__(self, found, member):
        self.found, self.member = found, member

    def __array__(self, dtype=None, copy=None):
        return np.array(getattr(self.found, self.member), dtype)


def array(data):
    """The numbers of a list; complex ones stand there in two."""
    values = np.array(data['values'])
    if data['dtype'].startswith('complex'):
        values = values[::2] + 1j * values[1::2]
    return values.astype(data['dtype']).reshape(data['shape'])


def flat_meta(data):
    """One JSON file in the form of the corpus."""
    args = []
    for name, found in data['inputs'].items():
        entry = {'name': name, 'input': array(found)}
        if name in data['outputs']:
            entry['expected'] = array(data['outputs'][name])
        args.append(entry)
    symbols = {name: int(found['values'][0]) for name, found in data['inputs'].items() if not found['shape']}
    return {'args': args, 'symbols': symbols, 'tolerance': {'rtol': 1e-12, 'atol': 1e-12, 'norm_error': 0}}


def differs(name, found, expected, tolerance, unordered):
    """Why an output is not what is expected; nothing if it is."""
    found, expected = np.asarray(found).flatten(), np.asarray(expected).flatten()
    if found.size != expected.size:
        return f'{name} has {found.size} elements and not {expected.size}'
    for sort in ([False, True] if unordered else [False]):
        if sort:
            found, expected = np.sort(found), np.sort(expected)
        if np.allclose(found, expected, tolerance['rtol'], tolerance['atol'], equal_nan=True):
            return None
    wide = np.complex128 if np.iscomplexobj(expected) else np.float64
    found, expected = found.astype(wide), expected.astype(wide)
    if np.linalg.norm(found - expected) <= tolerance['norm_error'] * np.linalg.norm(expected):
        return None
    close = np.isclose(found, expected, tolerance['rtol'], tolerance['atol'], equal_nan=True)
    first = int(np.argmin(close))
    return f'{name}[{first}] is {found[first]} and not {expected[first]} ({np.sum(~close)} of {found.size} differ)'


def attempt(graph, io, build, tell):
    tell('read', '')
    sdfg = dace.SDFG.from_file(str(graph))
    tell('loaded', '')
    sdfg.validate()
    tell('valid', '')
    if str(io) == '-':
        return
    meta = json.loads((io / 'meta.json').read_text()) if io.is_dir() else flat_meta(json.loads(io.read_text()))
    known = {data['name']: data for data in meta['args']}
    sdfg.build_folder = str(build)
    compiled = sdfg.compile()
    tell('compiled', '')
    # Arguments that only the code needs which library nodes became are symbols.
    arguments = {name: np.int64(value) for name, value in meta['symbols'].items()}
    members = {}
    for name, descriptor in compiled.sdfg.arglist().items():
        if isinstance(descriptor, Structure):
            arguments[name] = structure(name, known, io, descriptor, meta['symbols'], members)
        elif name in known:
            arguments[name] = argument(known[name], io, descriptor, meta['symbols'])
            # What no list of symbols tells follows from the shapes.
            for extent, size in zip(descriptor.shape, np.shape(known[name]['input']) if io.is_file() else ()):
                if str(extent).isidentifier():
                    arguments.setdefault(str(extent), np.int64(size))
    by_value = {name for name, found in compiled.sdfg.arglist().items() if isinstance(found, Scalar)}
    compiled(**arguments)
    arguments.update(members)
    tell('ran', '')
    for data in meta['args']:
        if 'expected' in data and data['name'] in arguments and data['name'] not in by_value:
            expected = data['expected'] if isinstance(data['expected'], np.ndarray) else np.load(io / data['expected'])
            why = differs(data['name'], arguments[data['name']], expected, meta['tolerance'],
                          meta.get('has_streams', False))
            if why:
                return tell('ran', why)
    tell('same', '')


def text_of(error):
    """The text of an error; DaCe's own errors of validation fail to make one for some graphs."""
    try:
        return str(error)
    except BaseException:
        return str(getattr(error, 'message', ''))


def child(graph, io, build, pipe):
    stage = 'read'

    def tell(reached, why):
        nonlocal stage
        stage = reached
        pipe.send((reached, why))

    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    try:
        attempt(graph, io, build, tell)
    except BaseException as error:  # Whatever DaCe raises is a result.
        text = text_of(error)
        lines = [line for line in text.splitlines() if 'error' in line] or text.splitlines() or ['']
        pipe.send((stage, f'{type(error).__name__}: {lines[0].strip()}'))


def run(line):
    graph, io = line.rstrip('\n').split('\t')
    build = tempfile.mkdtemp(prefix='sdfg-dace-')
    ours, theirs = multiprocessing.Pipe(False)
    process = multiprocessing.Process(target=child, args=(pathlib.Path(graph), pathlib.Path(io), build, theirs))
    process.start()
    theirs.close()
    stage, why = 'read', 'nothing came back'
    try:
        while ours.poll(SECONDS):
            stage, why = ours.recv()
        why = f'it takes longer than {SECONDS} s'
        process.kill()
    except EOFError:
        pass
    process.join()
    if process.exitcode not in (0, -9):
        why = why or f'it crashes: {process.exitcode}'
    shutil.rmtree(build, ignore_errors=True)
    return f'{graph}\t{stage}\t{why}'


if __name__ == '__main__':
    for line in sys.stdin:
        print(run(line), flush=True)
