/* Runs one handle of a distributed program again and again for so many seconds, on two sets of arrays in turn. Fails where the results
 * of two runs differ, or memory, requests or communicators grow. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counted_mpi.h"
#include "jacobi2d.h"

enum { N = 61, T = 5 };

/* Bytes by which the memory of a rank may grow after the first passes: MPI's own tables fill later, too. */
static const int64_t MOST = 1 << 20;

#define CHECK(condition)                                                                              \
    do {                                                                                              \
        if (!(condition)) {                                                                           \
            fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #condition, jacobi2d_error(handle));      \
            MPI_Abort(MPI_COMM_WORLD, 99);                                                            \
        }                                                                                             \
    } while (0)

static jacobi2d_t *handle;

/* Bytes of this process in memory. */
static int64_t resident(void)
{
    long size = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%ld %ld", &size, &pages) == 2);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

/* Elements of a rank's part of an argument. */
static int64_t length_of(const char *argument)
{
    return jacobi2d_local_extent(handle, argument, 0, N, T) * jacobi2d_local_extent(handle, argument, 1, N, T);
}

/* Sets a part to values that depend on the position in the whole. */
static void fill(const char *argument, double *part)
{
    int64_t offset[2], extent[2];
    for (int d = 0; d < 2; d++) {
        offset[d] = jacobi2d_local_offset(handle, argument, d, N, T);
        extent[d] = jacobi2d_local_extent(handle, argument, d, N, T);
    }
    for (int64_t i = 0; i < extent[0]; i++)
        for (int64_t j = 0; j < extent[1]; j++)
            part[i * extent[1] + j] = (double)((7 * (offset[0] + i) + 3 * (offset[1] + j)) % 11);
}

/* Whether two parts have equal bits in the elements that the rank owns. */
static int is_same(const char *argument, const double *one, const double *other)
{
    int64_t first[2], count[2], extent = jacobi2d_local_extent(handle, argument, 1, N, T);
    for (int d = 0; d < 2; d++) {
        first[d] = jacobi2d_own_offset(handle, argument, d, N, T) - jacobi2d_local_offset(handle, argument, d, N, T);
        count[d] = jacobi2d_own_extent(handle, argument, d, N, T);
    }
    for (int64_t i = first[0]; i < first[0] + count[0]; i++) {
        int64_t at = i * extent + first[1];
        if (memcmp(one + at, other + at, (size_t)count[1] * sizeof *one) != 0)
            return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double seconds = argc > 1 ? atof(argv[1]) : 1, start = MPI_Wtime(), told = start;
    CHECK(jacobi2d_create(NULL, &handle) == JACOBI2D_SUCCESS);
    int64_t bytes_a = length_of("A") * 8, bytes_b = length_of("B") * 8;
    double *a[3], *b[3];
    for (int set = 0; set < 3; set++) {
        a[set] = malloc((size_t)bytes_a + 1);
        b[set] = malloc((size_t)bytes_b + 1);
        CHECK(a[set] != NULL && b[set] != NULL);
    }
    /* Short runs are tests on machines that have other work. */
    int64_t warm = seconds > 10 ? 100 : 4, passes = 0, memory = 0, requests = 0, most = 0;
    /* All ranks end with the same pass. */
    for (int is_over = 0; !is_over; passes++) {
        /* Requests of other arrays are made anew. */
        int set = (int)(passes / 2 % 2);
        fill("A", a[set]);
        fill("B", b[set]);
        CHECK(jacobi2d_run(handle, a[set], b[set], N, T) == JACOBI2D_SUCCESS);
        if (passes == 0) {
            memcpy(a[2], a[0], (size_t)bytes_a);
            memcpy(b[2], b[0], (size_t)bytes_b);
            requests = n_requests;
        }
        CHECK(is_same("A", a[set], a[2]) && is_same("B", b[set], b[2]));
        CHECK(n_requests == requests && n_communicators == 1);
        if (passes == warm)
            memory = resident();
        if (passes > warm && passes % 100 == 0 && resident() - memory > most)
            most = resident() - memory;
        CHECK(most <= MOST);
        if (rank == 0 && MPI_Wtime() - told > 60) {
            told = MPI_Wtime();
            printf("%.0f s: %lld runs, rank 0 has %lld KiB\n", told - start, (long long)passes, (long long)(resident() >> 10));
            fflush(stdout);
        }
        is_over = passes > warm && MPI_Wtime() - start > seconds;
        MPI_Bcast(&is_over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (resident() - memory > most)
        most = resident() - memory;
    printf("rank %d: %lld runs, %lld requests, %lld KiB, then at most %lld KiB more\n", rank, (long long)passes,
           (long long)n_requests, (long long)(memory >> 10), (long long)(most >> 10));
    CHECK(most <= MOST && requests > 0);
    for (int set = 0; set < 3; set++) {
        free(a[set]);
        free(b[set]);
    }
    jacobi2d_destroy(handle);
    handle = NULL;
    CHECK(n_requests == 0 && n_communicators == 0);
    MPI_Finalize();
    return 0;
}
