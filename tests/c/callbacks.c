/* Functions that the program calls, and one that ends a run.
 * The exit status is the line of the first failed check. */
#include <string.h>

#include "calls.h"

#define CHECK(condition) do { if (!(condition)) return __LINE__ % 255 + 1; } while (0)

static double seen[64];
static int n_seen;
static calls_t *handle;

static void keep(double x, const double *row, int64_t n) {
    seen[n_seen++] = x;
    for (int64_t k = 0; k < n; k++) seen[n_seen++] = row[k];
}

static double next_value(double x) {
    return x + 1;
}

static double stop_at_three(double x) {
    if (x >= 3) calls_stop(handle, "three is enough");
    return x;
}

static double stop(double x) {
    calls_stop(handle, NULL);
    return x;
}

int main(void) {
    const calls_keep_t given = keep;
    double A[3] = {1, 2, 3};
    CHECK(calls(A, 3, next_value, given) == CALLS_SUCCESS);
    CHECK(A[0] == 2 && A[1] == 3 && A[2] == 4);
    CHECK(n_seen == 4 && seen[0] == 4 && seen[1] == 2 && seen[2] == 3 && seen[3] == 4);

    CHECK(calls_create(NULL, &handle) == CALLS_SUCCESS);
    n_seen = 0;
    CHECK(calls_run(handle, A, 3, stop_at_three, keep) == CALLS_STOPPED);
    CHECK(strcmp(calls_error(handle), "three is enough") == 0);
    /* Nothing was called after it, and its result was not taken. */
    CHECK(n_seen == 0 && A[0] == 2 && A[1] == 3 && A[2] == 4);
    CHECK(calls_run(handle, A, 3, stop, keep) == CALLS_STOPPED && strlen(calls_error(handle)) > 0);
    CHECK(calls_run(handle, A, 3, next_value, keep) == CALLS_SUCCESS && A[2] == 5 && n_seen == 4);
    CHECK(strlen(calls_error(handle)) == 0);
    CHECK(calls_run(handle, A, 3, NULL, keep) == CALLS_INVALID_ARGUMENT);
    CHECK(strstr(calls_error(handle), "`next_value` is NULL") != NULL);
    calls_stop(NULL, NULL);
    calls_destroy(handle);
    return 0;
}
