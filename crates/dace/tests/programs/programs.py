"""Small DaCe programs, one for each construct, with what they compute in NumPy.

`python make.py` writes the graph that DaCe makes of each, and inputs and outputs, beside this file.
"""
import dace
import numpy as np
from dace.libraries.blas import Axpy, Dot, Gemm, Gemv, Ger
from dace.libraries.lapack import Getrf, Getri, Getrs, Potrf
from dace.libraries.linalg import Cholesky, Inv, Solve, TensorDot
from dace.libraries.standard import TensorTranspose, Transpose
from dace.libraries.stencil import Stencil

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


def growing_graph():
    """A transient whose size each iteration sets anew, and that two states of it use."""
    sdfg = dace.SDFG('growing')
    sdfg.add_array('row', [4], dace.int64)
    sdfg.add_array('A', [6], dace.float64)
    sdfg.add_transient('t', ['last - first'], dace.float64)
    init, fill, use = (sdfg.add_state(name) for name in ('init', 'fill', 'use'))
    fill.add_mapped_tasklet('fill', dict(j='0:last-first'), {'x': dace.Memlet('A[first + j]')}, 'o = x * 2',
                            {'o': dace.Memlet('t[j]')}, external_edges=True)
    use.add_mapped_tasklet('use', dict(j='0:last-first'), {'x': dace.Memlet('t[j]')}, 'o = x + 1',
                           {'o': dace.Memlet('A[first + j]')}, external_edges=True)
    _, _, after = sdfg.add_loop(init, fill, None, 'i', '0', 'i < 3', 'i + 1', loop_end_state=use)
    sdfg.add_edge(fill, use, dace.InterstateEdge())
    for edge in sdfg.in_edges(fill):
        edge.data.assignments = {'first': 'row[i]', 'last': 'row[i + 1]'}
    return sdfg


def growing_numpy(row, A):
    A[:] = A * 2 + 1


def kept_graph():
    """A transient that a nested SDFG writes on one of two ways, and that is read on both: zero where nothing wrote it."""
    inner = dace.SDFG('inner')
    inner.add_array('x', [1], dace.float64)
    inner.add_array('y', [1], dace.float64)
    start, then, end = (inner.add_state(name) for name in ('start', 'then', 'end'))
    inner.add_edge(start, then, dace.InterstateEdge('x[0] > 0'))
    inner.add_edge(start, end, dace.InterstateEdge('not (x[0] > 0)'))
    inner.add_edge(then, end, dace.InterstateEdge())
    tasklet = then.add_tasklet('t', {'a'}, {'b'}, 'b = a * 2')
    then.add_edge(then.add_read('x'), None, tasklet, 'a', dace.Memlet('x[0]'))
    then.add_edge(tasklet, 'b', then.add_write('y'), None, dace.Memlet('y[0]'))
    sdfg = dace.SDFG('kept')
    sdfg.add_array('A', [4], dace.float64)
    sdfg.add_array('B', [4], dace.float64)
    sdfg.add_transient('perhaps', [1], dace.float64)
    state = sdfg.add_state('s')
    entry, exit = state.add_map('m', dict(i='0:4'))
    nested = state.add_nested_sdfg(inner, sdfg, {'x'}, {'y'})
    perhaps = state.add_access('perhaps')
    add = state.add_tasklet('add', {'p'}, {'o'}, 'o = p + 1')
    state.add_memlet_path(state.add_read('A'), entry, nested, dst_conn='x', memlet=dace.Memlet('A[i]'))
    state.add_edge(nested, 'y', perhaps, None, dace.Memlet('perhaps[0]'))
    state.add_edge(perhaps, None, add, 'p', dace.Memlet('perhaps[0]'))
    state.add_memlet_path(add, exit, state.add_write('B'), src_conn='o', memlet=dace.Memlet('B[i]'))
    return sdfg


def kept_numpy(A, B):
    B[:] = np.where(A > 0, A * 2, 0) + 1


