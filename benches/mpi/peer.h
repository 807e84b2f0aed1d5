/* The interface of a program written by hand for MPI, and the parts of a grid that ranks have in it.
 *
 * Whole arrays are given and taken row by row, the same on every rank. All functions are collective. */
#ifndef PEER_H
#define PEER_H

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* The state of this rank for arrays of n by n elements and so many steps, with its part of the given arrays. `variant` selects one
 * of the ways to cut them. NULL without memory. */
EXPORT void *peer_create(int64_t n, int64_t steps, int64_t variant, const double *const *given);

/* Runs the program once. */
EXPORT void peer_run(void *peer);

/* Writes this rank's part of the results to whole arrays, which are zero elsewhere. */
EXPORT void peer_results(const void *peer, double *const *results);

EXPORT void peer_destroy(void *peer);

/* The first position of part k of c parts of the positions from begin to before end. */
static inline int64_t part(int64_t begin, int64_t end, int64_t k, int64_t c)
{
    return begin + k * (end - begin) / c;
}

/* The ranks as a grid of rows and columns: 0 is all rows, and 1 as square as possible, with more columns than rows. */
static inline void grid_of(int64_t variant, int grid[2], int at[2])
{
    int ranks, rank;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int square[2] = {0, 0};
    MPI_Dims_create(ranks, 2, square);
    grid[0] = variant == 0 ? ranks : square[1];
    grid[1] = variant == 0 ? 1 : square[0];
    at[0] = rank / grid[1];
    at[1] = rank % grid[1];
}

/* Zeros, on pages that this rank has touched. */
static inline double *zeros(int64_t count)
{
    void *memory = NULL;
    size_t bytes = (size_t)count * sizeof(double);
    if (posix_memalign(&memory, 64, bytes > 0 ? bytes : 64) != 0)
        return NULL;
    memset(memory, 0, bytes);
    return memory;
}

#endif
