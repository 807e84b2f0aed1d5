/* Runs of the program `single`, B = 2 A by one kernel in memory of the device, whose ends fail. No driver of OpenCL fails on request. */

#include PROGRAM
#include "caller.h"

enum { N = 100, BYTES = N * 8 };

int main(void) {
    static double a[N], b[N];
    for (int i = 0; i < N; ++i) {
        a[i] = i;
    }
    open_caller();
    single_t *handle;
    CHECK(single_create(NULL, &handle) == 0);
    void *const x = make_stream(), *const y = make_stream();
    void *memory[2];
    double *of[2];
    for (int n = 0; n < 2; ++n) {
        memory[n] = make_memory(BYTES);
        of[n] = ADDRESS(single, handle, x, memory[n]);
    }
    CHECK(single_start(handle, x, of[0], of[1], N) == 0);
    finish(x);
    set_order(0);
#ifndef OPENCL
    /* A run whose end cannot be recorded leaves no command under way. */
    set_failing("record");
    CHECK(single_start(handle, x, of[0], of[1], N) != 0 && is_ready(x));
    set_failing("");
    /* One run tells that its stream cannot wait for the run before; the next one has nothing to wait for. */
    CHECK(single_start(handle, x, of[0], of[1], N) == 0);
    set_failing("wait");
    CHECK(single_start(handle, x, of[0], of[1], N) != 0);
    CHECK(single_start(handle, x, of[0], of[1], N) == 0);
    set_failing("");
#endif
    give(y, memory[0], a, BYTES);
    CHECK(single_start(handle, y, of[0], of[1], N) == 0);
    take(y, b, memory[1], BYTES);
    finish(y);
    CHECK(single_wait(handle) == 0);
    for (int i = 0; i < N; ++i) {
        CHECK(b[i] == 2 * a[i]);
    }
    finish(x);
    single_destroy(handle);
    for (int n = 0; n < 2; ++n) {
        free_memory(memory[n]);
    }
    free_stream(x);
    free_stream(y);
    close_caller();
    return 0;
}
