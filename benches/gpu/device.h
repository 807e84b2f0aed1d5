/* What `bench.py` needs of the device. It is compiled behind the source of each program, so that both have one runtime of CUDA. Each
 * function returns the error of CUDA, or the status of the program in `bench_run`. */
#ifndef SDFG_BENCH_DEVICE
#define SDFG_BENCH_DEVICE

static cudaEvent_t bench_begin, bench_end;

static int bench_finish() {
    const cudaError_t status = cudaStreamSynchronize(NULL);
    return status != cudaSuccess ? status : cudaGetLastError();
}

extern "C" {

const char *bench_message(int error) { return cudaGetErrorString((cudaError_t)error); }

int bench_open() {
    const cudaError_t status = cudaEventCreate(&bench_begin);
    return status != cudaSuccess ? status : cudaEventCreate(&bench_end);
}

int bench_close() {
    (void)cudaEventDestroy(bench_begin);
    (void)cudaEventDestroy(bench_end);
    return bench_finish();
}

int bench_allocate(void **memory, size_t bytes) {
    const cudaError_t status = cudaMallocAsync(memory, bytes, NULL);
    return status != cudaSuccess ? status : bench_finish();
}

int bench_free(void *memory) { return cudaFreeAsync(memory, NULL); }

/* The events of a time, between which the caller gives commands to the default stream. */
int bench_start() { return cudaEventRecord(bench_begin, NULL); }
int bench_stop(float *milliseconds) {
    cudaError_t status = cudaEventRecord(bench_end, NULL);
    if (status == cudaSuccess) {
        status = cudaEventSynchronize(bench_end);
    }
    return status != cudaSuccess ? status : cudaEventElapsedTime(milliseconds, bench_begin, bench_end);
}

/* Copies between any memories. */
int bench_copy(void *to, const void *from, size_t bytes) {
    const cudaError_t status = cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, NULL);
    return status != cudaSuccess ? status : bench_finish();
}
int bench_give_copy(void *to, const void *from, size_t bytes) { return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, NULL); }

/* Runs a program several times. */
int bench_run(int32_t (*start)(void *, void *, void **), void *handle, void **arguments, int count) {
    for (int at = 0; at < count; ++at) {
        const int32_t status = start(handle, NULL, arguments);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}
}

#endif
