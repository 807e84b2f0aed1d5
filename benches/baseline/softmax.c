#include <math.h>
#include <stdint.h>

void run(void *const *argument) {
    const float *restrict a = argument[0];
    float *restrict b = argument[1];
    int64_t n = *(int64_t *)argument[2];
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        float most = -1.0e38f, sum = 0.0f;
        for (int64_t j = 0; j < n; j++) most = fmaxf(most, a[i * n + j]);
        for (int64_t j = 0; j < n; j++) {
            b[i * n + j] = expf(a[i * n + j] - most);
            sum += b[i * n + j];
        }
        for (int64_t j = 0; j < n; j++) b[i * n + j] /= sum;
    }
}
