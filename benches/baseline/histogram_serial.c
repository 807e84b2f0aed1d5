#include <stdint.h>
#include <string.h>

static void histogram(const float *restrict image, int64_t *restrict bins, int64_t n) {
    memset(bins, 0, 256 * sizeof *bins);
    for (int64_t i = 0; i < n * n; i++) bins[(int64_t)(image[i] * 256.0f)]++;
}

void run(void *const *argument) { histogram(argument[0], argument[1], *(int64_t *)argument[2]); }
