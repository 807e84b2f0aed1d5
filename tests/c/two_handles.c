/* Two threads run the Jacobi program on two handles at the same time, with different sizes; now and then the second one makes
 * a call that is refused, which the first must not notice. The exit status tells which thread failed. */
#define _POSIX_C_SOURCE 200112L
#include "jacobi2d.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 40, STEPS = 3 };

typedef struct {
    int size;
    int is_wrong_at_times;
    int failures;
} job;

static pthread_barrier_t start;

static void fill(int n, double *field) {
    for (int p = 0; p < n * n; p++) field[p] = (p * 37) % 101 - n;
}

static void sweep(int n, const double *from, double *to) {
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            to[i * n + j] = (from[i * n + j] + from[i * n + j - 1] + from[i * n + j + 1] + from[(i + 1) * n + j]
                             + from[(i - 1) * n + j]) / 5;
}

static void *work(void *argument) {
    job *self = (job *)argument;
    int n = self->size;
    size_t bytes = sizeof(double) * (size_t)n * (size_t)n;
    double *a = (double *)malloc(bytes), *b = (double *)malloc(bytes);
    double *expected_a = (double *)malloc(bytes), *expected_b = (double *)malloc(bytes);
    jacobi2d_config config;
    jacobi2d_t *handle = NULL;

    fill(n, expected_a);
    fill(n, expected_b);
    for (int t = 0; t < STEPS; t++) {
        sweep(n, expected_a, expected_b);
        sweep(n, expected_b, expected_a);
    }
    memset(&config, 0, sizeof config);
    config.size = sizeof config;
    config.num_threads = 2;
    self->failures += jacobi2d_create(&config, &handle) != JACOBI2D_SUCCESS;
    pthread_barrier_wait(&start);
    for (int round = 0; round < ROUNDS; round++) {
        fill(n, a);
        fill(n, b);
        self->failures += jacobi2d_run(handle, a, b, n, STEPS) != JACOBI2D_SUCCESS;
        /* Ten roundings of values up to 1000 in each of six sweeps. */
        for (int p = 0; p < n * n; p++)
            self->failures += !(fabs(a[p] - expected_a[p]) <= 6 * 10 * 1000 * 2.3e-16);
        if (self->is_wrong_at_times && round % 4 == 0) {
            self->failures += jacobi2d_run(handle, a, b, -n, STEPS) != JACOBI2D_INVALID_ARGUMENT;
            self->failures += jacobi2d_error(handle)[0] == 0;
        } else {
            self->failures += jacobi2d_error(handle)[0] != 0;
        }
    }
    jacobi2d_destroy(handle);
    free(a);
    free(b);
    free(expected_a);
    free(expected_b);
    return NULL;
}

int main(void) {
    job jobs[2] = {{40, 0, 0}, {23, 1, 0}};
    pthread_t threads[2];
    if (pthread_barrier_init(&start, NULL, 2) != 0) return 3;
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, work, &jobs[i]) != 0) return 4;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&start);
    return jobs[0].failures != 0 ? 1 : jobs[1].failures != 0 ? 2 : 0;
}
