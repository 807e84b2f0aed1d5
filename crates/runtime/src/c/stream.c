/* Streams: arrays of queues, first in, first out, that any number of threads use at once.
 *
 * A queue is a ring of a power of two elements under a lock of its own. The lock spins: it is held for a copy of a few bytes, or for the
 * growth of the ring, whose cost is spread over the elements. A queue without a bound doubles; one with a bound never holds more.
 */
#include "runtime.h"
#include "task.h"

#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct {
    char *ring;
    int64_t capacity; /* elements of the ring: a power of two, or none yet */
    int64_t head;     /* position of the oldest element in the ring */
    int64_t length;
    int32_t locked;
} __attribute__((aligned(64))) queue_t; /* a cache line each: neighbours are used by different threads */

/* What generated code knows of it: a queue that nobody takes from begins at the start of its ring. */
_Static_assert(offsetof(queue_t, capacity) == 8 && offsetof(queue_t, head) == 16 && offsetof(queue_t, length) == 24, "crates/codegen/src/llvm/stream.rs");

struct sdfg_stream {
    int64_t queues;
    int64_t bound;
    int64_t bytes;
    queue_t queue[];
};

static inline void pause_cpu(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static inline void lock(queue_t *queue) {
    for (int tries = 0; __atomic_exchange_n(&queue->locked, 1, __ATOMIC_ACQUIRE) != 0;) {
        while (__atomic_load_n(&queue->locked, __ATOMIC_RELAXED) != 0) {
            /* The holder may wait for this very processor. */
            if (++tries % 64 == 0) sched_yield();
            else pause_cpu();
        }
    }
}

static inline void unlock(queue_t *queue) { __atomic_store_n(&queue->locked, 0, __ATOMIC_RELEASE); }

/* Lengths are also read without the lock. */
static inline void set_length(queue_t *queue, int64_t length) { __atomic_store_n(&queue->length, length, __ATOMIC_RELAXED); }
static inline int64_t length_of(const queue_t *queue) { return __atomic_load_n(&queue->length, __ATOMIC_RELAXED); }

static inline char *slot(const sdfg_stream *stream, const queue_t *queue, int64_t position) {
    return queue->ring + ((queue->head + position) & (queue->capacity - 1)) * stream->bytes;
}

static inline void copy_element(void *to, const void *from, int64_t bytes) {
    /* Sizes that are known become single moves. */
    switch (bytes) {
    case 1: memcpy(to, from, 1); return;
    case 2: memcpy(to, from, 2); return;
    case 4: memcpy(to, from, 4); return;
    case 8: memcpy(to, from, 8); return;
    default: memcpy(to, from, (size_t)bytes);
    }
}

/* Memory that is about to be touched for the first time costs a fault for each page. */
static void prefer_huge_pages(char *memory, int64_t size) {
    if (size < 4 << 20) return;
    uintptr_t page = 4096, first = ((uintptr_t)memory + page - 1) & ~(page - 1);
    madvise((void *)first, ((uintptr_t)memory + (uintptr_t)size - first) & ~(page - 1), MADV_HUGEPAGE);
}

/* Makes room for `more` elements; false without memory. */
static int grow(const sdfg_stream *stream, queue_t *queue, int64_t more) {
    int64_t needed, capacity = queue->capacity ? queue->capacity : 16;
    if (__builtin_add_overflow(queue->length, more, &needed)) return 0;
    while (capacity < needed)
        if (__builtin_mul_overflow(capacity, 2, &capacity)) return 0;
    if (capacity == queue->capacity) return 1;
    int64_t size;
    if (__builtin_mul_overflow(capacity, stream->bytes, &size)) return 0;
    if (queue->head + queue->length <= queue->capacity && queue->head == 0) {
        /* The elements lie from the start on: large memory is moved by its page table alone. */
        char *longer = realloc(queue->ring, (size_t)size);
        if (!longer) return 0;
        queue->ring = longer;
        queue->capacity = capacity;
        prefer_huge_pages(longer, size);
        return 1;
    }
    char *ring = malloc((size_t)size);
    if (!ring) return 0;
    int64_t first = queue->capacity - queue->head; /* up to the end of the old ring */
    if (first > queue->length) first = queue->length;
    if (queue->length > 0) {
        memcpy(ring, queue->ring + queue->head * stream->bytes, (size_t)(first * stream->bytes));
        memcpy(ring + first * stream->bytes, queue->ring, (size_t)((queue->length - first) * stream->bytes));
    }
    free(queue->ring);
    queue->ring = ring;
    queue->capacity = capacity;
    queue->head = 0;
    return 1;
}

static void put(const sdfg_stream *stream, queue_t *queue, const char *from, int64_t count, int64_t stride) {
    if (stride == stream->bytes && count > 1) {
        int64_t place = (queue->head + queue->length) & (queue->capacity - 1), first = queue->capacity - place;
        if (first > count) first = count;
        memcpy(queue->ring + place * stream->bytes, from, (size_t)(first * stream->bytes));
        memcpy(queue->ring, from + first * stream->bytes, (size_t)((count - first) * stream->bytes));
    } else {
        for (int64_t k = 0; k < count; k++) copy_element(slot(stream, queue, queue->length + k), from + k * stride, stream->bytes);
    }
    set_length(queue, queue->length + count);
}

static void get(const sdfg_stream *stream, queue_t *queue, char *to, int64_t count, int64_t stride) {
    if (count == 1) {
        copy_element(to, slot(stream, queue, 0), stream->bytes);
    } else if (stride == stream->bytes) {
        int64_t first = queue->capacity - queue->head;
        if (first > count) first = count;
        if (count > 0) {
            memcpy(to, slot(stream, queue, 0), (size_t)(first * stream->bytes));
            memcpy(to + first * stream->bytes, queue->ring, (size_t)((count - first) * stream->bytes));
        }
    } else {
        for (int64_t k = 0; k < count; k++) copy_element(to + k * stride, slot(stream, queue, k), stream->bytes);
    }
    queue->head = (queue->head + count) & (queue->capacity - 1);
    set_length(queue, queue->length - count);
}

_Static_assert(offsetof(sdfg_stream, queue) == 64, "crates/codegen/src/llvm/stream.rs");

sdfg_stream *sdfg_stream_open(int64_t queues, int64_t bound, int64_t bytes) {
    int64_t size;
    if (queues < 0) queues = 0;
    if (__builtin_mul_overflow(queues, (int64_t)sizeof(queue_t), &size)) return NULL;
    if (__builtin_add_overflow(size, (int64_t)(sizeof(sdfg_stream) + 127), &size)) return NULL;
    size = size / 64 * 64; /* aligned_alloc wants a multiple of the alignment */
    sdfg_stream *stream = aligned_alloc(64, (size_t)size);
    if (!stream) return NULL;
    memset(stream, 0, (size_t)size);
    stream->queues = queues;
    stream->bound = bound;
    stream->bytes = bytes;
    return stream;
}

void sdfg_stream_close(sdfg_stream *stream) {
    if (!stream) return;
    for (int64_t q = 0; q < stream->queues; q++) free(stream->queue[q].ring);
    free(stream);
}

int32_t sdfg_stream_receive(sdfg_stream *stream, const sdfg_queue *given) {
    queue_t *queue = &stream->queue[0];
    if (given->count == 0) return SDFG_SUCCESS;
    if (given->count < 0 || !given->elements) return SDFG_INVALID_ARGUMENT;
    if (!grow(stream, queue, given->count)) return SDFG_OUT_OF_MEMORY;
    put(stream, queue, given->elements, given->count, stream->bytes);
    return SDFG_SUCCESS;
}

int32_t sdfg_stream_reserve(const sdfg_stream *stream, sdfg_queue *given) {
    int64_t count = length_of(&stream->queue[0]);
    if (count <= given->count) return SDFG_SUCCESS;
    void *longer = realloc(given->elements, (size_t)(count * stream->bytes));
    if (!longer) return SDFG_OUT_OF_MEMORY;
    given->elements = longer;
    return SDFG_SUCCESS;
}

void sdfg_stream_hand_back(const sdfg_stream *stream, sdfg_queue *given) {
    queue_t queue = stream->queue[0];
    int64_t count = queue.length;
    if (count > 0) get(stream, &queue, given->elements, count, stream->bytes);
    given->count = count;
}

int32_t sdfg_stream_push(sdfg_stream *stream, int64_t number, const void *from, int64_t count, int64_t stride, sdfg_task *task) {
    queue_t *queue = &stream->queue[number];
    const char *next = from;
    if (count == 1) {
        lock(queue);
        if (queue->length < queue->capacity && (stream->bound < 0 || queue->length < stream->bound)) {
            copy_element(slot(stream, queue, queue->length), from, stream->bytes);
            set_length(queue, queue->length + 1);
            unlock(queue);
            return SDFG_SUCCESS;
        }
        unlock(queue);
    }
    while (count > 0) {
        lock(queue);
        int64_t room = stream->bound < 0 ? count : stream->bound - queue->length;
        if (room > count) room = count;
        if (room > 0) {
            if (queue->length + room > queue->capacity && !grow(stream, queue, room)) {
                unlock(queue);
                return SDFG_OUT_OF_MEMORY;
            }
            put(stream, queue, next, room, stride);
            next += room * stride;
            count -= room;
        }
        unlock(queue);
        if (count > 0 && !sdfg_task_await(task, (sdfg_wait){SDFG_WAIT_BELOW, &queue->length, stream->bound, 0})) return SDFG_TRAP;
    }
    return SDFG_SUCCESS;
}

int64_t sdfg_stream_take(sdfg_stream *stream, int64_t number, void *to, int64_t most, int64_t stride) {
    queue_t *queue = &stream->queue[number];
    lock(queue);
    int64_t count = queue->length < most ? queue->length : most;
    if (count > 0) get(stream, queue, to, count, stride);
    unlock(queue);
    return count > 0 ? count : 0;
}

int32_t sdfg_stream_pop(sdfg_stream *stream, int64_t number, void *to, int64_t count, int64_t stride, sdfg_task *task) {
    char *next = to;
    while (count > 0) {
        int64_t taken = sdfg_stream_take(stream, number, next, count, stride);
        next += taken * stride;
        count -= taken;
        if (count > 0 && !sdfg_task_await(task, (sdfg_wait){SDFG_WAIT_ABOVE, &stream->queue[number].length, 0, 0})) return SDFG_TRAP;
    }
    return SDFG_SUCCESS;
}

int64_t sdfg_stream_length(const sdfg_stream *stream, int64_t queue) { return length_of(&stream->queue[queue]); }

int32_t sdfg_stream_grow(sdfg_stream *stream) { return grow(stream, &stream->queue[0], 1) ? SDFG_SUCCESS : SDFG_OUT_OF_MEMORY; }

int32_t sdfg_stream_append(sdfg_stream *to, sdfg_stream *from) {
    for (int64_t q = 0; q < from->queues; q++) {
        queue_t *source = &from->queue[q], *target = &to->queue[q];
        if (source->length == 0) continue;
        lock(target);
        if (target->length == 0) {
            /* Nothing is in front of them: the rings change places. */
            queue_t old = *target;
            target->ring = source->ring;
            target->capacity = source->capacity;
            target->head = source->head;
            set_length(target, source->length);
            source->ring = old.ring;
            source->capacity = old.capacity;
            source->head = 0;
            source->length = 0;
        } else {
            if (!grow(to, target, source->length)) {
                unlock(target);
                return SDFG_OUT_OF_MEMORY;
            }
            while (source->length > 0) {
                /* The part of the ring up to its end. */
                int64_t run = source->capacity - source->head;
                if (run > source->length) run = source->length;
                put(to, target, slot(from, source, 0), run, to->bytes);
                source->head = (source->head + run) & (source->capacity - 1);
                source->length -= run;
            }
            source->head = 0;
        }
        unlock(target);
    }
    return SDFG_SUCCESS;
}

int32_t sdfg_stream_deliver(sdfg_stream *stream, sdfg_stream *from, void *to, int64_t stride, int64_t most, int64_t *delivered) {
    queue_t *source = &from->queue[0], *target = &stream->queue[0];
    lock(target);
    int64_t count = target->length == 0 ? most - *delivered : 0; /* what is in the stream comes first */
    if (count > source->length) count = source->length;
    if (count > 0) {
        get(from, source, (char *)to + *delivered * stride, count, stride);
        *delivered += count;
    }
    unlock(target);
    if (source->length > 0) return sdfg_stream_append(stream, from);
    source->head = 0;
    return SDFG_SUCCESS;
}

void sdfg_consume_stop(sdfg_scope *scope) { __atomic_store_n(&scope->stopped, 1, __ATOMIC_RELEASE); }

/* Waits a moment for an element, for the others to be done, or for the end. */
static void idle(const queue_t *queue, const sdfg_scope *scope) {
    for (int tries = 0; tries < 64; tries++) {
        if (length_of(queue) > 0 || __atomic_load_n(&scope->working, __ATOMIC_RELAXED) == 0) return;
        if (__atomic_load_n(&scope->stopped, __ATOMIC_RELAXED) != 0) return;
        pause_cpu();
    }
    sched_yield();
}

int32_t sdfg_consume(sdfg_stream *stream, int64_t number, sdfg_scope *scope, void *to, int64_t most, int64_t *taken, int32_t working, int32_t has_condition, const int32_t *status, sdfg_task *task) {
    queue_t *queue = &stream->queue[number];
    for (;;) {
        lock(queue);
        int64_t others = scope->working - working;
        int stopped = __atomic_load_n(&scope->stopped, __ATOMIC_RELAXED) != 0 || __atomic_load_n(status, __ATOMIC_RELAXED) != SDFG_SUCCESS;
        int takes = !stopped && queue->length > 0;
        if (takes) {
            /* Of a few elements others get some, too. */
            int64_t share = queue->length / 4;
            *taken = share < 1 ? 1 : share < most ? share : most;
            get(stream, queue, to, *taken, stream->bytes);
        }
        /* What pushes is counted as working until it has pushed, so an empty queue and nobody working is the end. */
        int quiet = !takes && others == 0;
        if (quiet && !has_condition) stopped = 1;
        __atomic_store_n(&scope->working, others + takes, __ATOMIC_RELAXED);
        if (stopped) __atomic_store_n(&scope->stopped, 1, __ATOMIC_RELAXED);
        working = 0;
        unlock(queue);
        if (takes) return SDFG_TAKEN;
        if (stopped) return SDFG_DONE;
        if (task) {
            sdfg_wait wait = {has_condition ? SDFG_WAIT_CHANGE : SDFG_WAIT_SCOPE, &queue->length, 0, scope};
            if (!sdfg_task_await(task, wait)) return SDFG_STUCK;
        } else if (has_condition && quiet) {
            return SDFG_STUCK;
        } else {
            idle(queue, scope);
        }
        if (has_condition) return SDFG_AGAIN;
    }
}
