/* Wrong calls of a distributed program, one for each first argument. Where all ranks learn of it, a right call follows. Returns 0 or
 * the line of the first check that failed. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jacobi2d.h"

enum { N = 20, T = 3 };

#define CHECK(condition)                                                                                          \
    do {                                                                                                          \
        if (!(condition)) {                                                                                       \
            fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #condition, handle ? jacobi2d_error(handle) : "");   \
            return __LINE__ % 256;                                                                                \
        }                                                                                                         \
    } while (0)

int main(int argc, char **argv)
{
    const char *mistake = argc > 1 ? argv[1] : "";
    static double a[N * N], b[N * N];
    jacobi2d_t *handle = NULL;
    if (strcmp(mistake, "library") == 0) {
        CHECK(jacobi2d_create(NULL, &handle) == JACOBI2D_COMMUNICATION && handle == NULL);
        CHECK(strstr(jacobi2d_error(NULL), "SDFG_MPI_LIBRARY") != NULL);
        return 0;
    }
    jacobi2d_config config = {.size = sizeof config, .communicator_kind = 7};
    CHECK(jacobi2d_create(&config, &handle) == JACOBI2D_INVALID_CONFIGURATION && handle == NULL);
    CHECK(jacobi2d_create(NULL, NULL) == JACOBI2D_INVALID_ARGUMENT);
    CHECK(jacobi2d_create(NULL, &handle) == JACOBI2D_SUCCESS);
    int64_t rank = jacobi2d_rank(handle);
    int is_wrong = rank == 2;
    CHECK(jacobi2d_local_extent(handle, "A", 2, N, T) == -1 && jacobi2d_local_extent(handle, "C", 0, N, T) == -1);
    CHECK(jacobi2d_run(NULL, a, b, N, T) == JACOBI2D_INVALID_ARGUMENT);
    if (strcmp(mistake, "symbols") == 0) {
        CHECK(jacobi2d_run(handle, a, b, is_wrong ? N - 1 : N, T) == JACOBI2D_INVALID_ARGUMENT);
        CHECK(strstr(jacobi2d_error(handle), "symbol `N` differs between rank 0 and rank 2") != NULL);
    } else if (strcmp(mistake, "null") == 0) {
        CHECK(jacobi2d_run(handle, is_wrong ? NULL : a, b, N, T) == JACOBI2D_INVALID_ARGUMENT);
        CHECK(strcmp(jacobi2d_error(handle), "rank 2: argument `A` is NULL") == 0);
        CHECK(jacobi2d_run_whole(handle, NULL, b, N, T) == JACOBI2D_INVALID_ARGUMENT);
        CHECK(strcmp(jacobi2d_error(handle), "rank 0: argument `A` is NULL") == 0);
    } else if (strcmp(mistake, "refused") == 0) {
        /* As callers of other languages do. */
        int32_t jacobi2d__invoke(jacobi2d_t *, void **);
        int64_t n = N, t = T;
        void *arguments[] = {a, b, &n, &t};
        CHECK(jacobi2d__invoke(handle, is_wrong ? NULL : arguments) == JACOBI2D_INVALID_ARGUMENT);
        CHECK(strcmp(jacobi2d_error(handle), "rank 2: the arguments were refused before the call") == 0);
    } else if (strcmp(mistake, "overlap") == 0) {
        /* Only the program of the rank finds it, and ends all. */
        jacobi2d_run(handle, a, is_wrong ? a : b, N, T);
        CHECK(0);
    } else if (strcmp(mistake, "memory") == 0) {
        CHECK(jacobi2d_run_whole(handle, a, b, INT64_C(1) << 28, T) == JACOBI2D_OUT_OF_MEMORY);
        CHECK(strstr(jacobi2d_error(handle), "no memory for ") != NULL);
    } else if (strcmp(mistake, "killed") == 0 && is_wrong) {
        raise(SIGKILL);
    }
    CHECK(jacobi2d_run(handle, a, b, N, T) == JACOBI2D_SUCCESS);
    CHECK(strcmp(jacobi2d_error(handle), "") == 0);
    jacobi2d_destroy(handle);
    return 0;
}
