/* Calls a distributed program on the ranks of a communicator: first with the parts of the ranks, then with whole arrays of
 * rank 0. Both have to give what a loop on one rank gives. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "jacobi2d.h"

enum { N = 37, T = 5 };

static double start(int64_t i, int64_t j)
{
    return (double)((7 * i + 3 * j) % 11);
}

/* The result without the program. */
static void reference(double *a, double *b)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[i * N + j] = b[i * N + j] = start(i, j);
    for (int t = 0; t < 2 * T; t++) {
        double *from = t % 2 == 0 ? a : b, *to = t % 2 == 0 ? b : a;
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                to[i * N + j] = 0.2 * (from[i * N + j] + from[i * N + j - 1] + from[i * N + j + 1] + from[(i + 1) * N + j]
                                       + from[(i - 1) * N + j]);
    }
}

static int differs(double a, double b)
{
    double difference = a > b ? a - b : b - a;
    return difference > 1e-12;
}

/* What the rank holds of an argument. */
static double *part(jacobi2d_t *handle, const char *argument, int64_t offset[2], int64_t extent[2])
{
    for (int d = 0; d < 2; d++) {
        offset[d] = jacobi2d_local_offset(handle, argument, d, N, T);
        extent[d] = jacobi2d_local_extent(handle, argument, d, N, T);
    }
    double *values = malloc((size_t)(extent[0] * extent[1] + 1) * sizeof *values);
    for (int64_t i = 0; values != NULL && i < extent[0]; i++)
        for (int64_t j = 0; j < extent[1]; j++)
            values[i * extent[1] + j] = start(offset[0] + i, offset[1] + j);
    return values;
}

/* The number of the rank's own elements that are wrong. */
static int wrong(jacobi2d_t *handle, const char *argument, const double *values, const double *expected)
{
    int64_t offset[2], extent[2], own[2], length[2];
    int n = 0;
    for (int d = 0; d < 2; d++) {
        offset[d] = jacobi2d_local_offset(handle, argument, d, N, T);
        extent[d] = jacobi2d_local_extent(handle, argument, d, N, T);
        own[d] = jacobi2d_own_offset(handle, argument, d, N, T);
        length[d] = jacobi2d_own_extent(handle, argument, d, N, T);
    }
    for (int64_t i = own[0]; i < own[0] + length[0]; i++)
        for (int64_t j = own[1]; j < own[1] + length[1]; j++)
            n += differs(values[(i - offset[0]) * extent[1] + j - offset[1]], expected[i * N + j]);
    return n;
}

static int run(MPI_Comm communicator)
{
    static double a[N * N], b[N * N], whole_a[N * N], whole_b[N * N];
    int64_t offset[2], extent[2];
    jacobi2d_config config = {.size = sizeof config, .communicator_kind = 1, .communicator = &communicator};
    jacobi2d_t *handle;
    if (jacobi2d_create(&config, &handle) != JACOBI2D_SUCCESS) {
        fprintf(stderr, "%s\n", jacobi2d_error(NULL));
        return 1;
    }
    reference(a, b);
    double *own_a = part(handle, "A", offset, extent), *own_b = part(handle, "B", offset, extent);
    int n = 0;
    /* The second run finds halos that other ranks have changed since: it takes them from their owners. */
    if (own_a == NULL || own_b == NULL || jacobi2d_run(handle, own_a, own_b, N, 2) != JACOBI2D_SUCCESS
        || jacobi2d_run(handle, own_a, own_b, N, T - 2) != JACOBI2D_SUCCESS) {
        fprintf(stderr, "%s\n", jacobi2d_error(handle));
        return 1;
    }
    n += wrong(handle, "A", own_a, a) + wrong(handle, "B", own_b, b);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            whole_a[i * N + j] = whole_b[i * N + j] = start(i, j);
    int is_first = jacobi2d_rank(handle) == 0;
    if (jacobi2d_run_whole(handle, is_first ? whole_a : NULL, is_first ? whole_b : NULL, N, T) != JACOBI2D_SUCCESS) {
        fprintf(stderr, "%s\n", jacobi2d_error(handle));
        return 1;
    }
    for (int k = 0; is_first && k < N * N; k++)
        n += differs(whole_a[k], a[k]) + differs(whole_b[k], b[k]);
    int all = 0;
    MPI_Allreduce(&n, &all, 1, MPI_INT, MPI_SUM, communicator);
    if (is_first)
        printf(all == 0 ? "jacobi2d on %d ranks: ok\n" : "jacobi2d on %d ranks: wrong\n", (int)jacobi2d_ranks(handle));
    free(own_a);
    free(own_b);
    jacobi2d_destroy(handle);
    return all != 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    /* The last rank of more than four does something else. */
    MPI_Comm some;
    MPI_Comm_split(MPI_COMM_WORLD, ranks > 4 && rank == ranks - 1, rank, &some);
    int status = ranks > 4 && rank == ranks - 1 ? 0 : run(some);
    MPI_Comm_free(&some);
    MPI_Finalize();
    return status;
}
