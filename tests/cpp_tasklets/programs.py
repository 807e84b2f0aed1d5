"""Graphs with tasklets in C++ that is more than assignments. `make.py` beside DaCe's other small programs writes them, and what DaCe computes."""
import dace
import numpy as np

N, M = (dace.symbol(name, dace.int64) for name in 'NM')
CPP = dace.Language.CPP


def arrays(name, shapes, **dtypes):
    """A graph with one state, and a function that adds a tasklet between arrays, in a map if ranges are given."""
    sdfg = dace.SDFG(name)
    for array, shape in shapes.items():
        sdfg.add_array(array, shape, dtypes.get(array, dace.float64))
    state = sdfg.add_state('s')

    def tasklet(label, reads, writes, code, ranges=None, **properties):
        (inputs, outputs) = ({key: properties.get('types', {}).get(key) for key in found} for found in (reads, writes))
        node = state.add_tasklet(label, inputs, outputs, code, language=CPP,
                                 code_global=properties.get('code_global', ''))
        around = state.add_map('m_' + label, ranges) if ranges else ()
        for connector, memlet in reads.items():
            memlet = dace.Memlet(memlet)
            state.add_memlet_path(state.add_read(memlet.data), *around[:1], node, dst_conn=connector, memlet=memlet)
        for connector, memlet in writes.items():
            memlet = memlet if isinstance(memlet, dace.Memlet) else dace.Memlet(memlet)
            state.add_memlet_path(node, *around[1:], state.add_write(memlet.data), src_conn=connector, memlet=memlet)
        if around and not reads:
            state.add_nedge(around[0], node, dace.Memlet())
        return node

    return sdfg, state, tasklet


def loops_graph():
    """Loops, branches, locals and arrays of the code's own, over pointers with the strides of their containers."""
    sdfg, _, tasklet = arrays('loops', dict(A=[N, M], B=[N, M], sums=[N]))
    tasklet('running', dict(a='A[0:N, 0:M]'), dict(b='B[0:N, 0:M]', s='sums[0:N]'), """
// Running sums of what is above a limit, which depends on the row.
static const double limits[2] = {0.5, 2.0};
for (int row = 0; row < N; ++row) {
    double sum = 0;
    for (int column = 0; column < M; ++column) {
        const double value = a[row * M + column];
        if (value > limits[row % 2]) {
            sum += value;
        } else if (value < 0) {
            continue;
        }
        b[row * M + column] = sum;
    }
    s[row] = sum;
}""")
    return sdfg


def loops_numpy(A, B, sums):
    for row in range(A.shape[0]):
        total = 0.0
        for column in range(A.shape[1]):
            if A[row, column] > [0.5, 2.0][row % 2]:
                total += A[row, column]
            elif A[row, column] < 0:
                continue
            B[row, column] = total
        sums[row] = total


def medians_graph():
    """The standard library, structs and functions of the code's own; a map, whose parameter the code names; a column."""
    sdfg, _, tasklet = arrays('medians', dict(A=[N, M], columns=[M], weighted=[M]))
    tasklet('median', dict(a='A[0:N, j]'), dict(o='columns[j]', w='weighted[j]'), """
struct Entry { double value; int row; };
std::vector<Entry> entries;
for (int i = 0; i < N; i++)
    entries.push_back({a[i * M], i});
std::sort(entries.begin(), entries.end(), [](const Entry& x, const Entry& y) { return x.value < y.value; });
o = entries[N / 2].value;
w = (j + 1) * entries.front().row;""", dict(j='0:M'))
    return sdfg


