/* A stand-in for the header of CUDA's runtime: kernels run on threads of this processor (`threads.h`), so that tests need no device.
 *
 * Memory of the device is inaccessible outside of kernels and copies, so that host code that uses it ends with a signal, and it
 * begins with bytes that no test writes. Only what generated code uses is here. */
#ifndef SDFG_CUDA_STAND_IN
#define SDFG_CUDA_STAND_IN

#include <sys/mman.h>

#include "threads.h"

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInvalidConfiguration = 9 };
enum cudaMemcpyKind { cudaMemcpyDefault = 4 };
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold = 4 };
typedef int cudaMemPool_t;

/* Memory of the device, and the last error. */
struct StandInPiece {
    void *memory;
    size_t bytes;
    StandInPiece *next;
};
static StandInPiece *stand_in_pieces = NULL;
static pthread_mutex_t stand_in_lock = PTHREAD_MUTEX_INITIALIZER;
static cudaError_t stand_in_last = cudaSuccess;

/* While it lives, memory of the device is accessible. */
struct StandInAccess {
    static void protect(int access) {
        for (const StandInPiece *piece = stand_in_pieces; piece != NULL; piece = piece->next) {
            mprotect(piece->memory, piece->bytes, access);
        }
    }
    StandInAccess() {
        pthread_mutex_lock(&stand_in_lock);
        protect(PROT_READ | PROT_WRITE);
    }
    ~StandInAccess() {
        protect(PROT_NONE);
        pthread_mutex_unlock(&stand_in_lock);
    }
};

static inline const char *cudaGetErrorString(cudaError_t error) { return error == cudaSuccess ? "no error" : "an error of the stand-in for CUDA"; }
static inline cudaError_t cudaGetLastError() {
    const cudaError_t error = stand_in_last;
    stand_in_last = cudaSuccess;
    return error;
}
static inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
static inline cudaError_t cudaGetDevice(int *device) { *device = 0; return cudaSuccess; }
static inline cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int) { *pool = 0; return cudaSuccess; }
static inline cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *) { return cudaSuccess; }

static inline cudaError_t cudaMallocAsync(void **pointer, size_t bytes, int) {
    const size_t pages = (bytes + 4095) / 4096 * 4096;
    void *memory = mmap(NULL, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return cudaErrorMemoryAllocation;
    }
    memset(memory, 0xa5, pages);
    mprotect(memory, pages, PROT_NONE);
    StandInPiece *piece = (StandInPiece *)malloc(sizeof *piece);
    pthread_mutex_lock(&stand_in_lock);
    *piece = StandInPiece{ memory, pages, stand_in_pieces };
    stand_in_pieces = piece;
    pthread_mutex_unlock(&stand_in_lock);
    *pointer = memory;
    return cudaSuccess;
}
static inline cudaError_t cudaFreeAsync(void *pointer, int) {
    pthread_mutex_lock(&stand_in_lock);
    StandInPiece **at = &stand_in_pieces;
    while (*at != NULL && (*at)->memory != pointer) {
        at = &(*at)->next;
    }
    StandInPiece *const piece = *at;
    if (piece != NULL) {
        *at = piece->next;
        munmap(piece->memory, piece->bytes);
        free(piece);
    }
    pthread_mutex_unlock(&stand_in_lock);
    return piece != NULL || pointer == NULL ? cudaSuccess : cudaErrorInvalidValue;
}
static inline cudaError_t cudaFree(void *pointer) { return cudaFreeAsync(pointer, 0); }
static inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind) {
    const StandInAccess access;
    memcpy(to, from, bytes);
    return cudaSuccess;
}
static inline cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind) {
    if (to_pitch < width || from_pitch < width) {
        return cudaErrorInvalidValue;
    }
    const StandInAccess access;
    for (size_t row = 0; row < height; ++row) {
        memcpy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
    }
    return cudaSuccess;
}

template <typename Body> static void stand_in_launch(dim3 blocks, dim3 threads, const Body &body) {
    const StandInAccess access;
    if (!stand_in_run(blocks, threads, body)) {
        stand_in_last = cudaErrorInvalidConfiguration;
    }
}

#define SDFG_LAUNCH(kernel, blocks, threads, ...) stand_in_launch((blocks), (threads), [&] { kernel(__VA_ARGS__); })

#endif
