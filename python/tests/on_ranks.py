"""Run by `test_ranks` on the ranks of MPI: calls distributed programs, whose files are the arguments, and compares with NumPy."""

import sys

import numpy
from mpi4py import MPI

import sdfg

COMM = MPI.COMM_WORLD


def everywhere(is_right, what):
    """Ends all ranks if one of them found something wrong."""
    wrong = [rank for rank, each in enumerate(COMM.allgather(bool(is_right))) if not each]
    if wrong:
        raise SystemExit(f"{what} is wrong on ranks {wrong}" if COMM.rank == 0 else 1)


def parts(f, arrays, symbols):
    """What this rank holds of whole arrays."""
    found = {}
    for name, whole in arrays.items():
        offset, shape = f.local_offset(name, **symbols), f.local_shape(name, **symbols)
        # An index of an array without dimensions would be a number.
        found[name] = numpy.array(numpy.asarray(whole)[(..., *(slice(at, at + extent) for at, extent in zip(offset, shape)))])
    return found


def runs(f, arrays, symbols, expected):
    """Runs on parts, twice as the second run finds the first one's halos, and on whole arrays."""
    for _ in range(2):
        own = parts(f, arrays, symbols)
        f(**own, **symbols)
        reached = parts(f, {name: expected[name] for name in arrays}, symbols)
        for name in arrays:
            slices = f.own(name, **symbols)
            everywhere(numpy.allclose(own[name][slices], reached[name][slices]), f"{f.name}: the part of {name}")
    if COMM.rank == 0:
        whole = {name: array.copy() for name, array in arrays.items()}
        f.whole(**whole, **symbols)
        is_right = all(numpy.allclose(whole[name], expected[name]) for name in arrays)
    else:
        f.whole()
        is_right = True
    everywhere(is_right, f"{f.name}: a whole array")


def product(path):
    random = numpy.random.default_rng(3)
    a, b = random.random((10, 7)), random.random((7, 9))
    arrays = {"A": a, "B": b, "C": numpy.zeros((10, 9))}
    runs(sdfg.compile(path, comm=COMM), arrays, {"M": 10, "N": 9, "K": 7}, {**arrays, "C": a @ b})


def sums(path):
    a = numpy.arange(1.0, 12.0)
    arrays = {"A": a, "H": numpy.zeros(4, "int64"), "s": numpy.zeros(())}
    counts = numpy.bincount(numpy.arange(11) % 4)
    runs(sdfg.compile(path, comm=COMM), arrays, {"N": 11, "B": 4}, {"A": a, "H": counts, "s": (a * a).sum()})


def mistakes(path):
    f = sdfg.compile(path, comm=COMM)
    own = parts(f, {"A": numpy.zeros(11), "H": numpy.zeros(4, "int64"), "s": numpy.zeros(())}, {"N": 11, "B": 4})
    last = COMM.rank == COMM.size - 1
    calls = [
        lambda: f(**{**own, "A": own["A"][:1]} if last else own, N=11, B=4),
        lambda: f(**own, B=4) if last else f(**own, N=11, B=4),
        lambda: f(**own, N=12 if last else 11, B=4),
        lambda: f.whole(A=own["A"]) if COMM.rank == 0 else f.whole(),
        lambda: f.local_shape("A", N=3),
        lambda: f.local_shape("Q", N=3, B=4),
    ]
    for number, call in enumerate(calls):
        try:
            call()
            refused = False
        except (TypeError, ValueError):
            refused = True
        everywhere(refused, f"mistake {number}")
    try:
        sdfg.compile("sdfg p {\n  state s {}\n}\n", comm=COMM)
        refused = False
    except ValueError as error:
        refused = "is not distributed" in str(error)
    everywhere(refused, "a program that is not distributed")


product(sys.argv[1])
sums(sys.argv[2])
mistakes(sys.argv[2])
if COMM.rank == 0:
    print("ok")
