#include <stdint.h>

void run(void *const *argument) {
    const double *restrict l = argument[0], *restrict b = argument[1];
    double *restrict x = argument[2];
    int64_t n = *(int64_t *)argument[3];
    for (int64_t i = 0; i < n; i++) {
        double sum = b[i];
        for (int64_t j = 0; j < i; j++) sum -= l[i * n + j] * x[j];
        x[i] = sum / l[i * n + i];
    }
}
