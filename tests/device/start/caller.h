/* A caller with streams and memory of its own, for each way to a device. The macros CUDA, CUDA_DRIVER and OPENCL name the way.
 *
 * A gate holds back the commands of a stream: of OpenCL, by an event of the user; the stand-ins for CUDA do so in one of their orders. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number of the line is the exit status. */
#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

#ifdef CUDA

static void open_caller(void) {}
static void close_caller(void) {}
static void *make_stream(void) {
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    return stream;
}
static void free_stream(void *stream) { CHECK(cudaStreamDestroy((cudaStream_t)stream) == cudaSuccess); }
static void *make_memory(size_t bytes) {
    void *memory;
    CHECK(cudaMallocAsync(&memory, bytes, NULL) == cudaSuccess && cudaStreamSynchronize(NULL) == cudaSuccess);
    return memory;
}
static void free_memory(void *memory) { CHECK(cudaFree(memory) == cudaSuccess); }
static void give(void *stream, void *memory, const double *from, size_t bytes) {
    CHECK(cudaMemcpyAsync(memory, from, bytes, cudaMemcpyDefault, (cudaStream_t)stream) == cudaSuccess);
}
static void take(void *stream, double *to, void *memory, size_t bytes) {
    CHECK(cudaMemcpyAsync(to, memory, bytes, cudaMemcpyDefault, (cudaStream_t)stream) == cudaSuccess);
}
static bool is_ready(void *stream) { return cudaStreamQuery((cudaStream_t)stream) == cudaSuccess; }
static void finish(void *stream) { CHECK(cudaStreamSynchronize((cudaStream_t)stream) == cudaSuccess); }
/* The order of the next commands, one of four. */
static void set_order(unsigned order) { stand_in_streams.runs = order; }
static void close_gate(void *stream) { (void)stream; }
static void open_gate(void) {}
/* Functions of events fail from now on: `record`, `wait`, or none. */
static void set_failing(const char *word) { stand_in_failing = word; }

#else

#include <dlfcn.h>

static void *driver;
static void *function_of(const char *name) {
    void *const found = dlsym(driver, name);
    CHECK(found != NULL);
    return found;
}

#ifdef CUDA_DRIVER

#define CALL(name, parameters, ...) CHECK(((int (*) parameters)function_of(#name))(__VA_ARGS__) == 0)

static void *context;
static void open_caller(void) {
    driver = dlopen(CUDA_DRIVER, RTLD_NOW | RTLD_LOCAL);
    CHECK(driver != NULL);
    CALL(cuInit, (unsigned), 0);
    CALL(cuDevicePrimaryCtxRetain, (void **, int), &context, 0);
    CALL(cuCtxPushCurrent_v2, (void *), context);
}
static void close_caller(void) {
    CALL(cuCtxPopCurrent_v2, (void **), &context);
    CALL(cuDevicePrimaryCtxRelease_v2, (int), 0);
}
static void *make_stream(void) {
    void *stream;
    CALL(cuStreamCreate, (void **, unsigned), &stream, 1);
    return stream;
}
static void free_stream(void *stream) { CALL(cuStreamDestroy_v2, (void *), stream); }
static void *make_memory(size_t bytes) {
    uint64_t memory;
    CALL(cuMemAlloc_v2, (uint64_t *, size_t), &memory, bytes);
    return (void *)(uintptr_t)memory;
}
static void free_memory(void *memory) { CALL(cuMemFree_v2, (uint64_t), (uint64_t)(uintptr_t)memory); }
static void give(void *stream, void *memory, const double *from, size_t bytes) {
    CALL(cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, void *), (uint64_t)(uintptr_t)memory, from, bytes, stream);
}
static void take(void *stream, double *to, void *memory, size_t bytes) {
    CALL(cuMemcpyDtoHAsync_v2, (void *, uint64_t, size_t, void *), to, (uint64_t)(uintptr_t)memory, bytes, stream);
}
static bool is_ready(void *stream) { return ((int (*)(void *))function_of("cuStreamQuery"))(stream) == 0; }
static void finish(void *stream) { CALL(cuStreamSynchronize, (void *), stream); }
static void set_order(unsigned order) { ((void (*)(int, unsigned))function_of("standInSetOrder"))(0, order); }
static void close_gate(void *stream) { (void)stream; }
static void open_gate(void) {}
static void set_failing(const char *word) { CHECK(setenv("SDFG_STAND_IN", word, 1) == 0); }

