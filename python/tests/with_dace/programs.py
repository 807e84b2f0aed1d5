"""Programs of DaCe's front end, each with what NumPy makes of the same arguments."""

import dace
import numpy

N, M, K = (dace.symbol(name) for name in "NMK")


@dace.program
def elementwise(A: dace.float64[N, M], B: dace.float64[N, M]):
    B[:] = numpy.sin(A) * 2 + B


@dace.program
def total(A: dace.float64[N, M]):
    return numpy.sum(A)


@dace.program
def both_axes(A: dace.float64[N, M]):
    return numpy.sum(A, axis=1), numpy.max(A, axis=0)


@dace.program
def product(A: dace.float64[N, K], B: dace.float64[K, M]):
    return A @ B


@dace.program
def smooth(A: dace.float64[N], T: dace.int64):
    for t in range(T):
        A[1:-1] = (A[:-2] + A[1:-1] + A[2:]) / 3


@dace.program
def threshold(A: dace.float64[N], t: dace.float64):
    B = numpy.zeros_like(A)
    for i in dace.map[0:N]:
        if A[i] > t:
            B[i] = A[i]
        else:
            B[i] = -t
    return B


@dace.program
def scaled(x: dace.float64[N], a: dace.float64):
    x[:] = x * a


@dace.program
def nested(x: dace.float64[N], y: dace.float64[N], a: dace.float64):
    scaled(x, a)
    scaled(y, a + 1)


@dace.program
def complex_numbers(z: dace.complex128[N], c: dace.complex128):
    return z * c + numpy.conj(z)


@dace.program
def masked(A: dace.float32[N], m: dace.bool[N]):
    return numpy.where(m, A, numpy.float32(0))


@dace.program
def transposed(A: dace.float64[N, M]):
    return numpy.transpose(A)


@dace.program
def differences(A: dace.float64[N + 1]):
    return A[1:] - A[:-1]


@dace.program
def counted(a: dace.int32, A: dace.int32[N]):
    a = a + 1
    A[:] = a


@dace.program
def halved(n: dace.int64[1], steps: dace.int64[1]):
    while n[0] > 1:
        if n[0] % 2 == 0:
            n[0] = n[0] // 2
        else:
            n[0] = 3 * n[0] + 1
        steps[0] += 1


@dace.program
def histogram(A: dace.int64[N], bins: dace.int64[10]):
    for i in range(N):
        bins[A[i]] += 1


def collatz(n, steps):
    while n[0] > 1:
        n[0] = n[0] // 2 if n[0] % 2 == 0 else 3 * n[0] + 1
        steps[0] += 1


def both_scaled(x, y, a):
    x *= a
    y *= a + 1


def smoothed(A, T):
    for _ in range(T):
        A[1:-1] = (A[:-2] + A[1:-1] + A[2:]) / 3


def cases(random):
    """For each program its arguments, and a function that changes them as the program does and gives its result."""
    matrix = vector = lambda *shape: random.random(shape)
    z = vector(7) + 1j * vector(7)
    return [
        (elementwise, {"A": matrix(4, 5), "B": matrix(4, 5)}, lambda A, B: numpy.copyto(B, numpy.sin(A) * 2 + B)),
        (total, {"A": matrix(30, 40)}, lambda A: numpy.array([A.sum()])),
        (both_axes, {"A": matrix(4, 5)}, lambda A: (A.sum(axis=1), A.max(axis=0))),
        (product, {"A": matrix(8, 5), "B": matrix(5, 6)}, lambda A, B: A @ B),
        (smooth, {"A": vector(50), "T": 7}, smoothed),
        (threshold, {"A": vector(20), "t": 0.5}, lambda A, t: numpy.where(A > t, A, -t)),
        (nested, {"x": vector(9), "y": vector(9), "a": 2.0}, both_scaled),
        (complex_numbers, {"z": z, "c": 1 + 2j}, lambda z, c: z * c + z.conj()),
        (masked, {"A": vector(9).astype("f4"), "m": vector(9) > 0.5}, lambda A, m: numpy.where(m, A, numpy.float32(0))),
        (transposed, {"A": matrix(4, 5)}, lambda A: A.T),
        (differences, {"A": vector(11)}, lambda A: numpy.diff(A)),
        (counted, {"a": 3, "A": numpy.zeros(4, "i4")}, lambda a, A: A.fill(a + 1)),
        (halved, {"n": numpy.array([27]), "steps": numpy.zeros(1, "i8")}, collatz),
        (
            histogram,
            {"A": random.integers(0, 10, 1000), "bins": numpy.zeros(10, "i8")},
            lambda A, bins: numpy.copyto(bins, numpy.bincount(A, minlength=10)),
        ),
    ]
