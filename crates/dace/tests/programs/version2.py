"""Programs of which only DaCe 2 makes graphs, as in programs.py."""
import dace
import numpy as np

N = dace.symbol('N')


@dace.program
def rolled(A: dace.float64[N, 4], B: dace.float64[N, 4], C: dace.float64[N, 4]):
    C[:] = np.where(A > B, np.roll(A, (1, -6), axis=(0, 1)), B) + np.broadcast_to(A[1, 0:1], (N, 4))
    for k in range(N):
        A[:] = np.roll(A, k, axis=0) + A


def rolled_numpy(A, B, C):
    C[:] = np.where(A > B, np.roll(A, (1, -6), axis=(0, 1)), B) + A[1, 0]
    for k in range(A.shape[0]):
        A[:] = np.roll(A, k, axis=0) + A


INPUTS = {
    'rolled': dict(A=np.arange(12.0).reshape(3, 4) * 7 % 12, B=np.arange(12.0).reshape(3, 4) * 5 % 12, C=np.zeros((3, 4))),
}
