#include <stdint.h>
#include <string.h>

void run(void *const *argument) {
    const double *restrict a = argument[0];
    double *restrict s = argument[1];
    int64_t n = *(int64_t *)argument[2];
    memset(s, 0, (size_t)n * sizeof *s);
#pragma omp parallel for reduction(+ : s[:n])
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) s[j] += a[i * n + j];
}
