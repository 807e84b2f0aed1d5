/* Timers of generated code: how often and how long each region of a program ran, in which thread.
 *
 * The declarations are those of `crates/codegen/src/llvm/profile.rs`.
 */
#ifndef SDFG_PROFILE_H
#define SDFG_PROFILE_H

#include "runtime.h"

enum { SDFG_COUNTERS = 4 };

typedef struct sdfg_profile sdfg_profile;

/* A timed part of a program. */
typedef struct {
    const char *path;
    const char *kind;
} sdfg_region;

/* A running region, in the stack frame of its caller. */
typedef struct {
    int64_t begin; /* in nanoseconds of the monotonic clock; zero if it does not run */
    int64_t region;
    int64_t counters[SDFG_COUNTERS];
} sdfg_timer;

/* Makes the profile of a program; `with_counters` requests event counters of the processor. Null without memory: all functions
 * accept null as a profile that measures nothing. */
SDFG sdfg_profile *sdfg_profile_open(const sdfg_region *regions, int64_t n_regions, int32_t with_counters);
SDFG void sdfg_profile_close(sdfg_profile *profile);
/* Threads may call these two concurrently. A timer must stop in the thread that began it. Stopping a timer that does not run has no
 * effect. */
SDFG void sdfg_timer_begin(sdfg_profile *profile, sdfg_timer *timer, int64_t region);
SDFG void sdfg_timer_end(sdfg_profile *profile, sdfg_timer *timer, const sdfg_task *task);

/* Formats of sdfg_profile_text. */
enum { SDFG_PROFILE_TABLE = 0, SDFG_PROFILE_TRACE = 1 };

/* The measurements so far as text; null without memory. The profile owns the text until the next call. No timer may run during the
 * call. */
SDFG const char *sdfg_profile_text(sdfg_profile *profile, int32_t format);

#endif
