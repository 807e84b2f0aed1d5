"""Calls a distributed program on the ranks of mpi4py's communicator, with the parts of the ranks and with whole arrays of rank 0.

The argument is the program, as `sdfg distribute` wrote it.
"""

import sys

import numpy
from mpi4py import MPI

import sdfg

N, T = 37, 5


def reference(a, b):
    """The result without the program."""
    for _ in range(T):
        for source, target in ((a, b), (b, a)):
            inner = source[1:-1, 1:-1] + source[1:-1, :-2] + source[1:-1, 2:] + source[2:, 1:-1] + source[:-2, 1:-1]
            target[1:-1, 1:-1] = 0.2 * inner
    return a, b


def main():
    comm = MPI.COMM_WORLD
    whole = numpy.random.default_rng(7).random((N, N))
    expected = reference(whole.copy(), whole.copy())
    f = sdfg.compile(sys.argv[1], comm=comm)

    # Each rank passes what it holds.
    shape, offset = f.local_shape("A", N=N, T=T), f.local_offset("A", N=N, T=T)
    here = tuple(slice(first, first + extent) for first, extent in zip(offset, shape))
    a, b = whole[here].copy(), whole[here].copy()
    f(A=a, B=b, N=N, T=2)
    # The halos of what this run left are taken from their owners by the next one.
    f(A=a, B=b, N=N, T=T - 2)
    own = f.own("A", N=N, T=T)
    is_right = numpy.allclose(a[own], expected[0][here][own]) and numpy.allclose(b[own], expected[1][here][own])

    # Rank 0 passes everything.
    if comm.rank == 0:
        a, b = whole.copy(), whole.copy()
        f.whole(A=a, B=b, T=T)
        is_right = is_right and numpy.allclose(a, expected[0]) and numpy.allclose(b, expected[1])
    else:
        f.whole()

    # A mistake on one rank is an exception on all of them.
    try:
        f(A=a[1:] if f.rank == f.ranks - 1 else a, B=b, N=N, T=T)
        is_right = False
    except ValueError:
        pass

    everywhere = comm.allreduce(is_right, MPI.LAND)
    if comm.rank == 0:
        print(f"jacobi2d on {f.ranks} ranks: {'ok' if everywhere else 'wrong'}")
    return 0 if everywhere else 1


if __name__ == "__main__":
    sys.exit(main())
