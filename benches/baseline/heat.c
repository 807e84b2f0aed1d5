#include <stdint.h>

static void step(const double *restrict from, double *restrict to, int64_t n) {
#pragma omp parallel for
    for (int64_t i = 1; i < n - 1; i++)
        for (int64_t j = 1; j < n - 1; j++)
            for (int64_t k = 1; k < n - 1; k++) {
                const double *c = from + (i * n + j) * n + k;
                to[(i * n + j) * n + k] = 0.4 * c[0] + 0.1 * (c[-n * n] + c[n * n] + c[-1] + c[1] + c[n] + c[-n]);
            }
}

void run(void *const *argument) {
    double *a = argument[0], *b = argument[1];
    int64_t n = *(int64_t *)argument[2], steps = *(int64_t *)argument[3];
    for (int64_t t = 0; t < steps; t++) {
        step(a, b, n);
        step(b, a, n);
    }
}
