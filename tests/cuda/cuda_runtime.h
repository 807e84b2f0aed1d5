/* A stand-in for the header of CUDA's runtime: kernels run on threads of this processor (`threads.h`), so that tests need no device.
 *
 * Commands of streams run in an order of their own (`streams.h`). Memory of the device is inaccessible outside of kernels and copies,
 * and before the stream that allocates it comes to that and behind its free, so that code that uses it then ends with a signal. It
 * begins with bytes that no test writes, and the process ends with a message if some is left at its end. Only what generated code
 * and `benches/gpu/device.h` use is here. */
#ifndef SDFG_CUDA_STAND_IN
#define SDFG_CUDA_STAND_IN

#include <sys/mman.h>

#include "streams.h"
#include "threads.h"

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInvalidConfiguration = 9, cudaErrorNotReady = 600 };
enum cudaMemcpyKind { cudaMemcpyDefault = 4 };
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold = 4 };
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2 };
typedef int cudaMemPool_t;
typedef StandInStream *cudaStream_t;
typedef StandInEvent *cudaEvent_t;

/* Memory of the device, and the last error. */
struct StandInPiece {
    void *memory;
    size_t bytes;
    /* Whether its stream has allocated it. */
    bool is_there;
    StandInPiece *next;
};
static StandInPiece *stand_in_pieces = NULL;
static pthread_mutex_t stand_in_lock = PTHREAD_MUTEX_INITIALIZER;
static cudaError_t stand_in_last = cudaSuccess;
static StandInStreams stand_in_streams;
static StandInStream *stand_in_default = NULL;
/* What fails: `record` or `wait` of events. */
static const char *stand_in_failing = "";

/* While it lives, memory of the device is accessible. */
struct StandInAccess {
    static void protect(int access) {
        for (const StandInPiece *piece = stand_in_pieces; piece != NULL; piece = piece->next) {
            if (piece->is_there) {
                mprotect(piece->memory, piece->bytes, access);
            }
        }
    }
    StandInAccess() { protect(PROT_READ | PROT_WRITE); }
    ~StandInAccess() { protect(PROT_NONE); }
};

/* When the program is unloaded, all memory of the device has been freed. */
static const struct StandInEnd {
    ~StandInEnd() {
        stand_in_streams.finish_all();
        if (stand_in_pieces != NULL) {
            fprintf(stderr, "memory of the device was not freed: %zu bytes\n", stand_in_pieces->bytes);
            abort();
        }
    }
} stand_in_end;

/* While it lives, the thread has the device. */
struct StandInTurn {
    StandInTurn() { pthread_mutex_lock(&stand_in_lock); }
    ~StandInTurn() { pthread_mutex_unlock(&stand_in_lock); }
    /* A stream, or the default one. */
    StandInStream *stream(cudaStream_t asked) const {
        if (stand_in_default == NULL) {
            stand_in_default = stand_in_streams.open(true);
        }
        return asked == NULL ? stand_in_default : asked;
    }
};

static inline const char *cudaGetErrorString(cudaError_t error) { return error == cudaSuccess ? "no error" : "an error of the stand-in for CUDA"; }
static inline cudaError_t cudaGetLastError() {
    const cudaError_t error = stand_in_last;
    stand_in_last = cudaSuccess;
    return error;
}
static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    const StandInTurn turn;
    *stream = stand_in_streams.open(false);
    return flags == cudaStreamNonBlocking ? cudaSuccess : cudaErrorInvalidValue;
}
static inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    const StandInTurn turn;
    stand_in_streams.close(stream);
    return cudaSuccess;
}
static inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    const StandInTurn turn;
    stand_in_streams.finish(turn.stream(stream));
    if (stream == NULL) {
        stand_in_streams.next_run();
    }
    return stand_in_last;
}
static inline cudaError_t cudaStreamQuery(cudaStream_t stream) {
    const StandInTurn turn;
    return turn.stream(stream)->first != NULL ? cudaErrorNotReady : stand_in_last;
}
static inline cudaError_t cudaDeviceSynchronize() {
    const StandInTurn turn;
    stand_in_streams.finish_all();
    return stand_in_last;
}
static inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
    *event = (cudaEvent_t)calloc(1, sizeof **event);
    return flags == cudaEventDisableTiming ? cudaSuccess : cudaErrorInvalidValue;
}
static inline cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, cudaEventDisableTiming); }
static inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
    free(event);
    return cudaSuccess;
}
static inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    const StandInTurn turn;
    if (strcmp(stand_in_failing, "record") == 0) {
        return cudaErrorInvalidValue;
    }
    stand_in_streams.record(turn.stream(stream), event);
    return cudaSuccess;
}
static inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    const StandInTurn turn;
    return strcmp(stand_in_failing, "wait") != 0 && stand_in_streams.wait(turn.stream(stream), event) ? cudaSuccess : cudaErrorInvalidValue;
}
static inline cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    const StandInTurn turn;
    if (event->last == NULL || strcmp(stand_in_failing, "wait") == 0) {
        return cudaErrorInvalidValue;
    }
    stand_in_streams.finish(event->last);
    return stand_in_last;
}
static inline cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end) {
    if (begin->last == NULL || end->last == NULL || !begin->last->is_done || !end->last->is_done) {
        return cudaErrorNotReady;
    }
    const timespec from = begin->last->time, to = end->last->time;
    *milliseconds = (float)((double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) * 1e-6);
    return cudaSuccess;
}
static inline cudaError_t cudaGetDevice(int *device) { *device = 0; return cudaSuccess; }
static inline cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int) { *pool = 0; return cudaSuccess; }
static inline cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *) { return cudaSuccess; }

