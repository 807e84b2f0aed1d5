#include <stdint.h>

static void step(const double *restrict from, double *restrict to, int64_t n) {
#pragma omp parallel for
    for (int64_t i = 1; i < n - 1; i++)
        for (int64_t j = 1; j < n - 1; j++)
            to[i * n + j] = from[i * n + j - 1] + from[i * n + j + 1] + from[(i + 1) * n + j] + from[(i - 1) * n + j] - 4.0 * from[i * n + j];
}

void run(void *const *argument) {
    double *a = argument[0];
    int64_t n = *(int64_t *)argument[1], steps = *(int64_t *)argument[2];
    for (int64_t t = 0; t < steps; t++) step(a + t % 2 * n * n, a + (t + 1) % 2 * n * n, n);
}
