/* Timers of generated code: how often and how long each region of a program ran, in which thread.
 *
 * The declarations are those of `crates/codegen/src/llvm/profile.rs`.
 */
#ifndef SDFG_PROFILE_H
#define SDFG_PROFILE_H

#include "runtime.h"

enum { SDFG_COUNTERS = 4 };

typedef struct sdfg_profile sdfg_profile;

/* Something that is timed. */
typedef struct {
    const char *path;
    const char *kind;
} sdfg_region;

/* A region that runs, in the frame of what runs it. */
typedef struct {
    int64_t begin; /* in nanoseconds of the monotonic clock; zero if it does not run */
    int64_t region;
    int64_t counters[SDFG_COUNTERS];
} sdfg_timer;

/* What a program measures of itself; `with_counters` says whether event counters are read. Null without memory, which all functions
 * take for a profile that measures nothing. */
SDFG sdfg_profile *sdfg_profile_open(const sdfg_region *regions, int64_t n_regions, int32_t with_counters);
SDFG void sdfg_profile_close(sdfg_profile *profile);
/* Any threads may call these two at once. A timer stops in the thread that began it; one that does not run is let alone. */
SDFG void sdfg_timer_begin(sdfg_profile *profile, sdfg_timer *timer, int64_t region);
SDFG void sdfg_timer_end(sdfg_profile *profile, sdfg_timer *timer, const sdfg_task *task);

/* What sdfg_profile_text writes. */
enum { SDFG_PROFILE_TABLE = 0, SDFG_PROFILE_TRACE = 1 };

/* What was measured so far, as text that the profile owns until the next call; null without memory. No timer runs meanwhile. */
SDFG const char *sdfg_profile_text(sdfg_profile *profile, int32_t format);

#endif