def turned_graph():
    """A view with a layout of its own, as large as what it views where N and M are equal; calls of BLAS on what it names."""
    sdfg = dace.SDFG('turned')
    M = dace.symbol('M', dace.int64)
    for name in 'ABC':
        sdfg.add_array(name, [N, M], dace.float64)
    sdfg.add_array('D', [N, N], dace.complex128)
    sdfg.add_array('E', [N, N], dace.complex128)
    sdfg.add_view('columns', [M, N], dace.float64, strides=[1, M])
    state = sdfg.add_state('s')
    view = state.add_access('columns')
    state.add_edge(state.add_read('A'), None, view, 'views', dace.Memlet('A[0:N, 0:M]'))
    # As DaCe calls it for `columns @ B` of matrices that are square here.
    product = state.add_tasklet('product', {'_a', '_b'}, {'_c'}, """cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans,
        M, M, N, double(1), _b, M, _a, M, double(0), _c, M);""", language=dace.Language.CPP)
    state.add_edge(view, None, product, '_a', dace.Memlet('columns[0:M, 0:N]'))
    state.add_edge(state.add_read('B'), None, product, '_b', dace.Memlet('B[0:N, 0:M]'))
    state.add_edge(product, '_c', state.add_write('C'), None, dace.Memlet('C[0:N, 0:M]'))
    complex_product = state.add_tasklet('complex_product', {'_a', '_b'}, {'_c'}, """
        dace::complex128 __alpha = dace::complex128(0, 2);
        dace::complex128 __beta = dace::complex128(0);
        cblas_zgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, N, N, N, &__alpha, _b, N, _a, N, &__beta, _c, N);""",
                                        language=dace.Language.CPP)
    read = state.add_read('D')
    for name in ('_a', '_b'):
        state.add_edge(read, None, complex_product, name, dace.Memlet('D[0:N, 0:N]'))
    state.add_edge(complex_product, '_c', state.add_write('E'), None, dace.Memlet('E[0:N, 0:N]'))
    return sdfg


def turned_numpy(A, B, C, D, E):
    C[:] = A.T @ B
    E[:] = 2j * (D @ D)


def factors_graph():
    """Cholesky's and Solve's nodes after their expansion to calls of LAPACK."""
    sdfg = dace.SDFG('factors')
    for name, shape in dict(A=[N, N], L=[N, N], b=[N, N], x=[N, N]).items():
        sdfg.add_array(name, shape, dace.float64)
    state = sdfg.add_state('s')
    cholesky, solve = Cholesky('cholesky', lower=True), Solve('solve')
    A = state.add_read('A')
    state.add_edge(A, None, cholesky, '_a', dace.Memlet('A[0:N, 0:N]'))
    state.add_edge(cholesky, '_b', state.add_write('L'), None, dace.Memlet('L[0:N, 0:N]'))
    state.add_edge(A, None, solve, '_ain', dace.Memlet('A[0:N, 0:N]'))
    state.add_edge(state.add_read('b'), None, solve, '_bin', dace.Memlet('b[0:N, 0:N]'))
    state.add_edge(solve, '_bout', state.add_write('x'), None, dace.Memlet('x[0:N, 0:N]'))
    sdfg.expand_library_nodes()
    return sdfg


def factors_numpy(A, L, b, x):
    L[:] = np.linalg.cholesky(A)
    x[:] = np.linalg.solve(A, b)


