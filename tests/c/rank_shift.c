/* Runs a program twice on the same parts. It reads halos that its caller passes, and makes them stale for the next run. Then runs it on
 * arrays that rank 0 passes as a whole: others pass nothing. Returns 0 or the line of the first check that failed. */
#include <stdio.h>

#include "shift.h"

enum { N = 14 };

#define CHECK(condition)                                                                                       \
    do {                                                                                                       \
        if (!(condition)) {                                                                                    \
            fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #condition, shift_error(handle));                  \
            return __LINE__ % 256;                                                                             \
        }                                                                                                      \
    } while (0)

int main(void)
{
    double a[N], b[N], whole[N], all_a[N], all_b[N], w[2] = {5.0, 1.0};
    shift_t *handle = NULL;
    CHECK(shift_create(NULL, &handle) == SHIFT_SUCCESS);
    int64_t low = shift_local_offset(handle, "A", 0, N), extent = shift_local_extent(handle, "A", 0, N);
    int64_t own = shift_own_offset(handle, "A", 0, N), length = shift_own_extent(handle, "A", 0, N);
    for (int i = 0; i < N; i++)
        whole[i] = i * i;
    for (int64_t i = 0; i < extent; i++)
        a[i] = whole[low + i];
    for (int run = 0; run < 2; run++) {
        CHECK(shift_run(handle, a, b, w, N) == SHIFT_SUCCESS);
        for (int i = 0; i < N - 1; i++)
            whole[i] = whole[i + 1] + 1;
        for (int64_t i = own; i < own + length; i++)
            CHECK(a[i - low] == whole[i]);
    }
    int is_first = own == 0;
    for (int i = 0; i < N; i++)
        all_a[i] = whole[i];
    int32_t status = is_first ? shift_run_whole(handle, all_a, all_b, w, N) : shift_run_whole(handle, NULL, NULL, NULL, 0);
    CHECK(status == SHIFT_SUCCESS);
    for (int i = 0; is_first && i < N - 1; i++)
        CHECK(all_a[i] == whole[i + 1] + 1);
    shift_destroy(handle);
    return 0;
}
