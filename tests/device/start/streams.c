/* Runs of the program `started` on streams of the caller: B = f(A) and D = f(C) with f(x)[i] = 2 x[N - 1 - i] + 1, in memory of the device. */

#include PROGRAM
#include "caller.h"

enum { N = 300, BYTES = N * 8 };

static double a[N], c[N], b[N], d[N];

static double once(const double *x, int i) { return 2 * x[N - 1 - i] + 1; }
static double twice(const double *x, int i) { return 2 * once(x, N - 1 - i) + 1; }

static bool is_done(double (*function)(const double *, int)) {
    bool is_right = true;
    for (int i = 0; i < N; ++i) {
        is_right &= b[i] == function(a, i) && d[i] == function(c, i);
    }
    return is_right;
}

static void begin(int round) {
    set_order((unsigned)round % 4);
    for (int i = 0; i < N; ++i) {
        a[i] = i + round;
        c[i] = 3 * i - round;
        b[i] = d[i] = -1;
    }
}

int main(void) {
    open_caller();
    started_t *handle;
    CHECK(started_create(NULL, &handle) == 0);
    CHECK(started_wait(handle) == 0);
    void *const x = make_stream(), *const y = make_stream();
    void *memory[6];
    double *of[6];
    for (int n = 0; n < 6; ++n) {
        memory[n] = make_memory(BYTES);
        of[n] = ADDRESS(started, handle, x, memory[n]);
        CHECK(of[n] == ADDRESS(started, handle, x, memory[n]));
    }
    bool returned_early = false, missing_order_shows = false;
    for (int round = 0; round < 4; ++round) {
        /* Commands of the caller come before the run and behind it. */
        begin(round);
        close_gate(x);
        give(x, memory[0], a, BYTES);
        give(x, memory[2], c, BYTES);
        CHECK(started_start(handle, x, of[0], of[1], of[2], of[3], N) == 0);
        take(x, b, memory[1], BYTES);
        take(x, d, memory[3], BYTES);
        returned_early |= !is_ready(x);
        open_gate();
        finish(x);
        CHECK(is_done(once));

        /* A second run in another stream follows the first one by the handle alone. The caller waits for the last one by the handle. */
        begin(round + 8);
        close_gate(x);
        give(x, memory[0], a, BYTES);
        give(x, memory[2], c, BYTES);
        CHECK(started_start(handle, x, of[0], of[1], of[2], of[3], N) == 0);
        CHECK(started_start(handle, y, of[1], of[4], of[3], of[5], N) == 0);
        open_gate();
        CHECK(started_wait(handle) == 0);
        take(x, b, memory[4], BYTES);
        take(x, d, memory[5], BYTES);
        finish(x);
        CHECK(is_done(twice));
        finish(y);

        /* Without an event between two streams of the caller, the run may come first. */
        begin(round + 20);
        close_gate(x);
        give(x, memory[0], a, BYTES);
        give(x, memory[2], c, BYTES);
        CHECK(started_start(handle, y, of[0], of[1], of[2], of[3], N) == 0);
        take(y, b, memory[1], BYTES);
        take(y, d, memory[3], BYTES);
        finish(y);
        missing_order_shows |= !is_done(once);
        open_gate();
        finish(x);

        /* With an order between the two, it does not; and what follows in the first stream comes behind the run. */
        begin(round + 30);
        close_gate(x);
        give(x, memory[0], a, BYTES);
        give(x, memory[2], c, BYTES);
        CHECK(started_follow(handle, y, x) == 0);
        CHECK(started_start(handle, y, of[0], of[1], of[2], of[3], N) == 0);
        CHECK(started_follow(handle, x, y) == 0);
        take(x, b, memory[1], BYTES);
        take(x, d, memory[3], BYTES);
        open_gate();
        finish(x);
        CHECK(is_done(once));
        finish(y);

        /* A run that the host waits for, on memory of the host, behind one that was started; and a started one, which gives the results back. */
        begin(round + 50);
        give(x, memory[0], a, BYTES);
        CHECK(started_start(handle, x, of[0], of[1], of[0], of[3], N) == 0);
        CHECK(started_run(handle, of[1], b, of[3], d, N) == 0);
        memcpy(c, a, BYTES);
        CHECK(is_done(twice));
#ifndef CUDA
        CHECK(started_start(handle, x, a, b, c, d, N) == 0);
        CHECK(is_done(once));
#endif
    }
    CHECK(returned_early && missing_order_shows);
    /* The end of a handle waits for a run. */
    begin(0);
    give(x, memory[0], a, BYTES);
    give(x, memory[2], c, BYTES);
    CHECK(started_start(handle, x, of[0], of[1], of[2], of[3], N) == 0);
    started_destroy(handle);
    take(x, b, memory[1], BYTES);
    take(x, d, memory[3], BYTES);
    finish(x);
    CHECK(is_done(once));
    CHECK(started_start(NULL, x, a, b, c, d, N) != 0 && started_wait(NULL) != 0 && started_follow(NULL, x, y) != 0);
    for (int n = 0; n < 6; ++n) {
        free_memory(memory[n]);
    }
    free_stream(x);
    free_stream(y);
    close_caller();
    return 0;
}