def lapack_graph():
    """LAPACK's nodes: factors of a matrix, those that solve and invert as calls, and half a matrix."""
    sdfg = dace.SDFG('lapack')
    for name, (shape, ty) in dict(A=([N, N], dace.float64), b=([N, 2], dace.float64),
                                  S=([N, N], dace.float64), pivots=([N], dace.int32), results=([4], dace.int32)).items():
        sdfg.add_array(name, shape, ty)
    factored = sdfg.add_state('factored')
    used = sdfg.add_state_after(factored, 'used')
    inverted = sdfg.add_state_after(used, 'inverted')
    full = dict(A='A[0:N, 0:N]', b='b[0:N, 0:2]', S='S[0:N, 0:N]', pivots='pivots[0:N]')

    def add(state, node, at, inputs, outputs):
        state.add_node(node)
        for connector, name in inputs.items():
            state.add_edge(state.add_read(name), None, node, connector, dace.Memlet(full[name]))
        for connector, name in outputs.items():
            state.add_edge(node, connector, state.add_write(name), None, dace.Memlet(full[name]))
        state.add_edge(node, '_res', state.add_write('results'), None, dace.Memlet(f'results[{at}]'))
        return node

    add(factored, Getrf('getrf'), 0, dict(_xin='A'), dict(_xout='A', _ipiv='pivots'))
    add(factored, Potrf('potrf', lower=False), 1, dict(_xin='S'), dict(_xout='S'))
    solve = add(used, Getrs('getrs'), 2, dict(_a='A', _rhs_in='b', _ipiv='pivots'), dict(_rhs_out='b'))
    invert = add(inverted, Getri('getri'), 3, dict(_xin='A', _ipiv='pivots'), dict(_xout='A'))
    for state, node in ((used, solve), (inverted, invert)):
        node.implementation = 'OpenBLAS'
        node.expand(sdfg, state)
    return sdfg


def lapack_numpy(A, b, S, pivots, results):
    results[:] = 0
    b[:], inverse = np.linalg.solve(A, b), np.linalg.inv(A)
    S[:] = np.triu(np.linalg.cholesky(S).T) + np.tril(S, -1)
    for k in range(len(A)):
        with_row = k + np.argmax(np.abs(A[k:, k]))
        pivots[k] = with_row + 1
        A[[k, with_row]] = A[[with_row, k]]
        A[k + 1:, k] /= A[k, k]
        A[k + 1:, k + 1:] -= np.outer(A[k + 1:, k], A[k, k + 1:])
    A[:] = inverse


def offsets_graph():
    """Stencils: boundary conditions, a field of one dimension, a value between, a branch, two outputs, and one that is not written at its center."""
    sdfg = dace.SDFG('offsets')
    sdfg.add_symbol('K', dace.int64)
    for name in 'ABCDE':
        sdfg.add_array(name, [N, M], dace.float64)
    sdfg.add_array('V', [M], dace.float64)
    first = sdfg.add_state('first')
    second = sdfg.add_state_after(first, 'second')

    def add(state, node, inputs, outputs):
        state.add_node(node)
        full = {name: f'{name}[0:M]' if name == 'V' else f'{name}[0:N, 0:M]' for name in 'ABCDEV'}
        for connector, name in inputs.items():
            node.add_in_connector(connector)
            state.add_edge(state.add_read(name), None, node, connector, dace.Memlet(full[name]))
        for connector, name in outputs.items():
            node.add_out_connector(connector)
            state.add_edge(node, connector, state.add_write(name), None, dace.Memlet(full[name]))

    code = """t = a[-1, 0] + a[1, 0] + a[0, -2]
s = t - K
if c[-1, 0] > c[0, 1]:
    s = 2.0
b[0, 0] = 0.25 * t + v[0] * s
d[0, 0] = b[0, 0] - c[0, 0]"""
    add(first, Stencil('smooth', code, iterator_mapping={'v': (False, True)},
                       boundary_conditions={'a': {'btype': 'constant', 'value': 0.5}, 'c': {'btype': 'shrink'}}),
        dict(a='A', c='C', v='V'), dict(b='B', d='D'))
    add(second, Stencil('shifted', 'e[1, 0] = b[0, 0] + 3 * b[2, 1]',
                        boundary_conditions={'b': {'btype': 'constant', 'value': 1}}), dict(b='B'), dict(e='E'))
    return sdfg


