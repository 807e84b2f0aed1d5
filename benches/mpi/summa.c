/* Product of matrices by SUMMA: panels of A travel along rows of the grid, panels of B along columns (van de Geijn and Watts, 1997).
 * BLAS multiplies within a rank. */
#include <cblas.h>

#include "peer.h"

enum { PANEL = 512 };

struct product {
    int64_t n, panel;
    int64_t top, left, rows, columns; /* of C, and of B's columns and A's rows */
    int grid[2], at[2];
    MPI_Comm row, column;
    double *a, *b, *c, *panel_of_a, *panel_of_b;
};

/* Both ends of panels lie in one part if parts are multiples of panels. */
static int64_t panel_of(int64_t n, const int grid[2])
{
    int64_t panel = PANEL;
    while (panel > 1 && (n % (panel * grid[0]) != 0 || n % (panel * grid[1]) != 0))
        panel--;
    return panel;
}

void *peer_create(int64_t n, int64_t steps, int64_t variant, const double *const *given)
{
    (void)steps;
    struct product *peer = malloc(sizeof *peer);
    if (peer == NULL)
        return NULL;
    grid_of(variant, peer->grid, peer->at);
    peer->n = n;
    peer->panel = panel_of(n, peer->grid);
    peer->top = part(0, n, peer->at[0], peer->grid[0]);
    peer->left = part(0, n, peer->at[1], peer->grid[1]);
    peer->rows = n / peer->grid[0];
    peer->columns = n / peer->grid[1];
    MPI_Comm_split(MPI_COMM_WORLD, peer->at[0], peer->at[1], &peer->row);
    MPI_Comm_split(MPI_COMM_WORLD, peer->at[1], peer->at[0], &peer->column);
    peer->a = zeros(peer->rows * peer->columns);
    peer->b = zeros(peer->rows * peer->columns);
    peer->c = zeros(peer->rows * peer->columns);
    peer->panel_of_a = zeros(peer->rows * peer->panel);
    peer->panel_of_b = zeros(peer->columns * peer->panel);
    if (!peer->a || !peer->b || !peer->c || !peer->panel_of_a || !peer->panel_of_b)
        return NULL;
    for (int64_t i = 0; i < peer->rows; i++) {
        size_t bytes = (size_t)peer->columns * sizeof(double);
        memcpy(peer->a + i * peer->columns, given[0] + (peer->top + i) * n + peer->left, bytes);
        memcpy(peer->b + i * peer->columns, given[1] + (peer->top + i) * n + peer->left, bytes);
    }
    return peer;
}

void peer_run(void *opaque)
{
    struct product *peer = opaque;
    int64_t rows = peer->rows, columns = peer->columns, panel = peer->panel;
    for (int64_t k = 0; k < peer->n; k += panel) {
        const double *a = peer->a + (k - peer->left), *b = peer->b + (k - peer->top) * columns;
        int64_t width = columns;
        if (peer->grid[1] > 1) {
            int owner = (int)(k / columns);
            for (int64_t i = 0; i < rows && owner == peer->at[1]; i++)
                memcpy(peer->panel_of_a + i * panel, a + i * columns, (size_t)panel * sizeof(double));
            MPI_Bcast(peer->panel_of_a, (int)(rows * panel), MPI_DOUBLE, owner, peer->row);
            a = peer->panel_of_a;
            width = panel;
        }
        if (peer->grid[0] > 1) {
            int owner = (int)(k / rows);
            double *buffer = owner == peer->at[0] ? peer->b + (k - peer->top) * columns : peer->panel_of_b;
            MPI_Bcast(buffer, (int)(columns * panel), MPI_DOUBLE, owner, peer->column);
            b = buffer;
        }
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)columns, (int)panel, 1.0, a, (int)width, b,
                    (int)columns, k == 0 ? 0.0 : 1.0, peer->c, (int)columns);
    }
}

void peer_results(const void *opaque, double *const *results)
{
    const struct product *peer = opaque;
    for (int64_t i = 0; i < peer->rows; i++)
        memcpy(results[0] + (peer->top + i) * peer->n + peer->left, peer->c + i * peer->columns,
               (size_t)peer->columns * sizeof(double));
}

void peer_destroy(void *opaque)
{
    struct product *peer = opaque;
    MPI_Comm_free(&peer->row);
    MPI_Comm_free(&peer->column);
    free(peer->a);
    free(peer->b);
    free(peer->c);
    free(peer->panel_of_a);
    free(peer->panel_of_b);
    free(peer);
}
