/* A stand-in for the threads of a CUDA device: kernels run on threads of this processor, so that tests need no device.
 *
 * Blocks of a launch run on four threads, the threads of a block one after the other, in either direction, each up to its next
 * barrier: without a barrier that it needs, a block has other results. A barrier that not all threads of a block reach ends the
 * process with a message. Functions of warps gather the threads that wait at one of them: all, or every second one of a block with an
 * odd number, as devices promise nothing. Only what generated code uses is here. `cuda_runtime.h` uses it for programs of `nvcc`, and `nvrtc.cpp` for
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

/* A function of warps, whose threads meet there. */
enum StandInMeeting { StandInActive = -1, StandInMatch = -2, StandInShuffle = -3 };

/* A stack on which threads of a block run, and the line of the barrier at which the thread on it waits, or the function of warps; 0 if it
 * does not wait. */
struct StandInFibre {
    enum { StackBytes = 1 << 16 };
    ucontext_t context;
    char *stack;
    uint64_t thread;
    int line;
    /* At a function of warps: the threads that take part, the value and the lane that a thread passes, and the result. */
    unsigned mask, lane;
    uint64_t value, result;
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

/* A thread waits for others of its warp at a function. */
static inline __attribute__((noinline)) uint64_t stand_in_meet(StandInMeeting meeting, unsigned mask, uint64_t value, unsigned lane) {
    StandInFibre *const fibre = stand_in_block.current;
    fibre->mask = mask;
    fibre->value = value;
    fibre->lane = lane;
    fibre->line = meeting;
    swapcontext(&fibre->context, &stand_in_block.caller);
    return fibre->result;
}
static inline unsigned __activemask() { return (unsigned)stand_in_meet(StandInActive, 0, 0, 0); }
static inline unsigned __match_any_sync(unsigned mask, unsigned long long value) { return (unsigned)stand_in_meet(StandInMatch, mask, value, 0); }
static inline unsigned long long __shfl_sync(unsigned mask, unsigned long long value, int lane) { return stand_in_meet(StandInShuffle, mask, value, (unsigned)lane); }
/* The value of the thread that is so many lanes further, if there is one. */
template <typename T> static inline T __shfl_down_sync(unsigned mask, T value, unsigned distance) {
    const unsigned lane = (unsigned)(stand_in_block.current->thread % 32u), from = lane + distance;
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = stand_in_meet(StandInShuffle, mask, bits, from < 32u ? from : lane);
    memcpy(&value, &bits, sizeof value);
    return value;
}
static inline int __ffs(int value) { return __builtin_ffs(value); }
static inline int __popc(unsigned value) { return __builtin_popcount(value); }

/* Runs the thread on a fibre up to where it waits next. */
static inline void stand_in_resume(StandInFibre *fibre) {
    fibre->line = 0;
    stand_in_block.current = fibre;
    stand_in_block.become(fibre->thread);
    swapcontext(&stand_in_block.caller, &fibre->context);
}

/* The threads of a warp that wait at the same function as a thread does. */
struct StandInGroup {
    StandInFibre *fibres[32];
    unsigned n, present;

    StandInGroup(const StandInFibre *first, uint64_t waiting) : n(0), present(0) {
        for (uint64_t at = 0; at < waiting; ++at) {
            StandInFibre *const fibre = &stand_in_block.fibres[at];
            const bool is_left = first->line == StandInActive && blockIdx.x % 2 == 1 && n > 0 && fibre->thread % 2 != first->thread % 2;
            if (fibre->line == first->line && fibre->mask == first->mask && fibre->thread / 32 == first->thread / 32 && !is_left) {
                fibres[n++] = fibre;
                present |= 1u << (fibre->thread % 32);
            }
        }
    }
};

/* Lets threads of one warp go on that wait at the same function of warps, if some do; false if none does. Threads that have to meet
   others, which wait elsewhere, go on later. */
static inline bool stand_in_warp(uint64_t waiting) {
    const StandInFibre *first = NULL;
    unsigned present = 0;
    for (uint64_t at = 0; at < waiting; ++at) {
        const StandInFibre *const fibre = &stand_in_block.fibres[at];
        if (fibre->line >= 0) {
            continue;
        }
        const StandInGroup group(fibre, waiting);
        const int line = fibre->line;
        if (line != StandInActive && group.present != fibre->mask) {
            present = first == NULL ? group.present : present;
            first = first == NULL ? fibre : first;
            continue;
        }
        for (unsigned a = 0; a < group.n; ++a) {
            StandInFibre *const own = group.fibres[a];
            own->result = line == StandInActive ? group.present : 0;
            for (unsigned b = 0; b < group.n; ++b) {
                const StandInFibre *const other = group.fibres[b];
                if (line == StandInMatch && own->value == other->value) {
                    own->result |= 1u << (other->thread % 32);
                } else if (line == StandInShuffle && own->lane == other->thread % 32) {
                    own->result = other->value;
                }
            }
        }
        for (unsigned a = 0; a < group.n; ++a) {
            stand_in_resume(group.fibres[a]);
        }
        return true;
    }
    if (first != NULL) {
        fprintf(stderr, "threads %08x of a warp meet, where %08x have to\n", present, first->mask);
        abort();
    }
    return false;
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
    /* Threads that a warp has together go on first. Then all wait at one barrier, or none waits. A fibre whose threads are all done
     * waits no more. */
    for (const uint64_t fibres = waiting;;) {
        if (stand_in_warp(fibres)) {
            continue;
        }
        int line = 0;
        bool is_one = true;
        waiting = 0;
        for (uint64_t n = 0; n < fibres; ++n) {
            const int at = block.fibres[n].line;
            line = line == 0 ? at : line;
            is_one = is_one && (at == 0 || at == line);
            waiting += at != 0;
        }
        if (waiting == 0) {
            return;
        }
        if (!is_one || waiting != size) {
            fprintf(stderr, "%llu of %llu threads of block (%u, %u, %u) wait at the barrier in line %d\n", (unsigned long long)waiting, (unsigned long long)size, blockIdx.x, blockIdx.y, blockIdx.z, line);
            abort();
        }
        for (uint64_t n = 0; n < fibres; ++n) {
            stand_in_resume(&block.fibres[n]);
        }
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