def offsets_numpy(A, B, C, D, E, V, K):
    outside = np.pad(A, 2, constant_values=0.5)
    t = outside[1:-3, 2:-2] + outside[3:-1, 2:-2] + outside[2:-2, :-4]
    before, beside = np.roll(C, 1, 0), np.roll(C, -1, 1)
    b = 0.25 * t + V * np.where(before > beside, 2.0, t - K)
    B[1:, :-1], D[1:, :-1] = b[1:, :-1], (b - C)[1:, :-1]
    outside = np.pad(B, 1, constant_values=1.0)
    E[:] = outside[:-2, 1:-1] + 3 * outside[2:, 2:]


@dace.program
def guarded(A: dace.float64[N, M], B: dace.float64[N, M]):
    for i, j in dace.map[0:N, 0:M]:
        if i >= 1 and j >= 1:
            B[i, j] = A[i - 1, j - 1]
        elif j < M - 1:
            B[i, j] = A[i, j + 1]


def guarded_numpy(A, B):
    B[1:, 1:] = A[:-1, :-1]
    B[0, :-1] = A[0, 1:]
    B[1:, 0] = A[1:, 1]


@dace.program
def evenly(A: dace.float64[6]):
    A[:] = A + np.linspace(0, 1, 6)


@dace.program
def literal(A: dace.float64[2, 3]):
    B = np.array([1.0, 2.5, -4.0])
    A[:] = A * B


def literal_numpy(A):
    A *= np.array([1.0, 2.5, -4.0])


@dace.program
def converted(A: dace.float64[3, 4], B: dace.float32[3, 4], n: dace.int64[4], x: dace.float32[1]):
    B[:] = A
    n[:] = A[1]
    x[0] = A[2, 3]


def converted_numpy(A, B, n, x):
    B[:] = A
    n[:] = A[1]
    x[0] = A[2, 3]


def evenly_numpy(A):
    A += np.linspace(0, 1, 6)


def swept_graph():
    """A stencil whose code counts, keeps values from one iteration to the next and branches in a loop."""
    sdfg = dace.SDFG('swept')
    for name in 'AB':
        sdfg.add_array(name, [N], dace.float64)
    state = sdfg.add_state('all')
    code = """total = 0.0
weight = 1.0
for k in range(1, 4):
    weight = 0.5 * weight
    if a[-1] > k:
        total += weight * a[-1]
    else:
        total = total - k * a[1]
        for j in range(4, k, -2):
            total = total + j * a[0]
b[0] = total"""
    node = Stencil('sweep', code, boundary_conditions={'a': {'btype': 'constant', 'value': 2}})
    state.add_node(node)
    node.add_in_connector('a')
    node.add_out_connector('b')
    state.add_edge(state.add_read('A'), None, node, 'a', dace.Memlet('A[0:N]'))
    state.add_edge(node, 'b', state.add_write('B'), None, dace.Memlet('B[0:N]'))
    return sdfg


def swept_numpy(A, B):
    padded = np.pad(A, 1, constant_values=2.0)
    for i in range(len(A)):
        before, own, behind = padded[i:i + 3]
        B[i] = 0
        for k in range(1, 4):
            if before > k:
                B[i] += 0.5**k * before
            else:
                B[i] -= k * behind
                B[i] += own * sum(range(4, k, -2))


def signed_graph():
    """Quotients and remainders of indices and symbols on both sides of zero, rounded down."""

    def down(x, y):
        """C++ rounds towards zero."""
        return f'(int_floor(Max(0, {x}), {y}) - int_ceil(Max(0, -({x})), {y}))'

    sdfg = dace.SDFG('signed')
    sdfg.add_array('A', [16], dace.int64)
    sdfg.add_array('B', [9], dace.int64)
    sdfg.add_array('C', [2], dace.int64)
    sdfg.add_symbol('shift', dace.int64)
    first, second, third = (sdfg.add_state(name) for name in ('first', 'second', 'third'))
    first.add_mapped_tasklet('gather', dict(i='0:9'), {'x': dace.Memlet(f"A[{down('i - 5', 3)} + 4]"),
                                                       'y': dace.Memlet(f"A[3 - i - 4*{down('3 - i', 4)}]")},
                             'o = 100 * x + y', {'o': dace.Memlet('B[i]')}, external_edges=True)
    half = f"{down('shift', 2)}"
    sdfg.add_edge(first, second, dace.InterstateEdge(f'{half} == -4', dict(k=f'{half} + 4')))
    sdfg.add_edge(first, third, dace.InterstateEdge(f'not ({half} == -4)'))
    for state, at in ((second, 'k'), (third, '1')):
        tasklet = state.add_tasklet('copy', {'x'}, {'o'}, 'o = x')
        state.add_edge(state.add_read('A'), None, tasklet, 'x', dace.Memlet(f"A[{down('shift + 1', 3)} + 5]"))
        state.add_edge(tasklet, 'o', state.add_write('C'), None, dace.Memlet(f'C[{at}]'))
    return sdfg


