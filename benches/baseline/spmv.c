#include <stdint.h>

static void spmv(const uint32_t *restrict row, const uint32_t *restrict column, const double *restrict value, const double *restrict x, double *restrict b, int64_t rows) {
#pragma omp parallel for
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0.0;
        for (int64_t j = row[i]; j < row[i + 1]; j++) sum += value[j] * x[column[j]];
        b[i] = sum;
    }
}

void run(void *const *argument) { spmv(argument[0], argument[1], argument[2], argument[3], argument[4], *(int64_t *)argument[5]); }
