#include <stdint.h>

void run(void *const *argument) {
    const double *restrict a = argument[0];
    double *restrict s = argument[1];
    int64_t n = *(int64_t *)argument[2];
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        double sum = 0.0;
        for (int64_t j = 0; j < n; j++) sum += a[i * n + j];
        s[i] = sum;
    }
}
