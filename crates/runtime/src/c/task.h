/* Waiting, for the streams. */
#ifndef SDFG_TASK_H
#define SDFG_TASK_H

#include "runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The condition that a task waits for. */
typedef enum {
    SDFG_WAIT_ABOVE, /* `*value` above `bound` */
    SDFG_WAIT_BELOW, /* `*value` below `bound` */
    SDFG_WAIT_SCOPE, /* `*value` above 0, or a consume scope with nobody working or stopped */
    SDFG_WAIT_CHANGE /* any other task having run */
} sdfg_wait_kind;

typedef struct {
    sdfg_wait_kind kind;
    const int64_t *value;
    int64_t bound;
    const sdfg_scope *scope;
} sdfg_wait;

/* Lets other tasks run until something may have come true; false if it never will: there is no other task, or all of them wait. */
SDFG int sdfg_task_await(sdfg_task *task, sdfg_wait wait);

#ifdef __cplusplus
}
#endif

#endif
