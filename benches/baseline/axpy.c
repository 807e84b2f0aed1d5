#include <stdint.h>

static void axpy(const double *restrict x, double *restrict y, double a, int64_t n) {
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) y[i] = a * x[i] + y[i];
}

void run(void *const *argument) { axpy(argument[0], argument[1], *(double *)argument[2], *(int64_t *)argument[3]); }