#else

/* The functions of OpenCL that tests need; all objects are pointers. */
#define CALL(name, parameters, ...) CHECK(((int32_t (*) parameters)function_of(#name))(__VA_ARGS__) == 0)

static void *device, *context, *gate, *behind_gate;
static void open_caller(void) {
    void *platform;
    driver = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    CHECK(driver != NULL);
    CALL(clGetPlatformIDs, (uint32_t, void **, uint32_t *), 1, &platform, NULL);
    CALL(clGetDeviceIDs, (void *, uint64_t, uint32_t, void **, uint32_t *), platform, 0xffffffffu, 1, &device, NULL);
    int32_t error = 1;
    context = ((void *(*)(const intptr_t *, uint32_t, void **, void *, void *, int32_t *))function_of("clCreateContext"))(NULL, 1, &device, NULL, NULL, &error);
    CHECK(error == 0);
}
static void close_caller(void) { CALL(clReleaseContext, (void *), context); }
static void *make_stream(void) {
    int32_t error = 1;
    void *const queue = ((void *(*)(void *, void *, uint64_t, int32_t *))function_of("clCreateCommandQueue"))(context, device, 0, &error);
    CHECK(error == 0);
    return queue;
}
static void free_stream(void *stream) { CALL(clReleaseCommandQueue, (void *), stream); }
static void *make_memory(size_t bytes) {
    int32_t error = 1;
    void *const memory = ((void *(*)(void *, uint64_t, size_t, void *, int32_t *))function_of("clCreateBuffer"))(context, 1, bytes, NULL, &error);
    CHECK(error == 0);
    return memory;
}
static void free_memory(void *memory) { CALL(clReleaseMemObject, (void *), memory); }
static void give(void *stream, void *memory, const double *from, size_t bytes) {
    CALL(clEnqueueWriteBuffer, (void *, void *, uint32_t, size_t, size_t, const void *, uint32_t, void **, void **), stream, memory, 0, 0, bytes, from, 0, NULL, NULL);
}
static void take(void *stream, double *to, void *memory, size_t bytes) {
    CALL(clEnqueueReadBuffer, (void *, void *, uint32_t, size_t, size_t, void *, uint32_t, void **, void **), stream, memory, 0, 0, bytes, to, 0, NULL, NULL);
}
static void finish(void *stream) { CALL(clFinish, (void *), stream); }
static void set_order(unsigned order) { (void)order; }
static void close_gate(void *stream) {
    int32_t error = 1;
    gate = ((void *(*)(void *, int32_t *))function_of("clCreateUserEvent"))(context, &error);
    CHECK(error == 0);
    CALL(clEnqueueBarrierWithWaitList, (void *, uint32_t, void **, void **), stream, 1, &gate, &behind_gate);
}
static void open_gate(void) {
    CALL(clSetUserEventStatus, (void *, int32_t), gate, 0);
    CALL(clReleaseEvent, (void *), gate);
    CALL(clReleaseEvent, (void *), behind_gate);
    gate = NULL;
}
/* The gate is closed. */
static bool is_ready(void *stream) {
    (void)stream;
    return gate == NULL;
}

#endif
#endif

/* Memory of the device with an address for arguments. */
#define ADDRESS(name, handle, stream, memory) (address_of(name##_import(handle, stream, memory, &imported)))
static void *imported;
static double *address_of(int32_t status) {
    CHECK(status == 0);
    return (double *)imported;
}
