/* Inner points of a square grid, cut over ranks, with one line of neighbours around each part. */
#ifndef HALO_H
#define HALO_H

#include "peer.h"

struct square {
    int64_t n, top, left, rows, columns; /* of the inner points that this rank has */
    int64_t width;                       /* of a line in memory: columns and two more */
    int around[4];                       /* ranks above, below, to the left and right */
    MPI_Datatype column;
};

static inline void square_init(struct square *square, int64_t n, int64_t variant)
{
    int grid[2], at[2];
    grid_of(variant, grid, at);
    square->n = n;
    square->top = part(1, n - 1, at[0], grid[0]);
    square->left = part(1, n - 1, at[1], grid[1]);
    square->rows = part(1, n - 1, at[0] + 1, grid[0]) - square->top;
    square->columns = part(1, n - 1, at[1] + 1, grid[1]) - square->left;
    square->width = square->columns + 2;
    int rank = at[0] * grid[1] + at[1];
    square->around[0] = at[0] > 0 ? rank - grid[1] : MPI_PROC_NULL;
    square->around[1] = at[0] + 1 < grid[0] ? rank + grid[1] : MPI_PROC_NULL;
    square->around[2] = at[1] > 0 ? rank - 1 : MPI_PROC_NULL;
    square->around[3] = at[1] + 1 < grid[1] ? rank + 1 : MPI_PROC_NULL;
    MPI_Type_vector((int)square->rows, 1, (int)square->width, MPI_DOUBLE, &square->column);
    MPI_Type_commit(&square->column);
}

static inline double *square_zeros(const struct square *square)
{
    return zeros((square->rows + 2) * square->width);
}

/* The part of a whole array with its neighbours. */
static inline void square_take(const struct square *square, double *own, const double *whole)
{
    for (int64_t i = 0; i < square->rows + 2; i++)
        memcpy(own + i * square->width, whole + (square->top - 1 + i) * square->n + square->left - 1,
               (size_t)square->width * sizeof(double));
}

/* The part without neighbours, but with the border of the whole array. */
static inline void square_give(const struct square *square, const double *own, double *whole)
{
    int64_t above = square->top == 1, below = square->top + square->rows == square->n - 1;
    int64_t left = square->left == 1, right = square->left + square->columns == square->n - 1;
    for (int64_t i = 1 - above; i < square->rows + 1 + below; i++)
        for (int64_t j = 1 - left; j < square->columns + 1 + right; j++)
            whole[(square->top - 1 + i) * square->n + square->left - 1 + j] = own[i * square->width + j];
}

/* Sends the outer lines of the part to the ranks around it, and receives theirs. */
static inline void square_exchange(const struct square *square, double *own)
{
    int64_t width = square->width, last = square->rows;
    int columns = (int)square->columns;
    MPI_Request requests[8];
    MPI_Irecv(own + 1, columns, MPI_DOUBLE, square->around[0], 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(own + (last + 1) * width + 1, columns, MPI_DOUBLE, square->around[1], 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Irecv(own + width, 1, square->column, square->around[2], 3, MPI_COMM_WORLD, &requests[2]);
    MPI_Irecv(own + width + columns + 1, 1, square->column, square->around[3], 2, MPI_COMM_WORLD, &requests[3]);
    MPI_Isend(own + width + 1, columns, MPI_DOUBLE, square->around[0], 0, MPI_COMM_WORLD, &requests[4]);
    MPI_Isend(own + last * width + 1, columns, MPI_DOUBLE, square->around[1], 1, MPI_COMM_WORLD, &requests[5]);
    MPI_Isend(own + width + 1, 1, square->column, square->around[2], 2, MPI_COMM_WORLD, &requests[6]);
    MPI_Isend(own + width + columns, 1, square->column, square->around[3], 3, MPI_COMM_WORLD, &requests[7]);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
}

#endif