def signed_numpy(A, B, C, shift):
    for i in range(9):
        B[i] = 100 * A[(i - 5) // 3 + 4] + A[(3 - i) % 4]
    C[shift // 2 + 4 if shift // 2 == -4 else 1] = A[(shift + 1) // 3 + 5]


def spelled_graph():
    """Library nodes with flags and hints for other devices, which change nothing here. Written with every property."""
    sdfg = dace.SDFG('spelled')
    for name, shape in dict(A=[N, N], B=[N, N], u=[N], v=[N], product=[N, N], scaled=[N], outer=[N, N], dot=[1], added=[N],
                            solved=[N, N], inverse=[N, N], factor=[N, N], contracted=[N, N], turned=[N, N], flipped=[N, N],
                            sums=[N]).items():
        sdfg.add_array(name, shape, dace.float64)
    state = sdfg.add_state('state')

    def add(node, inputs, output):
        state.add_node(node)
        for connector, name in inputs.items():
            memlet = dace.Memlet.from_array(name, sdfg.arrays[name])
            state.add_edge(state.add_read(name), None, node, connector, memlet)
        connector, name = output
        memlet = dace.Memlet.from_array(name, sdfg.arrays[name])
        state.add_edge(node, connector, state.add_write(name), None, memlet)
        return node

    gemm = add(Gemm('gemm', transB=True, alpha=2), dict(_a='A', _b='B'), ('_c', 'product'))
    gemm.algorithm, gemm.compute_type = 'CUBLAS_GEMM_DEFAULT', 'CUBLAS_COMPUTE_64F'
    gemm.accumulator_type = dace.float64
    add(Gemv('gemv', alpha=3), dict(_A='A', _x='u'), ('_y', 'scaled'))
    ger = add(Ger('ger', n=N, m=N, alpha=0.5), dict(_x='u', _y='v', _A='B'), ('_res', 'outer'))
    ger.n_tile_size = 2
    add(Dot('dot', n=N, accumulator_type=dace.float64), dict(_x='u', _y='v'), ('_result', 'dot'))
    add(Axpy('axpy', a=1.5, n=N), dict(_x='u', _y='v'), ('_res', 'added'))
    add(Solve('solve'), dict(_ain='A', _bin='B'), ('_bout', 'solved'))
    add(Inv('inv'), dict(_ain='A'), ('_aout', 'inverse'))
    add(Cholesky('cholesky'), dict(_a='B'), ('_b', 'factor'))
    tensordot = add(TensorDot('tensordot', left_axes=[0], right_axes=[1]), dict(_left_tensor='A', _right_tensor='B'),
                    ('_out_tensor', 'contracted'))
    tensordot.implementation = 'pure'
    add(TensorTranspose('ttranspose', axes=[1, 0], alpha=4), dict(_inp_tensor='A'), ('_out_tensor', 'turned'))
    add(Transpose('transpose', dtype=dace.float64), dict(_inp='A'), ('_out', 'flipped'))
    reduce = state.add_reduce('lambda a, b: a + b', [1], 0)
    state.add_nedge(state.add_read('A'), reduce, dace.Memlet('A[0:N, 0:N]'))
    state.add_nedge(reduce, state.add_write('sums'), dace.Memlet('sums[0:N]'))
    return sdfg


def spelled_numpy(A, B, u, v, product, scaled, outer, dot, added, solved, inverse, factor, contracted, turned, flipped, sums):
    product[:], scaled[:], outer[:] = 2 * A @ B.T, 3 * A @ u, 0.5 * np.outer(u, v) + B
    dot[:], added[:] = u @ v, 1.5 * u + v
    solved[:], inverse[:], factor[:] = np.linalg.solve(A, B), np.linalg.inv(A), np.linalg.cholesky(B)
    contracted[:], turned[:], flipped[:], sums[:] = np.tensordot(A, B, ([0], [1])), 4 * A.T, A.T, A.sum(axis=1)


# Graphs that are written with every property, also those that are at their defaults, as DaCe 0.14 and 0.15 do.
WITH_DEFAULTS = {'spelled'}

INPUTS = {
    'swept': dict(A=np.array([1.0, 3.5, -2.0, 2.5, 0.25]), B=np.zeros(5)),
    'signed': dict(A=np.arange(16) ** 2, B=np.zeros(9, np.int64), C=np.zeros(2, np.int64), shift=-7),
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
    'growing': dict(row=np.array([0, 1, 3, 6]), A=np.arange(6.0)),
    'kept': dict(A=np.array([1.0, -2.0, 3.0, -4.0]), B=np.zeros(4)),
    'turned': dict(A=np.array([[1.0, 2.0], [3.0, 5.0]]), B=np.array([[1.0, 4.0], [0.5, -1.0]]), C=np.zeros((2, 2)),
                   D=np.array([[1j, 2.0], [0.5, 1 + 1j]]), E=np.zeros((2, 2), np.complex128)),
    'factors': dict(A=np.array([[4.0, 2.0], [2.0, 5.0]]), L=np.zeros((2, 2)), b=np.array([[6.0, 1.0], [7.0, 0.0]]), x=np.zeros((2, 2))),
    'lapack': dict(A=np.array([[0.0, 2.0, 1.0], [4.0, 2.0, 8.0], [1.0, 5.0, -3.0]]), b=np.array([[6.0, 1.0], [7.0, 0.0], [1.0, 2.0]]),
                   S=np.array([[4.0, 2.0, 0.0], [2.0, 5.0, 2.0], [0.0, 2.0, 9.0]]),
                   pivots=np.zeros(3, np.int32), results=np.full(4, 7, np.int32)),
    'offsets': dict(A=np.arange(20.0).reshape(4, 5), B=np.full((4, 5), 7.0), C=(np.arange(20.0) * 7 % 11).reshape(4, 5),
                    D=np.full((4, 5), -7.0), E=np.zeros((4, 5)), V=np.arange(5.0) - 2, K=3),


    'guarded': dict(A=np.arange(12.0).reshape(3, 4), B=np.full((3, 4), -1.0)),
    'evenly': dict(A=np.arange(6.0)),
    'converted': dict(A=np.arange(12.0).reshape(3, 4) - 4.75, B=np.zeros((3, 4), np.float32), n=np.zeros(4, np.int64),
                      x=np.zeros(1, np.float32)),
    'literal': dict(A=np.arange(6.0).reshape(2, 3)),
    'spelled': dict(A=np.array([[4.0, 1.0, -2.0], [0.5, 3.0, 1.0], [2.0, -1.0, 5.0]]),
                    B=np.array([[6.0, 2.0, 1.0], [2.0, 5.0, 2.0], [1.0, 2.0, 4.0]]), u=np.array([1.0, -2.0, 3.0]),
                    v=np.array([0.5, 4.0, -1.0]), dot=np.zeros(1), scaled=np.zeros(3), added=np.zeros(3), sums=np.zeros(3),
                    **{name: np.zeros((3, 3)) for name in
                       ('product', 'outer', 'solved', 'inverse', 'factor', 'contracted', 'turned', 'flipped')}),
}