static inline cudaError_t cudaMallocAsync(void **pointer, size_t bytes, cudaStream_t stream) {
    const size_t pages = (bytes + 4095) / 4096 * 4096;
    void *memory = mmap(NULL, pages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return cudaErrorMemoryAllocation;
    }
    StandInPiece *piece = (StandInPiece *)malloc(sizeof *piece);
    const StandInTurn turn;
    *piece = StandInPiece{ memory, pages, false, stand_in_pieces };
    stand_in_pieces = piece;
    stand_in_streams.add_work(turn.stream(stream), [piece] {
        mprotect(piece->memory, piece->bytes, PROT_READ | PROT_WRITE);
        /* Memory that no kernel writes has no zeros; of large pieces, only the first bytes take memory of this machine. */
        const size_t most = (size_t)1 << 26;
        memset(piece->memory, 0xa5, piece->bytes < most ? piece->bytes : most);
        mprotect(piece->memory, piece->bytes, PROT_NONE);
        piece->is_there = true;
    });
    *pointer = memory;
    return cudaSuccess;
}
static inline cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream) {
    const StandInTurn turn;
    StandInPiece *piece = stand_in_pieces;
    while (piece != NULL && piece->memory != pointer) {
        piece = piece->next;
    }
    if (piece == NULL) {
        return pointer == NULL ? cudaSuccess : cudaErrorInvalidValue;
    }
    stand_in_streams.add_work(turn.stream(stream), [piece] {
        StandInPiece **at = &stand_in_pieces;
        while (*at != piece) {
            at = &(*at)->next;
        }
        *at = piece->next;
        munmap(piece->memory, piece->bytes);
        free(piece);
    });
    return cudaSuccess;
}
static inline cudaError_t cudaFree(void *pointer) {
    (void)cudaDeviceSynchronize();
    const cudaError_t error = cudaFreeAsync(pointer, NULL);
    (void)cudaDeviceSynchronize();
    return error;
}
static inline cudaError_t cudaMallocHost(void **pointer, size_t bytes) {
    *pointer = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    return *pointer != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}
static inline cudaError_t cudaFreeHost(void *pointer) {
    free(pointer);
    return cudaSuccess;
}
static inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
    const StandInTurn turn;
    stand_in_streams.add_work(turn.stream(stream), [=] {
        const StandInAccess access;
        memcpy(to, from, bytes);
    });
    return cudaSuccess;
}
static inline cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind, cudaStream_t stream) {
    if (to_pitch < width || from_pitch < width) {
        return cudaErrorInvalidValue;
    }
    const StandInTurn turn;
    stand_in_streams.add_work(turn.stream(stream), [=] {
        const StandInAccess access;
        for (size_t row = 0; row < height; ++row) {
            memcpy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
        }
    });
    return cudaSuccess;
}

template <typename Body> static void stand_in_launch(cudaStream_t stream, dim3 blocks, dim3 threads, const Body &body) {
    const StandInTurn turn;
    stand_in_streams.add_work(turn.stream(stream), [=] {
        const StandInAccess access;
        if (!stand_in_run(blocks, threads, body)) {
            stand_in_last = cudaErrorInvalidConfiguration;
        }
    });
}

/* A kernel is given the values that its arguments have now. */
#define SDFG_LAUNCH(kernel, stream, blocks, threads, ...) stand_in_launch((stream), (blocks), (threads), [=] { kernel(__VA_ARGS__); })

#endif