def medians_numpy(A, columns, weighted):
    columns[:] = np.sort(A, axis=0)[A.shape[0] // 2]
    weighted[:] = np.arange(1, A.shape[1] + 1) * np.argmin(A, axis=0)


def values_graph():
    """Values of every kind by value and by reference: integers, booleans, single precision, complex numbers; between tasklets."""
    sdfg, state, tasklet = arrays('values', dict(z=[1], w=[1], n=[1], q=[1], f=[1], g=[1], flag=[1]), z=dace.complex128,
                                  w=dace.complex128, n=dace.int32, q=dace.int64, f=dace.float32, g=dace.float32, flag=dace.bool_)
    first = tasklet('first', dict(a='z[0]', k='n[0]', x='f[0]'), dict(c='w[0]', big='q[0]', y='g[0]', odd='flag[0]'), """
dace::complex128 power = 1;
for (int i = 0; i < k; ++i) { power *= a; }
c = power + dace::complex128(0, k / 2);
odd = k % 2 != 0;
big = dace::int64(k) << 33;
y = x;
while (y > 1) { y /= 3; }""")
    first.add_out_connector('between')
    second = state.add_tasklet('second', {'v': dace.float32}, {'o': None}, 'if (v > 0) { o = min(v, 2.5f, 7); } else { o = -1; }', language=CPP)
    first.out_connectors['between'] = dace.float32
    first.code.as_string += '\nbetween = y * 10;'
    state.add_edge(first, 'between', second, 'v', dace.Memlet())
    sdfg.add_array('h', [1], dace.float32)
    state.add_edge(second, 'o', state.add_write('h'), None, dace.Memlet('h[0]'))
    return sdfg


def shared_graph():
    """Code beside the graph, of the program and of a tasklet, constants, and a nested graph with a symbol."""
    inner, _, tasklet = arrays('inner', dict(x=[1], y=[1]))
    inner.add_symbol('K', dace.int32)
    tasklet('power', dict(a='x[0]'), dict(b='y[0]'), 'for (b = 1; power_left(K) > 0; --left) { b *= a; }\nb += offset;', code_global='#include <cassert>\nstatic int left_of(int k) { return k; }')
    sdfg, state, tasklet = arrays('shared', dict(A=[4], B=[4], C=[4]))
    sdfg.add_constant('offset', 0.25)
    sdfg.add_constant('weights', np.array([1.0, 2.0, 3.0, 4.0]))
    sdfg.append_global_code("""
static thread_local int left = -1;
static int left_of(int k);
// The first call of a row sets how many factors are left.
static int power_left(int k) { if (left < 0) { left = left_of(k) + 1; } return left - 1; }
""")
    node = state.add_nested_sdfg(inner, sdfg, {'x'}, {'y'}, {'K': 'i + 1'})
    entry, exit = state.add_map('m', dict(i='0:4'), schedule=dace.ScheduleType.Sequential)
    node.schedule = dace.ScheduleType.Sequential
    reset = """for (b = 1; power_left(K) > 0; --left) { b *= a; }
left = -1;
b += offset;"""
    for found in inner.states()[0].nodes():
        if isinstance(found, dace.nodes.Tasklet):
            found.code = dace.properties.CodeBlock(reset, CPP)
    state.add_memlet_path(state.add_read('A'), entry, node, dst_conn='x', memlet=dace.Memlet('A[i]'))
    state.add_memlet_path(node, exit, state.add_write('B'), src_conn='y', memlet=dace.Memlet('B[i]'))
    tasklet('weigh', dict(a='A[0:4]'), dict(c='C[0:4]'), 'for (int i = 0; i < 4; i++) c[i] = a[i] * weights[i];')
    return sdfg


def shared_numpy(A, B, C):
    B[:] = A ** np.arange(1, 5) + 0.25
    C[:] = A * np.arange(1, 5)


def resolved_graph():
    """Results that are combined: in a map with a function, and without one for parts of arrays; symbols that transitions assign."""
    sdfg, state, tasklet = arrays('resolved', dict(A=[N], total=[1], largest=[1]))
    before = sdfg.add_state_before(state)
    sdfg.edges()[0].data.assignments['half'] = 'N // 2'
    for name, wcr in dict(total='lambda x, y: x + y', largest='lambda x, y: max(x, y)').items():
        tasklet('add_' + name, dict(a='A[i]'), dict(o=dace.Memlet(f'{name}[0]', wcr=wcr)), """
double value = a;
for (int k = 0; k < 3 && i >= half; ++k) { value += k; }
o = value;""", dict(i='0:N'))
    return sdfg


def resolved_numpy(A, total, largest):
    value = A + np.where(np.arange(len(A)) >= len(A) // 2, 3, 0)
    total += value.sum()
    largest[:] = max(largest[0], value.max())


def lanes_graph():
    """Neighbours as one value, read and written."""
    sdfg, _, tasklet = arrays('lanes', dict(A=[8], B=[8]))
    four = dace.vector(dace.float64, 4)
    tasklet('twice', dict(a='A[i:i + 4]'), dict(b='B[i:i + 4]'), """
b = a;
for (int k = 0; k < 2; ++k) { b = b * a; }""", dict(i='0:8:4'), types=dict(a=four, b=four))
    return sdfg


def lanes_numpy(A, B):
    B[:] = A ** 3


def pairs_graph():
    """Structs by value, with fields of different types, and pointers to structs with fields of one."""
    pair = dace.struct('pair', value=dace.float64, place=dace.int32)
    point = dace.struct('point', x=dace.float64, y=dace.float64)
    sdfg, state, _ = arrays('pairs', dict(A=[4], result=[1]))
    sdfg.add_transient('best', [1], pair)
    sdfg.add_transient('points', [2], point)

    def tasklet(label, inputs, outputs, code):
        node = state.add_tasklet(label, set(inputs), set(outputs), code, language=CPP)
        for connector, (access, memlet) in inputs.items():
            state.add_edge(access, None, node, connector, dace.Memlet(memlet))
        for connector, (access, memlet) in outputs.items():
            state.add_edge(node, connector, access, None, dace.Memlet(memlet))

    A, best, points = (state.add_access(name) for name in ('A', 'best', 'points'))
    tasklet('search', dict(a=(A, 'A[0:4]')), dict(b=(best, 'best[0]')), """
b.place = 0;
for (int i = 1; i < 4; ++i) if (a[i] > a[b.place]) b.place = i;
b.value = a[b.place];""")
    tasklet('turn', dict(a=(A, 'A[0:4]')), dict(p=(points, 'points[0:2]')), """
for (int i = 0; i < 2; ++i) { p[i].x = -a[2 * i + 1]; p[i].y = a[2 * i]; }""")
    tasklet('together', dict(b=(best, 'best[0]'), p=(points, 'points[0:2]')), dict(o=(state.add_write('result'), 'result[0]')), """
auto copy = b;
o = copy.value * 1000 + copy.place * 100;
for (int i = 0; i < 2; ++i) o += p[i].x * (i + 1) + p[i].y * 10;""")
    return sdfg


def pairs_numpy(A, result):
    result[0] = A.max() * 1000 + A.argmax() * 100 + sum(-A[2 * i + 1] * (i + 1) + A[2 * i] * 10 for i in range(2))


def pushes_graph():
    """A stream that C++ code pushes to, which is refused."""
    sdfg = dace.SDFG('pushes')
    sdfg.add_array('A', [4], dace.float64)
    sdfg.add_stream('S', dace.float64, transient=True)
    state = sdfg.add_state('s')
    push = state.add_tasklet('push', {}, {'s'}, 'for (int i = 0; i < 4; ++i) s.push(i);', language=CPP)
    stream = state.add_access('S')
    state.add_edge(push, 's', stream, None, dace.Memlet('S[0]', dynamic=True))
    state.add_edge(stream, None, state.add_write('A'), None, dace.Memlet('A[0:4]'))
    return sdfg


def pushes_numpy(A):
    A[:] = np.arange(4)


INPUTS = {
    'loops': dict(A=np.array([[1.0, 0.25, -3.0], [1.5, 2.5, 0.0]]), B=np.full((2, 3), 9.0), sums=np.zeros(2)),
    'medians': dict(A=np.array([[3.0, -1.0], [1.0, 5.0], [2.0, -4.0]]), columns=np.zeros(2), weighted=np.zeros(2)),
    'values': dict(z=np.array([1 + 2j]), w=np.zeros(1, np.complex128), n=np.array([3], np.int32), q=np.zeros(1, np.int64),
                   f=np.array([5.5], np.float32), g=np.zeros(1, np.float32), h=np.zeros(1, np.float32), flag=np.zeros(1, np.bool_)),
    'shared': dict(A=np.array([1.0, 2.0, -3.0, 0.5]), B=np.zeros(4), C=np.zeros(4)),
    'resolved': dict(A=np.array([1.0, 7.0, 2.0, 3.5]), total=np.ones(1), largest=np.zeros(1)),
    'pairs': dict(A=np.array([2.0, 5.0, 7.0, 3.0]), result=np.zeros(1)),
    'pushes': dict(A=np.zeros(4)),
    'lanes': dict(A=np.arange(8.0), B=np.zeros(8)),
}
