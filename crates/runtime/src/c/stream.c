/* Streams: arrays of queues, first in, first out, that any number of threads use at once.
 *
 * A queue is a ring of a power of two elements under a lock of its own. The lock spins: it is held for a copy of a few bytes, or for the
 * growth of the ring, whose cost is spread over the elements. A queue without a bound doubles; one with a bound never holds more.
 */
#include "runtime.h"
#include "task.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Generated code relies on this layout: a queue that nobody takes from begins at the start of its ring. */
#ifndef __cplusplus
_Static_assert(offsetof(sdfg_fifo, capacity) == 8 && offsetof(sdfg_fifo, head) == 16 && offsetof(sdfg_fifo, length) == 24, "crates/codegen/src/llvm/stream.rs");
_Static_assert(offsetof(sdfg_stream, queue) == 64, "crates/codegen/src/llvm/stream.rs");
#endif

static inline void sdfg_pause_cpu(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static inline void sdfg_lock(sdfg_fifo *queue) {
    for (int tries = 0; __atomic_exchange_n(&queue->locked, 1, __ATOMIC_ACQUIRE) != 0;) {
        while (__atomic_load_n(&queue->locked, __ATOMIC_RELAXED) != 0) {
            /* The holder may wait for this very processor. */
            if (++tries % 64 == 0) sched_yield();
            else sdfg_pause_cpu();
        }
    }
}

static inline void sdfg_unlock(sdfg_fifo *queue) { __atomic_store_n(&queue->locked, 0, __ATOMIC_RELEASE); }

/* Lengths are also read without the lock. */
static inline void sdfg_set_length(sdfg_fifo *queue, int64_t length) { __atomic_store_n(&queue->length, length, __ATOMIC_RELAXED); }
static inline int64_t sdfg_length_of(const sdfg_fifo *queue) { return __atomic_load_n(&queue->length, __ATOMIC_RELAXED); }

static inline char *sdfg_slot(const sdfg_stream *stream, const sdfg_fifo *queue, int64_t position) {
    return queue->ring + ((queue->head + position) & (queue->capacity - 1)) * stream->bytes;
}

static inline void sdfg_copy_element(void *to, const void *from, int64_t bytes) {
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
static void sdfg_prefer_huge_pages(char *memory, int64_t size) {
    if (size < 4 << 20) return;
    uintptr_t page = 4096, first = ((uintptr_t)memory + page - 1) & ~(page - 1);
    madvise((void *)first, ((uintptr_t)memory + (uintptr_t)size - first) & ~(page - 1), MADV_HUGEPAGE);
}

/* Makes room for `more` elements; false without memory. */
static int sdfg_grow(const sdfg_stream *stream, sdfg_fifo *queue, int64_t more) {
    int64_t needed, capacity = queue->capacity ? queue->capacity : 16;
    if (__builtin_add_overflow(queue->length, more, &needed)) return 0;
    while (capacity < needed)
        if (__builtin_mul_overflow(capacity, 2, &capacity)) return 0;
    if (capacity == queue->capacity) return 1;
    int64_t size;
    if (__builtin_mul_overflow(capacity, stream->bytes, &size)) return 0;
    if (queue->head + queue->length <= queue->capacity && queue->head == 0) {
        /* The elements lie from the start on: large memory is moved by its page table alone. */
        char *longer = (char *)realloc(queue->ring, (size_t)size);
        if (!longer) return 0;
        queue->ring = longer;
        queue->capacity = capacity;
        sdfg_prefer_huge_pages(longer, size);
        return 1;
    }
    char *ring = (char *)malloc((size_t)size);
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

static void sdfg_put(const sdfg_stream *stream, sdfg_fifo *queue, const char *from, int64_t count, int64_t stride) {
    if (stride == stream->bytes && count > 1) {
        int64_t place = (queue->head + queue->length) & (queue->capacity - 1), first = queue->capacity - place;
        if (first > count) first = count;
        memcpy(queue->ring + place * stream->bytes, from, (size_t)(first * stream->bytes));
        memcpy(queue->ring, from + first * stream->bytes, (size_t)((count - first) * stream->bytes));
    } else {
        for (int64_t k = 0; k < count; k++) sdfg_copy_element(sdfg_slot(stream, queue, queue->length + k), from + k * stride, stream->bytes);
    }
    sdfg_set_length(queue, queue->length + count);
}

static void sdfg_get(const sdfg_stream *stream, sdfg_fifo *queue, char *to, int64_t count, int64_t stride) {
    if (count == 1) {
        sdfg_copy_element(to, sdfg_slot(stream, queue, 0), stream->bytes);
    } else if (stride == stream->bytes) {
        int64_t first = queue->capacity - queue->head;
        if (first > count) first = count;
        if (count > 0) {
            memcpy(to, sdfg_slot(stream, queue, 0), (size_t)(first * stream->bytes));
            memcpy(to + first * stream->bytes, queue->ring, (size_t)((count - first) * stream->bytes));
        }
    } else {
        for (int64_t k = 0; k < count; k++) sdfg_copy_element(to + k * stride, sdfg_slot(stream, queue, k), stream->bytes);
    }
    queue->head = (queue->head + count) & (queue->capacity - 1);
    sdfg_set_length(queue, queue->length - count);
}

sdfg_stream *sdfg_stream_open(int64_t queues, int64_t bound, int64_t bytes) {
    int64_t size;
    if (queues < 0) queues = 0;
    if (__builtin_mul_overflow(queues, (int64_t)sizeof(sdfg_fifo), &size)) return NULL;
    if (__builtin_add_overflow(size, (int64_t)(sizeof(sdfg_stream) + 127), &size)) return NULL;
    size = size / 64 * 64; /* aligned_alloc wants a multiple of the alignment */
    sdfg_stream *stream = (sdfg_stream *)aligned_alloc(64, (size_t)size);
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
    for (int64_t q = 0; q < stream->queues; q++) {
        if (given[q].count == 0) continue;
        if (given[q].count < 0 || !given[q].elements) return SDFG_INVALID_ARGUMENT;
        if (!sdfg_grow(stream, &stream->queue[q], given[q].count)) return SDFG_OUT_OF_MEMORY;
        sdfg_put(stream, &stream->queue[q], (const char *)given[q].elements, given[q].count, stream->bytes);
    }
    return SDFG_SUCCESS;
}

int32_t sdfg_stream_reserve(const sdfg_stream *stream, sdfg_queue *given) {
    for (int64_t q = 0; q < stream->queues; q++) {
        int64_t count = sdfg_length_of(&stream->queue[q]);
        if (count <= given[q].count) continue;
        void *longer = realloc(given[q].elements, (size_t)(count * stream->bytes));
        if (!longer) return SDFG_OUT_OF_MEMORY;
        given[q].elements = longer;
    }
    return SDFG_SUCCESS;
}

void sdfg_stream_hand_back(const sdfg_stream *stream, sdfg_queue *given) {
    for (int64_t q = 0; q < stream->queues; q++) {
        sdfg_fifo queue = stream->queue[q];
        int64_t count = queue.length;
        if (count > 0) sdfg_get(stream, &queue, (char *)given[q].elements, count, stream->bytes);
        given[q].count = count;
    }
}

int32_t sdfg_stream_push(sdfg_stream *stream, int64_t number, const void *from, int64_t count, int64_t stride, sdfg_task *task) {
    sdfg_fifo *queue = &stream->queue[number];
    sdfg_wait wait = {SDFG_WAIT_BELOW, &queue->length, stream->bound, NULL};
    const char *next = (const char *)from;
    if (count == 1) {
        sdfg_lock(queue);
        if (queue->length < queue->capacity && (stream->bound < 0 || queue->length < stream->bound)) {
            sdfg_copy_element(sdfg_slot(stream, queue, queue->length), from, stream->bytes);
            sdfg_set_length(queue, queue->length + 1);
            sdfg_unlock(queue);
            return SDFG_SUCCESS;
        }
        sdfg_unlock(queue);
    }
    while (count > 0) {
        sdfg_lock(queue);
        int64_t room = stream->bound < 0 ? count : stream->bound - queue->length;
        if (room > count) room = count;
        if (room > 0) {
            if (queue->length + room > queue->capacity && !sdfg_grow(stream, queue, room)) {
                sdfg_unlock(queue);
                return SDFG_OUT_OF_MEMORY;
            }
            sdfg_put(stream, queue, next, room, stride);
            next += room * stride;
            count -= room;
        }
        sdfg_unlock(queue);
        if (count > 0 && !sdfg_task_await(task, wait)) return SDFG_TRAP;
    }
    return SDFG_SUCCESS;
}

int64_t sdfg_stream_take(sdfg_stream *stream, int64_t number, void *to, int64_t most, int64_t stride) {
    sdfg_fifo *queue = &stream->queue[number];
    sdfg_lock(queue);
    int64_t count = queue->length < most ? queue->length : most;
    if (count > 0) sdfg_get(stream, queue, (char *)to, count, stride);
    sdfg_unlock(queue);
    return count > 0 ? count : 0;
}

int32_t sdfg_stream_pop(sdfg_stream *stream, int64_t number, void *to, int64_t count, int64_t stride, sdfg_task *task) {
    sdfg_wait wait = {SDFG_WAIT_ABOVE, &stream->queue[number].length, 0, NULL};
    char *next = (char *)to;
    while (count > 0) {
        int64_t taken = sdfg_stream_take(stream, number, next, count, stride);
        next += taken * stride;
        count -= taken;
        if (count > 0 && !sdfg_task_await(task, wait)) return SDFG_TRAP;
    }
    return SDFG_SUCCESS;
}

int64_t sdfg_stream_length(const sdfg_stream *stream, int64_t queue) { return sdfg_length_of(&stream->queue[queue]); }

int32_t sdfg_stream_grow(sdfg_stream *stream) { return sdfg_grow(stream, &stream->queue[0], 1) ? SDFG_SUCCESS : SDFG_OUT_OF_MEMORY; }

int32_t sdfg_stream_append(sdfg_stream *to, sdfg_stream *from) {
    for (int64_t q = 0; q < from->queues; q++) {
        sdfg_fifo *source = &from->queue[q], *target = &to->queue[q];
        if (source->length == 0) continue;
        sdfg_lock(target);
        if (target->length == 0) {
            /* Nothing is in front of them: the rings change places. */
            sdfg_fifo old = *target;
            target->ring = source->ring;
            target->capacity = source->capacity;
            target->head = source->head;
            sdfg_set_length(target, source->length);
            source->ring = old.ring;
            source->capacity = old.capacity;
            source->head = 0;
            source->length = 0;
        } else {
            if (!sdfg_grow(to, target, source->length)) {
                sdfg_unlock(target);
                return SDFG_OUT_OF_MEMORY;
            }
            while (source->length > 0) {
                /* The part of the ring up to its end. */
                int64_t run = source->capacity - source->head;
                if (run > source->length) run = source->length;
                sdfg_put(to, target, sdfg_slot(from, source, 0), run, to->bytes);
                source->head = (source->head + run) & (source->capacity - 1);
                source->length -= run;
            }
            source->head = 0;
        }
        sdfg_unlock(target);
    }
    return SDFG_SUCCESS;
}

int32_t sdfg_stream_deliver(sdfg_stream *stream, sdfg_stream *from, void *to, int64_t stride, int64_t most, int64_t *delivered) {
    sdfg_fifo *source = &from->queue[0], *target = &stream->queue[0];
    sdfg_lock(target);
    int64_t count = target->length == 0 ? most - *delivered : 0; /* what is in the stream comes first */
    if (count > source->length) count = source->length;
    if (count > 0) {
        sdfg_get(from, source, (char *)to + *delivered * stride, count, stride);
        *delivered += count;
    }
    sdfg_unlock(target);
    if (source->length > 0) return sdfg_stream_append(stream, from);
    source->head = 0;
    return SDFG_SUCCESS;
}

void sdfg_consume_stop(sdfg_scope *scope) { __atomic_store_n(&scope->stopped, 1, __ATOMIC_RELEASE); }

/* Waits a moment for an element, for the others to be done, or for the end. */
static void sdfg_idle(const sdfg_fifo *queue, const sdfg_scope *scope) {
    for (int tries = 0; tries < 64; tries++) {
        if (sdfg_length_of(queue) > 0 || __atomic_load_n(&scope->working, __ATOMIC_RELAXED) == 0) return;
        if (__atomic_load_n(&scope->stopped, __ATOMIC_RELAXED) != 0) return;
        sdfg_pause_cpu();
    }
    sched_yield();
}

int32_t sdfg_consume(sdfg_stream *stream, int64_t number, sdfg_scope *scope, void *to, int64_t most, int64_t *taken, int32_t working, int32_t has_condition, const int32_t *status, sdfg_task *task) {
    sdfg_fifo *queue = &stream->queue[number];
    for (;;) {
        sdfg_lock(queue);
        int64_t others = scope->working - working;
        int stopped = __atomic_load_n(&scope->stopped, __ATOMIC_RELAXED) != 0 || __atomic_load_n(status, __ATOMIC_RELAXED) != SDFG_SUCCESS;
        int takes = !stopped && queue->length > 0;
        if (takes) {
            /* Of a few elements others get some, too. */
            int64_t share = queue->length / 4;
            *taken = share < 1 ? 1 : share < most ? share : most;
            sdfg_get(stream, queue, (char *)to, *taken, stream->bytes);
        }
        /* A processing element that pushes counts as working until it has pushed, so an empty queue and nobody working is the end. */
        int quiet = !takes && others == 0;
        if (quiet && !has_condition) stopped = 1;
        __atomic_store_n(&scope->working, others + takes, __ATOMIC_RELAXED);
        if (stopped) __atomic_store_n(&scope->stopped, 1, __ATOMIC_RELAXED);
        working = 0;
        sdfg_unlock(queue);
        if (takes) return SDFG_TAKEN;
        if (stopped) return SDFG_DONE;
        if (task) {
            sdfg_wait wait = {has_condition ? SDFG_WAIT_CHANGE : SDFG_WAIT_SCOPE, &queue->length, 0, scope};
            if (!sdfg_task_await(task, wait)) return SDFG_STUCK;
        } else if (has_condition && quiet) {
            return SDFG_STUCK;
        } else {
            sdfg_idle(queue, scope);
        }
        if (has_condition) return SDFG_AGAIN;
    }
}
