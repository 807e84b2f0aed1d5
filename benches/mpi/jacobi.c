/* Jacobi iteration with five points, so many times from A to B and back. */
#include "halo.h"

struct jacobi {
    struct square square;
    int64_t steps;
    double *a, *b;
};

void *peer_create(int64_t n, int64_t steps, int64_t variant, const double *const *given)
{
    struct jacobi *peer = malloc(sizeof *peer);
    if (peer == NULL)
        return NULL;
    square_init(&peer->square, n, variant);
    peer->steps = steps;
    peer->a = square_zeros(&peer->square);
    peer->b = square_zeros(&peer->square);
    if (peer->a == NULL || peer->b == NULL)
        return NULL;
    square_take(&peer->square, peer->a, given[0]);
    square_take(&peer->square, peer->b, given[1]);
    return peer;
}

static void sweep(const struct square *square, const double *restrict from, double *restrict to)
{
    int64_t width = square->width;
    for (int64_t i = 1; i <= square->rows; i++)
        for (int64_t j = 1; j <= square->columns; j++) {
            const double *at = from + i * width + j;
            to[i * width + j] = 0.2 * (at[0] + at[-1] + at[1] + at[width] + at[-width]);
        }
}

void peer_run(void *opaque)
{
    struct jacobi *peer = opaque;
    for (int64_t t = 0; t < peer->steps; t++) {
        square_exchange(&peer->square, peer->a);
        sweep(&peer->square, peer->a, peer->b);
        square_exchange(&peer->square, peer->b);
        sweep(&peer->square, peer->b, peer->a);
    }
}

void peer_results(const void *opaque, double *const *results)
{
    const struct jacobi *peer = opaque;
    square_give(&peer->square, peer->a, results[0]);
    square_give(&peer->square, peer->b, results[1]);
}

void peer_destroy(void *opaque)
{
    struct jacobi *peer = opaque;
    MPI_Type_free(&peer->square.column);
    free(peer->a);
    free(peer->b);
    free(peer);
}
