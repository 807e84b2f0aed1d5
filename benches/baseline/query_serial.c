#include <stdint.h>

static int64_t query(const float *restrict column, float *restrict selected, float threshold, int64_t n) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        if (column[i] > threshold) selected[count++] = column[i];
    return count;
}

void run(void *const *argument) {
    *(int64_t *)argument[3] = query(argument[0], argument[1], *(float *)argument[2], *(int64_t *)argument[4]);
}
