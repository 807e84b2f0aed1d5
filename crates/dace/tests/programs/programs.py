"""Small DaCe programs, one for each construct, with what they compute in NumPy.

`python make.py` writes the graph that DaCe makes of each, and inputs and outputs, beside this file.
"""
import dace
import numpy as np

N, M = dace.symbol('N'), dace.symbol('M')


@dace.program
def axpy(a: dace.float64, x: dace.float64[N], y: dace.float64[N]):
    for i in dace.map[0:N]:
        y[i] = a * x[i] + y[i]


def axpy_numpy(a, x, y):
    y[:] = a * x + y


@dace.program
def stencil(A: dace.float64[N], B: dace.float64[N], T: dace.int64):
    for t in range(T):
        B[1:-1] = 0.25 * (A[:-2] + 2.0 * A[1:-1] + A[2:])
        A[1:-1] = B[1:-1]


def stencil_numpy(A, B, T):
    for _ in range(T):
        B[1:-1] = 0.25 * (A[:-2] + 2.0 * A[1:-1] + A[2:])
        A[1:-1] = B[1:-1]


@dace.program
def choices(A: dace.float64[N], B: dace.float64[N]):
    for i in range(N):
        if A[i] > 1.0:
            B[i] = A[i] * 2.0
        elif A[i] > 0.0:
            B[i] = A[i] + 5.0
        else:
            B[i] = -A[i]


def choices_numpy(A, B):
    B[:] = np.where(A > 1.0, A * 2.0, np.where(A > 0.0, A + 5.0, -A))


@dace.program
def collatz(n: dace.int64[1], steps: dace.int64[1]):
    steps[0] = 0
    while n[0] != 1:
        if n[0] % 2 == 0:
            n[0] = n[0] // 2
        else:
            n[0] = 3 * n[0] + 1
        steps[0] += 1


def collatz_numpy(n, steps):
    steps[0] = 0
    while n[0] != 1:
        n[0] = n[0] // 2 if n[0] % 2 == 0 else 3 * n[0] + 1
        steps[0] += 1


@dace.program
def leave(A: dace.float64[N], found: dace.int64[1]):
    found[0] = -1
    for i in range(N):
        if A[i] < 0.0:
            continue
        if A[i] > 2.0:
            found[0] = i
            break


def leave_numpy(A, found):
    at = np.nonzero(A > 2.0)[0]
    found[0] = at[0] if len(at) else -1


@dace.program
def scaled_row(row: dace.float64[M], factor: dace.float64):
    row[:] = row * factor


@dace.program
def calls(A: dace.float64[N, M], factors: dace.float64[N]):
    for i in range(N):
        scaled_row(A[i, :], factors[i])


def calls_numpy(A, factors):
    A *= factors[:, None]


@dace.program
def resolutions(A: dace.float64[N], total: dace.float64[1], largest: dace.float64[1], length: dace.float64[1]):
    for i in dace.map[0:N]:
        with dace.tasklet:
            a << A[i]
            s >> total(1, lambda old, new: old + new)
            m >> largest(1, lambda old, new: max(old, new))
            r >> length(1, lambda old, new: math.sqrt(old * old + new * new))
            s = a
            m = a
            r = a


def resolutions_numpy(A, total, largest, length):
    total[0] += A.sum()
    largest[0] = max(largest[0], A.max())
    length[0] = np.sqrt(length[0] ** 2 + (A ** 2).sum())


@dace.program
def histogram(A: dace.int32[N], counts: dace.int64[M]):
    for i in dace.map[0:N]:
        counts[A[i]] += 1


def histogram_numpy(A, counts):
    np.add.at(counts, A, 1)


@dace.program
def spmv(row: dace.int64[N + 1], column: dace.int64[M], value: dace.float64[M], x: dace.float64[N], y: dace.float64[N]):
    for i in dace.map[0:N]:
        for j in dace.map[row[i]:row[i + 1]]:
            y[i] += value[j] * x[column[j]]


def spmv_numpy(row, column, value, x, y):
    for i in range(len(x)):
        for j in range(row[i], row[i + 1]):
            y[i] += value[j] * x[column[j]]


@dace.program
def reshaped(A: dace.float64[2, 3, 4], B: dace.float64[8, 3]):
    B[:] = B + np.reshape(A, [8, 3])


def reshaped_numpy(A, B):
    B += A.reshape(8, 3)


@dace.program
def rotation(z: dace.complex128[N], r: dace.float64[N]):
    z[:] = z * 1j + 2.0
    r[:] = np.real(z) + np.imag(z)


