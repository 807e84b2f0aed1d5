/* A stand-in for the threads of a CUDA device: kernels run on threads of this processor, so that tests need no device.
 *
 * Blocks of a launch run on four threads, the threads of a block one after the other, in either direction, each up to its next
 * barrier: without a barrier that it needs, a block has other results. A barrier that not all threads of a block reach ends the
 * process with a message. Only what generated code uses is here. `cuda_runtime.h` uses it for programs of `nvcc`, and `nvrtc.cpp` for
 * kernels of the driver. */
#ifndef SDFG_CUDA_THREADS
#define SDFG_CUDA_THREADS

#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define __global__ __attribute__((noinline))
#define __device__
#define __host__
#define __shared__ static thread_local
#define __launch_bounds__(threads)
#define __syncthreads() stand_in_wait(__LINE__)

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

static thread_local dim3 blockIdx, blockDim, gridDim, threadIdx;

template <typename T> static inline T atomicAdd(T *place, T value) {
    T before = *(volatile T *)place, after;
    do {
        after = before + value;
    } while (!__atomic_compare_exchange(place, &before, &after, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return before;
}
template <typename T> static inline T atomicCAS(T *place, T expected, T desired) {
    __atomic_compare_exchange(place, &expected, &desired, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}

template <typename T> static inline T atomicExch(T *place, T value) { return __atomic_exchange_n(place, value, __ATOMIC_RELAXED); }
static inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

/* A stack on which threads of a block run, and the barrier at which the thread on it waits; 0 if none does. */
struct StandInFibre {
    enum { StackBytes = 1 << 16 };
    ucontext_t context;
    char *stack;
    uint64_t thread;
    int line;
};

/* A block whose threads run. A fibre runs one thread after the other; if one waits, another fibre goes on with the next ones. */
struct StandInBlock {
    ucontext_t caller;
    StandInFibre *fibres, *current;
    uint64_t size, next;
    bool is_reversed;
    void (*body)(const void *);
    const void *argument;

    void become(uint64_t thread) {
        threadIdx = dim3((unsigned)(thread % blockDim.x), (unsigned)(thread / blockDim.x % blockDim.y), (unsigned)(thread / blockDim.x / blockDim.y));
    }
    /* Runs the threads that no fibre ran yet. */
    void run_others() {
        while (next < size) {
            const uint64_t step = next++;
            current->thread = is_reversed ? size - 1 - step : step;
            become(current->thread);
            body(argument);
        }
    }
};
static thread_local StandInBlock stand_in_block;

static inline __attribute__((noinline)) void stand_in_wait(int line) {
    StandInFibre *const fibre = stand_in_block.current;
    fibre->line = line;
    swapcontext(&fibre->context, &stand_in_block.caller);
}
static inline void stand_in_fibre() { stand_in_block.run_others(); }

/* Runs all threads of a block. */
static inline void stand_in_run_block(bool is_reversed, uint64_t size, void (*body)(const void *), const void *argument) {
    StandInBlock &block = stand_in_block;
    block.size = size;
    block.next = 0;
    block.is_reversed = is_reversed;
    block.body = body;
    block.argument = argument;
    uint64_t waiting = 0;
    while (block.next < size) {
        StandInFibre *const fibre = block.current = &block.fibres[waiting];
        if (fibre->stack == NULL) {
            fibre->stack = (char *)malloc(StandInFibre::StackBytes);
        }
        fibre->line = 0;
        getcontext(&fibre->context);
        fibre->context.uc_stack.ss_sp = fibre->stack;
        fibre->context.uc_stack.ss_size = StandInFibre::StackBytes;
        fibre->context.uc_link = &block.caller;
        makecontext(&fibre->context, stand_in_fibre, 0);
        swapcontext(&block.caller, &fibre->context);
        waiting += fibre->line != 0;
    }
    /* All wait at one barrier, or none. A fibre whose threads are all done waits no more. */
    while (waiting > 0) {
        const int line = block.fibres[0].line;
        bool is_reached = waiting == size;
        for (uint64_t n = 0; n < waiting; ++n) {
            is_reached = is_reached && block.fibres[n].line == line;
        }
        if (!is_reached) {
            fprintf(stderr, "%llu of %llu threads of block (%u, %u, %u) wait at the barrier in line %d\n", (unsigned long long)waiting, (unsigned long long)size, blockIdx.x, blockIdx.y, blockIdx.z, line);
            abort();
        }
        uint64_t left = 0;
        for (uint64_t n = 0; n < size; ++n) {
            StandInFibre *const fibre = block.current = &block.fibres[n];
            fibre->line = 0;
            block.become(fibre->thread);
            swapcontext(&block.caller, &fibre->context);
            left += fibre->line != 0;
        }
        if (left != 0 && left != size) {
            fprintf(stderr, "%llu of %llu threads of block (%u, %u, %u) reach no further barrier\n", (unsigned long long)(size - left), (unsigned long long)size, blockIdx.x, blockIdx.y, blockIdx.z);
            abort();
        }
        waiting = left;
    }
}

/* The share of a launch of one of the threads that run it. */
template <typename Body> struct StandInWorker {
    enum { Count = 4 };
    const Body *body;
    dim3 blocks, threads;
    uint64_t number;
    static void call(const void *body) { (*(const Body *)body)(); }
    static void *run(void *argument) {
        const StandInWorker &my = *(const StandInWorker *)argument;
        const dim3 blocks = my.blocks, threads = my.threads;
        const uint64_t size = (uint64_t)threads.x * threads.y * threads.z, n_blocks = (uint64_t)blocks.x * blocks.y * blocks.z;
        gridDim = blocks;
        blockDim = threads;
        StandInFibre *const fibres = stand_in_block.fibres = (StandInFibre *)calloc(size, sizeof(StandInFibre));
        for (uint64_t block = my.number; block < n_blocks; block += Count) {
            blockIdx = dim3((unsigned)(block % blocks.x), (unsigned)(block / blocks.x % blocks.y), (unsigned)(block / blocks.x / blocks.y));
            stand_in_run_block(my.number % 2 == 1, size, call, my.body);
        }
        for (uint64_t n = 0; n < size; ++n) {
            free(fibres[n].stack);
        }
        free(fibres);
        return NULL;
    }
};

/* Runs the blocks of a launch; false if no device has such a grid. */
template <typename Body> static bool stand_in_run(dim3 blocks, dim3 threads, const Body &body) {
    const uint64_t size = (uint64_t)threads.x * threads.y * threads.z, n_blocks = (uint64_t)blocks.x * blocks.y * blocks.z;
    if (size == 0 || size > 1024 || threads.z > 64 || n_blocks == 0 || blocks.x > 2147483647u || blocks.y > 65535u || blocks.z > 65535u) {
        return false;
    }
    StandInWorker<Body> workers[StandInWorker<Body>::Count];
    pthread_t running[StandInWorker<Body>::Count];
    for (uint64_t number = 0; number < StandInWorker<Body>::Count; ++number) {
        workers[number] = StandInWorker<Body>{ &body, blocks, threads, number };
        if (pthread_create(&running[number], NULL, StandInWorker<Body>::run, &workers[number]) != 0) {
            abort();
        }
    }
    for (pthread_t thread : running) {
        pthread_join(thread, NULL);
    }
    return true;
}

#endif
