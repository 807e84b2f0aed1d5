/* One handle of the Jacobi program: its life, its results against plain loops, and its errors.
 * The exit status is the line of the first failed check. */
#include "jacobi2d.h"

#include <math.h>
#include <string.h>

#define CHECK(condition) do { if (!(condition)) return __LINE__ % 255 + 1; } while (0)
#define SIZE 24

static void sweep(int n, const double *from, double *to) {
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            to[i * n + j] = (from[i * n + j] + from[i * n + j - 1] + from[i * n + j + 1] + from[(i + 1) * n + j]
                             + from[(i - 1) * n + j]) / 5;
}

static void fill(double *field) {
    for (int p = 0; p < SIZE * SIZE; p++) field[p] = (p * 37) % 101 - 50;
}

static int agrees(const double *found, const double *expected) {
    /* Ten roundings of values up to 250 in each of twelve sweeps. */
    for (int p = 0; p < SIZE * SIZE; p++)
        if (!(fabs(found[p] - expected[p]) <= 12 * 10 * 250 * 2.3e-16)) return 0;
    return 1;
}

int main(void) {
    static double a[SIZE * SIZE], b[SIZE * SIZE], expected_a[SIZE * SIZE], expected_b[SIZE * SIZE];
    jacobi2d_config config;
    jacobi2d_t *handle = NULL;

    memset(&config, 0, sizeof config);
    config.size = sizeof config;
    config.num_threads = 2;
    CHECK(jacobi2d_create(&config, &handle) == JACOBI2D_SUCCESS);
    CHECK(handle != NULL);
    CHECK(strcmp(jacobi2d_error(handle), "") == 0);

    fill(a); fill(b); fill(expected_a); fill(expected_b);
    for (int t = 0; t < 6; t++) {
        sweep(SIZE, expected_a, expected_b);
        sweep(SIZE, expected_b, expected_a);
    }
    CHECK(jacobi2d_run(handle, a, b, SIZE, 2) == JACOBI2D_SUCCESS);
    CHECK(!agrees(a, expected_a));
    CHECK(jacobi2d_run(handle, a, b, SIZE, 4) == JACOBI2D_SUCCESS);
    CHECK(agrees(a, expected_a) && agrees(b, expected_b));

    /* A negative size is refused, explained, and forgotten by the next call; the arrays are untouched. */
    CHECK(jacobi2d_run(handle, a, b, -1, 1) == JACOBI2D_INVALID_ARGUMENT);
    CHECK(strstr(jacobi2d_error(handle), "N") != NULL);
    CHECK(agrees(a, expected_a) && agrees(b, expected_b));
    CHECK(jacobi2d_run(handle, a, b, 0, 1) == JACOBI2D_SUCCESS);
    CHECK(strcmp(jacobi2d_error(handle), "") == 0);
    jacobi2d_destroy(handle);

    /* Without a configuration, and without a handle. */
    CHECK(jacobi2d_create(NULL, &handle) == JACOBI2D_SUCCESS);
    fill(a); fill(b);
    CHECK(jacobi2d_run(handle, a, b, SIZE, 6) == JACOBI2D_SUCCESS);
    CHECK(agrees(a, expected_a) && agrees(b, expected_b));
    jacobi2d_destroy(handle);
    fill(a); fill(b);
    CHECK(jacobi2d(a, b, SIZE, 6) == JACOBI2D_SUCCESS);
    CHECK(agrees(a, expected_a) && agrees(b, expected_b));

    /* What is no configuration or no handle. */
    config.num_threads = -3;
    CHECK(jacobi2d_create(&config, &handle) == JACOBI2D_INVALID_CONFIGURATION);
    CHECK(handle == NULL);
    config.num_threads = 0;
    config.size = 1;
    CHECK(jacobi2d_create(&config, &handle) == JACOBI2D_INVALID_CONFIGURATION);
    CHECK(jacobi2d_run(NULL, a, b, SIZE, 1) == JACOBI2D_INVALID_ARGUMENT);
    jacobi2d_destroy(NULL);
    return 0;
}