def rotation_numpy(z, r):
    z[:] = z * 1j + 2.0
    r[:] = z.real + z.imag


@dace.program
def quotients(a: dace.int64[N], b: dace.int64[N], q: dace.int64[N], r: dace.int64[N], f: dace.int64[N]):
    for i in dace.map[0:N]:
        with dace.tasklet:
            x << a[i]
            y << b[i]
            quotient >> q[i]
            remainder >> r[i]
            quotient = x // y
            remainder = x % y
    f[:] = np.floor_divide(a, b)


def quotients_numpy(a, b, q, r, f):
    # As C rounds, which is what DaCe's code does; NumPy's function rounds down.
    q[:] = np.trunc(a / b).astype(np.int64)
    r[:] = a - b * q
    f[:] = a // b


@dace.program
def promoted(A: dace.float64[N], B: dace.float64[N], first: dace.int64[2]):
    scale = A[first[0]]
    for i in dace.map[0:N]:
        B[i] = A[i] * scale
    if scale > 1.0:
        B[first[1]] = scale


def promoted_numpy(A, B, first):
    scale = A[first[0]]
    B[:] = A * scale
    if scale > 1.0:
        B[first[1]] = scale


@dace.program
def masked(A: dace.float64[N], limit: dace.float64):
    A[A > limit] = limit


def masked_numpy(A, limit):
    A[A > limit] = limit


@dace.program
def largest_at(A: dace.float64[N, M], at: dace.int32[N]):
    at[:] = np.argmax(A, axis=1)


def largest_at_numpy(A, at):
    at[:] = np.argmax(A, axis=1)


@dace.program
def sums(A: dace.float64[N, M], rows: dace.float64[N], all: dace.float64[1]):
    rows[:] = np.sum(A, axis=1)
    all[:] = np.max(A)


def sums_numpy(A, rows, all):
    rows[:] = A.sum(axis=1)
    all[0] = A.max()


@dace.program
def functions(A: dace.float64[N], B: dace.float64[N]):
    B[:] = np.exp(-A) + np.sqrt(np.abs(A)) * np.cos(A) + np.arctan2(A, 2.0) + np.minimum(A, 0.5) ** 3


def functions_numpy(A, B):
    B[:] = np.exp(-A) + np.sqrt(np.abs(A)) * np.cos(A) + np.arctan2(A, 2.0) + np.minimum(A, 0.5) ** 3


def digits_graph():
    """A consume scope that pushes to the stream that it consumes."""
    sdfg = dace.SDFG('digits')
    sdfg.add_array('A', [N], dace.int64)
    sdfg.add_array('total', [1], dace.int64)
    sdfg.add_stream('S', dace.int64, transient=True)
    fill = sdfg.add_state('fill')
    read, queue = fill.add_read('A'), fill.add_access('S')
    fill.add_nedge(read, queue, dace.Memlet('A[0:N]'))
    sdfg.arrays['S'].buffer_size = 0
    work = sdfg.add_state_after(fill, 'work')
    entry, exit = work.add_consume('digits', ('p', '2'))
    digit = work.add_tasklet('digit', {'x'}, {'d', 'again'}, 'd = x % 10\nif x >= 10:\n    again = x // 10')
    queue, pushed, total = work.add_read('S'), work.add_write('S'), work.add_write('total')
    entry.add_in_connector('IN_stream')
    entry.add_out_connector('OUT_stream')
    work.add_edge(queue, None, entry, 'IN_stream', dace.Memlet('S[0]'))
    work.add_edge(entry, 'OUT_stream', digit, 'x', dace.Memlet('S[0]'))
    work.add_memlet_path(digit, exit, pushed, src_conn='again', memlet=dace.Memlet('S[0]', dynamic=True))
    work.add_memlet_path(digit, exit, total, src_conn='d', memlet=dace.Memlet('total[0]', wcr='lambda a, b: a + b'))
    return sdfg


def digits_numpy(A, total):
    total[0] += sum(int(digit) for number in A for digit in str(number))


