/* Product of matrices by ScaLAPACK. The variant is the number of columns in a block; columns of blocks go around the ranks.
 *
 * ScaLAPACK stores matrices column by column, so this multiplies the transposed matrices in the other order: rows of the given ones
 * are distributed. */
#include "peer.h"

void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int columns);
void Cblacs_gridexit(int context);
int numroc_(const int *n, const int *block, const int *process, const int *source, const int *processes);
void descinit_(int *descriptor, const int *m, const int *n, const int *mb, const int *nb, const int *row, const int *column,
               const int *context, const int *leading, int *info);
void pdgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const double *alpha,
             const double *a, const int *ia, const int *ja, const int *desca, const double *b, const int *ib, const int *jb,
             const int *descb, const double *beta, double *c, const int *ic, const int *jc, const int *descc);

struct product {
    int n, block, ranks, rank, context, columns, descriptor[9];
    double *a, *b, *c;
};

/* The column of the whole matrix that is a column of this rank. */
static int64_t whole_column(const struct product *peer, int column)
{
    int64_t block = column / peer->block;
    return (block * peer->ranks + peer->rank) * peer->block + column % peer->block;
}

void *peer_create(int64_t n, int64_t steps, int64_t variant, const double *const *given)
{
    (void)steps;
    struct product *peer = malloc(sizeof *peer);
    if (peer == NULL)
        return NULL;
    MPI_Comm_size(MPI_COMM_WORLD, &peer->ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &peer->rank);
    peer->n = (int)n;
    peer->block = (int)variant;
    Cblacs_get(-1, 0, &peer->context);
    Cblacs_gridinit(&peer->context, "R", 1, peer->ranks);
    int zero = 0, info = 0;
    peer->columns = numroc_(&peer->n, &peer->block, &peer->rank, &zero, &peer->ranks);
    descinit_(peer->descriptor, &peer->n, &peer->n, &peer->block, &peer->block, &zero, &zero, &peer->context, &peer->n, &info);
    peer->a = zeros(n * peer->columns);
    peer->b = zeros(n * peer->columns);
    peer->c = zeros(n * peer->columns);
    if (info != 0 || !peer->a || !peer->b || !peer->c)
        return NULL;
    for (int column = 0; column < peer->columns; column++) {
        size_t bytes = (size_t)n * sizeof(double);
        memcpy(peer->a + column * n, given[0] + whole_column(peer, column) * n, bytes);
        memcpy(peer->b + column * n, given[1] + whole_column(peer, column) * n, bytes);
    }
    return peer;
}

void peer_run(void *opaque)
{
    struct product *peer = opaque;
    const double one = 1.0, zero = 0.0;
    const int first = 1, *n = &peer->n, *descriptor = peer->descriptor;
    pdgemm_("N", "N", n, n, n, &one, peer->b, &first, &first, descriptor, peer->a, &first, &first, descriptor, &zero, peer->c,
            &first, &first, descriptor);
}

void peer_results(const void *opaque, double *const *results)
{
    const struct product *peer = opaque;
    for (int column = 0; column < peer->columns; column++)
        memcpy(results[0] + whole_column(peer, column) * peer->n, peer->c + (int64_t)column * peer->n,
               (size_t)peer->n * sizeof(double));
}

void peer_destroy(void *opaque)
{
    struct product *peer = opaque;
    Cblacs_gridexit(peer->context);
    free(peer->a);
    free(peer->b);
    free(peer->c);
    free(peer);
}
