/* The method of conjugate gradients for the five-point Laplace operator with a zero boundary, so many steps from zero. */
#include "halo.h"

struct gradient {
    struct square square;
    int64_t steps;
    double *b, *x, *r, *p, *q, residual;
};

void *peer_create(int64_t n, int64_t steps, int64_t variant, const double *const *given)
{
    struct gradient *peer = malloc(sizeof *peer);
    if (peer == NULL)
        return NULL;
    square_init(&peer->square, n, variant);
    peer->steps = steps;
    peer->residual = 0.0;
    double **arrays[5] = {&peer->b, &peer->x, &peer->r, &peer->p, &peer->q};
    for (int k = 0; k < 5; k++) {
        *arrays[k] = square_zeros(&peer->square);
        if (*arrays[k] == NULL)
            return NULL;
    }
    square_take(&peer->square, peer->b, given[0]);
    return peer;
}

static double sum(double own)
{
    double all;
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static double begin(const struct gradient *peer)
{
    const double *restrict b = peer->b;
    double *restrict x = peer->x, *restrict r = peer->r, *restrict p = peer->p, square = 0.0;
    int64_t width = peer->square.width, columns = peer->square.columns;
    for (int64_t i = 1; i <= peer->square.rows; i++) {
#pragma omp simd reduction(+ : square)
        for (int64_t at = i * width + 1; at < i * width + 1 + columns; at++) {
            x[at] = 0.0;
            r[at] = b[at];
            p[at] = b[at];
            square += b[at] * b[at];
        }
    }
    return sum(square);
}

static double multiply(const struct gradient *peer)
{
    const double *restrict p = peer->p;
    double *restrict q = peer->q, curvature = 0.0;
    int64_t width = peer->square.width, columns = peer->square.columns;
    for (int64_t i = 1; i <= peer->square.rows; i++) {
#pragma omp simd reduction(+ : curvature)
        for (int64_t at = i * width + 1; at < i * width + 1 + columns; at++) {
            q[at] = 4.0 * p[at] - p[at - 1] - p[at + 1] - p[at - width] - p[at + width];
            curvature += p[at] * q[at];
        }
    }
    return sum(curvature);
}

static double advance(const struct gradient *peer, double alpha)
{
    const double *restrict p = peer->p, *restrict q = peer->q;
    double *restrict x = peer->x, *restrict r = peer->r, square = 0.0;
    int64_t width = peer->square.width, columns = peer->square.columns;
    for (int64_t i = 1; i <= peer->square.rows; i++) {
#pragma omp simd reduction(+ : square)
        for (int64_t at = i * width + 1; at < i * width + 1 + columns; at++) {
            x[at] += alpha * p[at];
            r[at] -= alpha * q[at];
            square += r[at] * r[at];
        }
    }
    return sum(square);
}

static void turn(const struct gradient *peer, double beta)
{
    const double *restrict r = peer->r;
    double *restrict p = peer->p;
    int64_t width = peer->square.width, columns = peer->square.columns;
    for (int64_t i = 1; i <= peer->square.rows; i++)
        for (int64_t at = i * width + 1; at < i * width + 1 + columns; at++)
            p[at] = r[at] + beta * p[at];
}

void peer_run(void *opaque)
{
    struct gradient *peer = opaque;
    double residual = begin(peer);
    for (int64_t t = 0; t < peer->steps; t++) {
        square_exchange(&peer->square, peer->p);
        double before = residual;
        residual = advance(peer, before / multiply(peer));
        turn(peer, residual / before);
    }
    peer->residual = residual;
}

void peer_results(const void *opaque, double *const *results)
{
    const struct gradient *peer = opaque;
    square_give(&peer->square, peer->x, results[0]);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    results[1][0] = rank == 0 ? peer->residual : 0.0;
}

void peer_destroy(void *opaque)
{
    struct gradient *peer = opaque;
    MPI_Type_free(&peer->square.column);
    free(peer->b);
    free(peer->x);
    free(peer->r);
    free(peer->p);
    free(peer->q);
    free(peer);
}
