/* Memory bandwidth of a = b + s c. Each element moves 24 bytes, and 8 more if a cache line is read before it is written. */
#include <stdint.h>

void run(void *const *argument) {
    double *restrict a = argument[0];
    const double *restrict b = argument[1], *restrict c = argument[2];
    int64_t n = *(int64_t *)argument[3];
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) a[i] = b[i] + 3.0 * c[i];
}