def table_graph():
    """A compile-time array that code names without a connector, and a transient that is zero when it is allocated."""
    sdfg = dace.SDFG('table')
    sdfg.add_array('A', [4], dace.float64)
    sdfg.add_transient('t', [4], dace.float64)
    sdfg.add_constant('weights', np.array([1.0, 2.0, 3.0, 4.0]))
    sdfg.add_constant('shift', np.float64(0.5))
    first = sdfg.add_state('first')
    zeroed = first.add_access('t')
    zeroed.setzero = True
    first.add_mapped_tasklet('weigh', dict(i='0:4'), {}, 'o = weights[i] + shift', {'o': dace.Memlet('t[i]', wcr='lambda a, b: a + b')},
                             external_edges=True, output_nodes={'t': zeroed})
    second = sdfg.add_state_after(first, 'second')
    second.add_mapped_tasklet('add', dict(i='0:4'), {'x': dace.Memlet('t[i]'), 'y': dace.Memlet('A[i]')}, 'o = x + y',
                              {'o': dace.Memlet('A[i]')}, external_edges=True)
    return sdfg


def table_numpy(A):
    A += np.array([1.5, 2.5, 3.5, 4.5])


def pointer_graph():
    """A reference that is set in one of two states and read afterwards."""
    sdfg = dace.SDFG('pointer')
    for name in 'ABC':
        sdfg.add_array(name, [N], dace.float64)
    sdfg.add_symbol('which', dace.int64)
    sdfg.add_reference('ref', [N], dace.float64)
    start, end = sdfg.add_state('start', is_start_block=True), sdfg.add_state('end')
    for name, condition in (('A', 'which > 0'), ('B', 'which <= 0')):
        state = sdfg.add_state('set_' + name)
        state.add_edge(state.add_read(name), None, state.add_write('ref'), 'set', dace.Memlet(name + '[0:N]'))
        sdfg.add_edge(start, state, dace.InterstateEdge(condition))
        sdfg.add_edge(state, end, dace.InterstateEdge())
    end.add_mapped_tasklet('use', dict(i='0:N'), {'x': dace.Memlet('ref[i]')}, 'o = x * 2', {'o': dace.Memlet('C[i]')},
                           external_edges=True)
    return sdfg


def pointer_numpy(A, B, C, which):
    C[:] = 2 * (A if which > 0 else B)


INPUTS = {
    'axpy': dict(a=1.5, x=np.arange(5.0), y=np.ones(5)),
    'stencil': dict(A=np.arange(6.0) ** 2, B=np.zeros(6), T=3),
    'choices': dict(A=np.array([-1.0, 0.5, 2.0]), B=np.zeros(3)),
    'collatz': dict(n=np.array([27]), steps=np.zeros(1, np.int64)),
    'leave': dict(A=np.array([1.0, -3.0, 2.5, 4.0]), found=np.zeros(1, np.int64)),
    'calls': dict(A=np.arange(6.0).reshape(2, 3), factors=np.array([2.0, -1.0])),
    'resolutions': dict(A=np.array([3.0, -1.0, 4.0]), total=np.ones(1), largest=np.zeros(1), length=np.ones(1)),
    'histogram': dict(A=np.array([0, 2, 2, 1], np.int32), counts=np.zeros(3, np.int64)),
    'spmv': dict(row=np.array([0, 2, 2, 3]), column=np.array([0, 2, 1]), value=np.array([1.0, 2.0, 3.0]),
                 x=np.array([1.0, 10.0, 100.0]), y=np.zeros(3)),
    'reshaped': dict(A=np.arange(24.0).reshape(2, 3, 4), B=np.ones((8, 3))),
    'rotation': dict(z=np.array([1 + 2j, -3j]), r=np.zeros(2)),
    'quotients': dict(a=np.array([7, -7, 7, -7]), b=np.array([2, 2, -2, -2]), q=np.zeros(4, np.int64),
                      r=np.zeros(4, np.int64), f=np.zeros(4, np.int64)),
    'promoted': dict(A=np.array([1.0, 2.0, 3.0]), B=np.zeros(3), first=np.array([1, 0])),
    'masked': dict(A=np.array([1.0, 5.0, 3.0]), limit=2.5),
    'largest_at': dict(A=np.array([[1.0, 7.0, 3.0, 7.0], [9.0, 7.0, 8.0, 9.0]]), at=np.zeros(2, np.int32)),
    'sums': dict(A=np.arange(6.0).reshape(2, 3), rows=np.zeros(2), all=np.zeros(1)),
    'functions': dict(A=np.array([0.25, 1.0, -2.0]), B=np.zeros(3)),
    'digits': dict(A=np.array([12, 345, 7]), total=np.zeros(1, np.int64)),
    'table': dict(A=np.arange(4.0)),
    'pointer': dict(A=np.arange(3.0), B=np.ones(3), C=np.zeros(3), which=1),
}
