/* Runs of the program `through_host`, whose code of the host writes a transient that is copied to the device, with a scalar by value that
 * a command copies, and with results in memory of the host: T = A + 1 on the host, B = T + s on the device, H = B on the host. */

#include PROGRAM
#include "caller.h"

enum { N = 200, BYTES = N * 8 };

static double h[2][N], b[2][N], a[2][N];

int main(void) {
    open_caller();
    through_host_t *handle;
    CHECK(through_host_create(NULL, &handle) == 0);
    void *const x = make_stream(), *const y = make_stream();
    void *memory[2];
    double *of[2];
    for (int n = 0; n < 2; ++n) {
        memory[n] = make_memory(BYTES);
        of[n] = ADDRESS(through_host, handle, x, memory[n]);
    }
    for (int round = 0; round < 4; ++round) {
        set_order((unsigned)round);
        for (int i = 0; i < N; ++i) {
            a[0][i] = i + round;
            a[1][i] = 5 * i - round;
        }
        /* The host writes the transient of the second run while commands of the first one may not have begun. */
        CHECK(through_host_start(handle, x, a[0], of[0], h[0], SCALAR(2) N) == 0);
        CHECK(through_host_start(handle, y, a[1], of[1], h[1], SCALAR(3) N) == 0);
        take(x, b[0], memory[0], BYTES);
        take(y, b[1], memory[1], BYTES);
        finish(y);
        finish(x);
        for (int i = 0; i < N; ++i) {
            CHECK(b[0][i] == a[0][i] + 1 + ADDED(2) && h[0][i] == b[0][i]);
            CHECK(b[1][i] == a[1][i] + 1 + ADDED(3) && h[1][i] == b[1][i]);
        }
    }
    CHECK(through_host_wait(handle) == 0);
    through_host_destroy(handle);
    for (int n = 0; n < 2; ++n) {
        free_memory(memory[n]);
    }
    free_stream(x);
    free_stream(y);
    close_caller();
    return 0;
}
