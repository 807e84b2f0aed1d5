/* What callers are told of streams and kernels that fail. */

#include PROGRAM
#include "caller.h"

enum { N = 8, BYTES = N * 8 };

int main(void) {
    double memory[4][N] = { { 0 } };
    open_caller();
    started_t *handle;
    CHECK(started_create(NULL, &handle) == 0);
    CHECK(started_run(handle, memory[0], memory[1], memory[2], memory[3], N) == 0);
    /* A stream of another device, and a queue of another context than that of the first run. */
#ifdef CUDA_DRIVER
    void *other, *stream;
    CALL(cuDevicePrimaryCtxRetain, (void **, int), &other, 1);
    CALL(cuCtxPushCurrent_v2, (void *), other);
    stream = make_stream();
    void *const of_other = make_memory(BYTES);
#else
    void *const stream = make_stream();
#endif
    CHECK(started_start(handle, stream, memory[0], memory[1], memory[2], memory[3], N) == STARTED_DEVICE);
    CHECK(strstr(started_error(handle), "belongs to another") != NULL);
#ifdef CUDA_DRIVER
    /* Memory of another device. */
    CHECK(started_run(handle, memory[0], memory[1], (double *)of_other, memory[3], N) == STARTED_DEVICE);
    CHECK(strstr(started_error(handle), "`C` is memory of device 1 (Stand-in S90), and the program runs on device 0 (Stand-in S80)") != NULL);
    free_memory(of_other);
#endif
    /* The next run is as before. */
    CHECK(started_run(handle, memory[0], memory[1], memory[2], memory[3], N) == 0);
    CHECK(started_start(handle, NULL, memory[0], memory[1], memory[2], memory[3], N) == 0);
#ifdef CUDA_DRIVER
    free_stream(stream);
    CALL(cuCtxPopCurrent_v2, (void **), &other);
    /* A kernel that fails behind the call is an error of the wait. */
    void *on_device[4];
    for (int n = 0; n < 4; ++n) {
        on_device[n] = make_memory(BYTES);
    }
    stream = make_stream();
    CHECK(setenv("SDFG_STAND_IN", "kernel", 1) == 0);
    set_order(0);
    const int32_t started = started_start(handle, stream, (double *)on_device[0], (double *)on_device[1], (double *)on_device[2], (double *)on_device[3], N);
    CHECK(started == 0 && started_wait(handle) == STARTED_DEVICE);
    CHECK(strstr(started_error(handle), "illegal memory access") != NULL);
    for (int n = 0; n < 4; ++n) {
        free_memory(on_device[n]);
    }
    started_destroy(handle);
    free_stream(stream);
#else
    free_stream(stream);
    void *address = stream, *const foreign = make_memory(BYTES);
    CHECK(started_import(handle, NULL, foreign, &address) == STARTED_DEVICE && address == NULL);
    CHECK(strstr(started_error(handle), "another context") != NULL);
    free_memory(foreign);
    started_destroy(handle);
#endif
    close_caller();
#ifdef CUDA_DRIVER
    CALL(cuDevicePrimaryCtxRelease_v2, (int), 1);
#endif
    return 0;
}
