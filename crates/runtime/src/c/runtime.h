/* Functions that generated code calls, beyond the C library: streams, processing elements and tasks.
 *
 * The declarations are those of `crates/codegen/src/llvm/stream.rs` and `task.rs`. Everything is weak and hidden: several libraries in
 * one process, and several objects in one library, each bring a copy along. The sources are C11 and C++17: they become part of generated C
 * files, too. Every name at file level begins with `sdfg_` or `SDFG_`.
 */
#ifndef SDFG_RUNTIME_H
#define SDFG_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SDFG __attribute__((weak, visibility("hidden")))

/* Status codes of generated programs. */
enum { SDFG_SUCCESS = 0, SDFG_OUT_OF_MEMORY = 2, SDFG_INVALID_ARGUMENT = 3, SDFG_TRAP = 4 };

/* A queue: a ring of elements. */
typedef struct {
    char *ring;
    int64_t capacity; /* elements of the ring: a power of two, or none yet */
    int64_t head;     /* position of the oldest element in the ring */
    int64_t length;
    int32_t locked;
} __attribute__((aligned(64))) sdfg_fifo; /* a cache line each: neighbours are used by different threads */

typedef struct sdfg_stream {
    int64_t queues;
    int64_t bound;
    int64_t bytes;
    sdfg_fifo queue[];
} sdfg_stream;

typedef struct sdfg_scope sdfg_scope;
typedef struct sdfg_task sdfg_task;

/* State that the processing elements of a consume scope share; all zero at its beginning. */
struct sdfg_scope {
    int64_t working; /* processing elements that work on an element; guarded by the lock of the queue */
    int64_t stopped; /* whether no element is to be taken any more */
};

/* Makes an array of empty queues for elements of a size in bytes; a bound below zero is none. Null without memory. */
SDFG sdfg_stream *sdfg_stream_open(int64_t queues, int64_t bound, int64_t bytes);
/* Frees a stream and what it still holds; null is nothing. */
SDFG void sdfg_stream_close(sdfg_stream *stream);

/* A queue of the caller: `count` elements, oldest first, in memory of malloc; generated headers declare it, too. */
typedef struct {
    void *elements; /* null if there are none */
    int64_t count;
} sdfg_queue;

/* Adds the elements of the caller's queues, one for each queue of the stream, all of them also beyond a bound. A status. */
SDFG int32_t sdfg_stream_receive(sdfg_stream *stream, const sdfg_queue *queues);
/* Makes room in the caller's queues for what is in the stream. A status; each queue holds what it held, at another place perhaps. */
SDFG int32_t sdfg_stream_reserve(const sdfg_stream *stream, sdfg_queue *queues);
/* Makes the caller's queues hold what is in the stream, whose elements stay there. There is room, by sdfg_stream_reserve. */
SDFG void sdfg_stream_hand_back(const sdfg_stream *stream, sdfg_queue *queues);

/* Adds `count` elements, `stride` bytes apart; waits for room. A status. */
SDFG int32_t sdfg_stream_push(sdfg_stream *stream, int64_t queue, const void *from, int64_t count, int64_t stride, sdfg_task *task);
/* Takes `count` elements to places `stride` bytes apart; waits for them. A status. */
SDFG int32_t sdfg_stream_pop(sdfg_stream *stream, int64_t queue, void *to, int64_t count, int64_t stride, sdfg_task *task);
/* Takes the elements that are there, up to `most`. How many. */
SDFG int64_t sdfg_stream_take(sdfg_stream *stream, int64_t queue, void *to, int64_t most, int64_t stride);
/* Number of elements that a queue holds at the moment. */
SDFG int64_t sdfg_stream_length(const sdfg_stream *stream, int64_t queue);
/* Makes room for another element in the first queue, which nobody takes from. A status. */
SDFG int32_t sdfg_stream_grow(sdfg_stream *stream);
/* Moves all elements of the queues of `from` behind those of `to`, which has as many. A status. */
SDFG int32_t sdfg_stream_append(sdfg_stream *to, sdfg_stream *from);
/* As sdfg_stream_append, with one queue each, but as long as `stream` is empty the elements go to memory for `most`, `stride` bytes apart,
 * of which the first `delivered` are taken already. */
SDFG int32_t sdfg_stream_deliver(sdfg_stream *stream, sdfg_stream *from, void *to, int64_t stride, int64_t most, int64_t *delivered);

/* Results of sdfg_consume. */
enum { SDFG_DONE = 0, SDFG_TAKEN = 1, SDFG_AGAIN = 2, SDFG_STUCK = 3 };

/* The next element for a processing element, which was `working` on the one before. With a condition, the answer SDFG_AGAIN asks to
 * test it and to call again; SDFG_STUCK says that nothing will happen any more, so that the next test is the last. `status` is the status of
 * the program: after a failure there are no more elements. */
SDFG int32_t sdfg_consume(sdfg_stream *stream, int64_t queue, sdfg_scope *scope, void *to, int64_t most, int64_t *taken, int32_t working, int32_t has_condition, const int32_t *status, sdfg_task *task);
/* Says that the condition of a consume scope holds. */
SDFG void sdfg_consume_stop(sdfg_scope *scope);

/* A kind of task: `run` is called once for each number from 0 to below `count`, after the tasks of the kinds in `after` are done. */
typedef struct {
    void (*run)(const void *environment, int64_t number, sdfg_task *task);
    int64_t count;
    const int32_t *after; /* positions of other kinds */
    int64_t n_after;
} sdfg_kind;

/* Runs all tasks of a group on the calling thread, each until it waits, and returns when they are done: `task` is the one that calls, or
 * null. A status: out of memory. After a failure of a task, which the program's `status` tells, no further ones begin. */
SDFG int32_t sdfg_tasks_run(const sdfg_kind *kinds, int64_t n_kinds, const void *environment, const int32_t *status, sdfg_task *task);

#ifdef __cplusplus
}
#endif

#endif
