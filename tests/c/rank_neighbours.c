/* Rank 0 passes whole arrays, whose halos travel together, and checks the results. */

#include <mpi.h>
#include <stdio.h>

#include "neighbours.h"

enum { N = 9 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    neighbours_t *handle = NULL;
    if (neighbours_create(NULL, &handle) != 0)
        return 1;
    double a[3][N + 2], b[3][N + 2];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < N + 2; i++)
            a[k][i] = 10 * k + i * i, b[k][i] = -1;
    int is_first = neighbours_rank(handle) == 0;
    int32_t status = is_first ? neighbours_run_whole(handle, a[0], b[0], a[1], b[1], a[2], b[2], N)
                              : neighbours_run_whole(handle, NULL, NULL, NULL, NULL, NULL, NULL, N);
    if (status != 0) {
        fprintf(stderr, "%s\n", neighbours_error(handle));
        return 1;
    }
    int n_wrong = 0;
    for (int k = 0; k < 3 && is_first; k++)
        for (int i = 1; i <= N; i++)
            n_wrong += b[k][i] != a[k][i - 1] + 2 * a[k][i + 1] + k;
    neighbours_destroy(handle);
    MPI_Finalize();
    return n_wrong != 0;
}
