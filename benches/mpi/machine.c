/* Bounds of the machine, measured on all ranks at once, and what a benchmark needs of MPI itself. All functions are collective. */
#include <cblas.h>

#include "peer.h"

enum { ROUNDS = 7 };

EXPORT void machine_barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

EXPORT double machine_largest(double own)
{
    double all;
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

/* Sums over ranks, in place. */
EXPORT void machine_sum(double *values, int64_t count)
{
    for (int64_t at = 0; at < count; at += 1 << 20) {
        int64_t left = count - at;
        MPI_Allreduce(MPI_IN_PLACE, values + at, (int)(left < 1 << 20 ? left : 1 << 20), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}

/* Seconds of the slowest rank since it began. */
static double since(double begin)
{
    return machine_largest(MPI_Wtime() - begin);
}

/* Bytes a second that move between memory and one rank in `to[i] = factor * from[i]`, with arrays of so many elements: 24 for each, as
 * lines are read before they are written. */
EXPORT double machine_bandwidth(int64_t count)
{
    double *from = zeros(count), *to = zeros(count), best = 0.0;
    for (int round = 0; round < ROUNDS && from != NULL && to != NULL; round++) {
        volatile double factor = 0.5;
        double scale = factor;
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        for (int64_t i = 0; i < count; i++)
            to[i] = scale * from[i];
        double rate = 24.0 * (double)count / since(begin);
        best = rate > best ? rate : best;
        from[round % count] = to[round % count];
    }
    free(from);
    free(to);
    return best;
}

/* Operations a second of one rank in a product of matrices of n by n. */
EXPORT double machine_operations(int64_t n)
{
    double *a = zeros(n * n), *b = zeros(n * n), *c = zeros(n * n), best = 0.0;
    for (int round = 0; round < ROUNDS && a != NULL && b != NULL && c != NULL; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, (int)n, (int)n, 1.0, a, (int)n, b, (int)n, 0.0, c, (int)n);
        double rate = 2.0 * (double)n * (double)n * (double)n / since(begin);
        best = rate > best ? rate : best;
    }
    free(a);
    free(b);
    free(c);
    return best;
}

/* Seconds in which neighbouring ranks exchange so many bytes; 0 for one rank. */
EXPORT double machine_exchange(int64_t bytes)
{
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int other = rank ^ 1;
    double best = 0.0;
    char *to = malloc((size_t)bytes), *from = calloc((size_t)bytes, 1);
    for (int round = 0; round < ROUNDS && ranks > 1 && to != NULL && from != NULL; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        if (other < ranks)
            for (int turn = 0; turn < 10; turn++)
                MPI_Sendrecv(from, (int)bytes, MPI_BYTE, other, 0, to, (int)bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
        double seconds = since(begin) / 10.0;
        best = best == 0.0 || seconds < best ? seconds : best;
    }
    free(to);
    free(from);
    return best;
}
