/* Timers. Each thread adds to its own sums and list without a lock; sdfg_profile_text combines them.
 *
 * A thread finds its sums by its identity in a table of the profile, because generated code has no thread-local variables.
 */
#include "profile.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    THREADS = 1024,       /* places for threads, a power of two; further threads are not measured */
    MOST_EVENTS = 1 << 18 /* of a thread in a trace */
};

static const struct {
    const char *name;
    uint32_t type;
    uint64_t config;
} COUNTER[SDFG_COUNTERS] = {
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
};

/* All executions of a region. */
typedef struct {
    int64_t count, total, least, most;
    int64_t counters[SDFG_COUNTERS];
} sum_t;

/* One execution of a region. */
typedef struct {
    int64_t region, begin, duration;
    const sdfg_task *task; /* null outside of tasks */
    int64_t counters[SDFG_COUNTERS];
} event_t;

typedef struct {
    uintptr_t identity;
    int64_t number;
    sum_t *sums;
    event_t *events;
    int64_t n_events, capacity, dropped;
    int group;                   /* file descriptor of its counters, or -1 */
    int members[SDFG_COUNTERS];  /* file descriptors, or -1 */
    int position[SDFG_COUNTERS]; /* in the group */
} thread_t;

struct sdfg_profile {
    const sdfg_region *regions; /* the first one is the whole program */
    int64_t n_regions;
    int32_t with_counters;
    int32_t opened;       /* a bit for each counter that some thread has */
    int32_t open_error;   /* the error of a counter that could not be opened */
    int64_t n_threads;
    int64_t lost;         /* executions that were not recorded */
    int64_t origin;       /* time of its creation */
    int64_t cost;         /* of a timer, in nanoseconds */
    char *text;
    thread_t *threads[THREADS];
};

static inline int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Opens those event counters of the calling thread that the machine has and that the user may read. */
static void open_counters(sdfg_profile *profile, thread_t *thread) {
    int members = 0;
    for (int k = 0; k < SDFG_COUNTERS; k++) {
        struct perf_event_attr what = {0};
        what.size = sizeof what;
        what.type = COUNTER[k].type;
        what.config = COUNTER[k].config;
        what.exclude_kernel = what.exclude_hv = 1;
        what.read_format = PERF_FORMAT_GROUP;
        int file = (int)syscall(SYS_perf_event_open, &what, 0, -1, thread->group, PERF_FLAG_FD_CLOEXEC);
        if (file < 0) {
            __atomic_store_n(&profile->open_error, errno, __ATOMIC_RELAXED);
            continue;
        }
        if (thread->group < 0) thread->group = file;
        thread->members[k] = file;
        thread->position[k] = members++;
        __atomic_fetch_or(&profile->opened, 1 << k, __ATOMIC_RELAXED);
    }
}

static void read_counters(const thread_t *thread, int64_t *values) {
    uint64_t group[1 + SDFG_COUNTERS]; /* their number, then their values */
    if (thread->group < 0 || read(thread->group, group, sizeof group) <= 0) memset(group, 0, sizeof group);
    for (int k = 0; k < SDFG_COUNTERS; k++) values[k] = thread->members[k] < 0 ? 0 : (int64_t)group[1 + thread->position[k]];
}

static void close_thread(thread_t *thread) {
    if (!thread) return;
    for (int k = 0; k < SDFG_COUNTERS; k++)
        if (thread->members[k] >= 0) close(thread->members[k]);
    free(thread->events);
    free(thread->sums);
    free(thread);
}

static thread_t *open_thread(sdfg_profile *profile, uintptr_t identity) {
    thread_t *thread = calloc(1, sizeof *thread);
    if (!thread) return NULL;
    thread->identity = identity;
    thread->group = -1;
    for (int k = 0; k < SDFG_COUNTERS; k++) thread->members[k] = -1;
    thread->sums = calloc((size_t)profile->n_regions, sizeof *thread->sums);
    if (!thread->sums) {
        free(thread);
        return NULL;
    }
    if (profile->with_counters) open_counters(profile, thread);
    return thread;
}

/* The sums of the calling thread; null if the table is full, or without memory. */
static thread_t *own(sdfg_profile *profile) {
    uintptr_t identity = (uintptr_t)pthread_self();
    uintptr_t place = (identity >> 6) * 0x9E3779B97F4A7C15u >> 40;
    for (int tries = 0; tries < THREADS; tries++, place++) {
        thread_t **entry = &profile->threads[place & (THREADS - 1)], *found = __atomic_load_n(entry, __ATOMIC_ACQUIRE);
        if (!found) {
            thread_t *thread = open_thread(profile, identity);
            if (!thread) return NULL;
            thread->number = __atomic_fetch_add(&profile->n_threads, 1, __ATOMIC_RELAXED);
            if (__atomic_compare_exchange_n(entry, &found, thread, 0, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) return thread;
            close_thread(thread); /* another thread took the place */
        }
        if (found->identity == identity) return found;
    }
    return NULL;
}

static void note_event(thread_t *thread, const event_t *event) {
    if (thread->n_events == thread->capacity) {
        int64_t capacity = thread->capacity ? 2 * thread->capacity : 256;
        event_t *events = capacity > MOST_EVENTS ? NULL : realloc(thread->events, (size_t)capacity * sizeof *events);
        if (!events) {
            thread->dropped++;
            return;
        }
        thread->events = events;
        thread->capacity = capacity;
    }
    thread->events[thread->n_events++] = *event;
}

static void begin(const sdfg_profile *profile, const thread_t *thread, sdfg_timer *timer, int64_t region) {
    timer->region = region;
    if (profile->with_counters) read_counters(thread, timer->counters);
    timer->begin = now();
}

static void end(const sdfg_profile *profile, thread_t *thread, sdfg_timer *timer, int64_t time, const sdfg_task *task) {
    event_t event = {timer->region, timer->begin, time - timer->begin, task, {0}};
    if (profile->with_counters) {
        read_counters(thread, event.counters);
        for (int k = 0; k < SDFG_COUNTERS; k++) event.counters[k] -= timer->counters[k];
    }
    timer->begin = 0;
    sum_t *sum = &thread->sums[event.region];
    if (sum->count == 0 || event.duration < sum->least) sum->least = event.duration;
    if (event.duration > sum->most) sum->most = event.duration;
    sum->count++;
    sum->total += event.duration;
    for (int k = 0; k < SDFG_COUNTERS; k++) sum->counters[k] += event.counters[k];
    note_event(thread, &event);
}

/* The cost of a timer, measured on sums that no report contains. */
static int64_t cost(sdfg_profile *profile) {
    enum { TIMES = 128 };
    thread_t *thread = open_thread(profile, 0);
    if (!thread) return 0;
    sdfg_timer timer = {0};
    int64_t before = now();
    for (int k = 0; k < TIMES; k++) {
        begin(profile, thread, &timer, 0);
        end(profile, thread, &timer, now(), NULL);
    }
    int64_t taken = now() - before;
    close_thread(thread);
    return taken / TIMES;
}

sdfg_profile *sdfg_profile_open(const sdfg_region *regions, int64_t n_regions, int32_t with_counters) {
    sdfg_profile *profile = n_regions > 0 ? calloc(1, sizeof *profile) : NULL;
    if (!profile) return NULL;
    profile->regions = regions;
    profile->n_regions = n_regions;
    profile->with_counters = with_counters;
    profile->cost = cost(profile);
    profile->origin = now();
    return profile;
}

void sdfg_profile_close(sdfg_profile *profile) {
    if (!profile) return;
    for (int place = 0; place < THREADS; place++) close_thread(profile->threads[place]);
    free(profile->text);
    free(profile);
}

void sdfg_timer_begin(sdfg_profile *profile, sdfg_timer *timer, int64_t region) {
    thread_t *thread = profile ? own(profile) : NULL;
    if (thread) begin(profile, thread, timer, region);
    else if (profile) __atomic_fetch_add(&profile->lost, 1, __ATOMIC_RELAXED);
}

void sdfg_timer_end(sdfg_profile *profile, sdfg_timer *timer, const sdfg_task *task) {
    if (timer->begin == 0) return;
    int64_t time = now();
    thread_t *thread = own(profile);
    if (thread) end(profile, thread, timer, time, task);
}

/* Texts. They are printed from integers, because the locale decides the decimal point of C's floating-point numbers. */

typedef struct {
    char *bytes;
    size_t length, capacity;
    int has_failed;
} text_t;

__attribute__((format(printf, 2, 3))) static void put(text_t *text, const char *format, ...) {
    for (;;) {
        va_list values;
        va_start(values, format);
        size_t room = text->capacity - text->length;
        int length = vsnprintf(text->bytes ? text->bytes + text->length : NULL, room, format, values);
        va_end(values);
        if (length < 0) text->has_failed = 1;
        if (text->has_failed) return;
        if ((size_t)length < room) {
            text->length += (size_t)length;
            return;
        }
        size_t capacity = 2 * text->capacity + (size_t)length + 256;
        char *bytes = realloc(text->bytes, capacity);
        if (!bytes) {
            text->has_failed = 1;
            return;
        }
        text->bytes = bytes;
        text->capacity = capacity;
    }
}

/* A time in the most readable unit. */
static void put_time(text_t *text, int width, int64_t time) {
    static const char *const UNITS[] = {"us", "ms", "s "};
    char number[32];
    if (time < 1000) {
        snprintf(number, sizeof number, "%lld ns", (long long)time);
    } else {
        int unit = 0;
        while (time >= 1000000 && unit < 2) time /= 1000, unit++;
        snprintf(number, sizeof number, "%lld.%03lld %s", (long long)(time / 1000), (long long)(time % 1000), UNITS[unit]);
    }
    put(text, "%*s", width, number);
}

/* The sum of a region over all threads. */
static sum_t total_of(const sdfg_profile *profile, int64_t region) {
    sum_t total = {0};
    for (int place = 0; place < THREADS; place++) {
        if (!profile->threads[place]) continue;
        const sum_t *sum = &profile->threads[place]->sums[region];
        if (sum->count == 0) continue;
        if (total.count == 0 || sum->least < total.least) total.least = sum->least;
        if (sum->most > total.most) total.most = sum->most;
        total.count += sum->count;
        total.total += sum->total;
        for (int k = 0; k < SDFG_COUNTERS; k++) total.counters[k] += sum->counters[k];
    }
    return total;
}

static void put_table(text_t *text, const sdfg_profile *profile) {
    put(text, "%-8s %9s %12s %12s   %12s %12s %10s", "kind", "count", "total", "mean", "shortest", "longest", "of program");
    for (int k = 0; k < SDFG_COUNTERS; k++)
        if (profile->opened & 1 << k) put(text, " %14s", COUNTER[k].name);
    put(text, "  path\n");
    int64_t whole = total_of(profile, 0).total;
    int is_short = 0;
    for (int64_t region = 0; region < profile->n_regions; region++) {
        sum_t sum = total_of(profile, region);
        put(text, "%-8s %9lld ", profile->regions[region].kind, (long long)sum.count);
        if (sum.count == 0) {
            put(text, "%12s %12s   %12s %12s %10s", "-", "-", "-", "-", "-");
        } else {
            int is_rough = sum.total / sum.count < 20 * profile->cost;
            is_short |= is_rough;
            put_time(text, 12, sum.total);
            put_time(text, 13, sum.total / sum.count);
            put(text, is_rough ? " *" : "  ");
            put_time(text, 13, sum.least);
            put_time(text, 13, sum.most);
            /* A share in tenths of a percent, without overflow of 64 bits. */
            int64_t tenths = sum.total < INT64_MAX / 1000 ? sum.total * 1000 / (whole + !whole) : sum.total / (whole / 1000 + 1);
            put(text, " %7lld.%lld %%", (long long)(tenths / 10), (long long)(tenths % 10));
        }
        for (int k = 0; k < SDFG_COUNTERS; k++)
            if (profile->opened & 1 << k) put(text, " %14lld", (long long)sum.counters[k]);
        put(text, "  %s\n", profile->regions[region].path);
    }
    if (is_short) put(text, "* A timer takes about %lld ns, here and in everything around it: more than 5 %% of this mean.\n", (long long)profile->cost);
    if (profile->lost > 0) put(text, "%lld executions are missing: there are too many threads, or too little memory.\n", (long long)profile->lost);
    if (!profile->with_counters || profile->opened == (1 << SDFG_COUNTERS) - 1) return;
    put(text, "Not counted:");
    for (int k = 0; k < SDFG_COUNTERS; k++)
        if (!(profile->opened & 1 << k)) put(text, " %s", COUNTER[k].name);
    if (profile->open_error) put(text, " (%s; see also /proc/sys/kernel/perf_event_paranoid)", strerror(profile->open_error));
    put(text, ".\n");
}

static void put_string(text_t *text, const char *string) {
    put(text, "\"");
    for (const char *c = string; *c; c++) {
        if (*c == '"' || *c == '\\') put(text, "\\%c", *c);
        else if ((unsigned char)*c < 0x20) put(text, "\\u%04x", *c);
        else put(text, "%c", *c);
    }
    put(text, "\"");
}

/* The last label of a path. */
static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void put_counters(text_t *text, const sdfg_profile *profile, const int64_t *values) {
    for (int k = 0; k < SDFG_COUNTERS; k++)
        if (profile->opened & 1 << k) put(text, ", \"%s\": %lld", COUNTER[k].name, (long long)values[k]);
}

/* The tasks of a thread interleave, so each has a separate row. Tasks that follow each other share a row. */
static int64_t row_of(text_t *rows, const thread_t *thread, const sdfg_task *task) {
    if (!task) return thread->number;
    const sdfg_task *known;
    size_t n_rows = rows->length / sizeof known;
    for (size_t row = 0; row < n_rows; row++) {
        memcpy(&known, rows->bytes + row * sizeof known, sizeof known);
        if (known == task) return (int64_t)(THREADS + row);
    }
    if (rows->capacity - rows->length < sizeof task) {
        char *bytes = realloc(rows->bytes, 2 * rows->capacity + 256);
        if (!bytes) return thread->number;
        rows->bytes = bytes;
        rows->capacity = 2 * rows->capacity + 256;
    }
    memcpy(rows->bytes + rows->length, &task, sizeof task);
    rows->length += sizeof task;
    return (int64_t)(THREADS + n_rows);
}

static void put_trace(text_t *text, const sdfg_profile *profile) {
    put(text, "{\"displayTimeUnit\": \"ns\",\n\"traceEvents\": [\n{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, \"args\": {\"name\": ");
    put_string(text, profile->regions[0].path);
    put(text, "}}");
    int64_t dropped = profile->lost;
    text_t rows = {0};
    for (int place = 0; place < THREADS; place++) {
        const thread_t *thread = profile->threads[place];
        if (!thread) continue;
        dropped += thread->dropped;
        for (int64_t k = 0; k < thread->n_events; k++) {
            const event_t *event = &thread->events[k];
            const sdfg_region *region = &profile->regions[event->region];
            int64_t begin = event->begin - profile->origin;
            put(text, ",\n{\"name\": ");
            put_string(text, name_of(region->path));
            put(text, ", \"cat\": \"%s\", \"ph\": \"X\", \"ts\": %lld.%03lld, \"dur\": %lld.%03lld, \"pid\": 1, \"tid\": %lld, \"args\": {\"path\": ", region->kind,
                (long long)(begin / 1000), (long long)(begin % 1000), (long long)(event->duration / 1000), (long long)(event->duration % 1000),
                (long long)row_of(&rows, thread, event->task));
            put_string(text, region->path);
            put_counters(text, profile, event->counters);
            put(text, "}}");
        }
    }
    free(rows.bytes);
    put(text, "\n],\n\"timerNanoseconds\": %lld,\n\"missingEvents\": %lld,\n\"timers\": [", (long long)profile->cost, (long long)dropped);
    for (int64_t region = 0; region < profile->n_regions; region++) {
        sum_t sum = total_of(profile, region);
        put(text, "%s\n{\"path\": ", region ? "," : "");
        put_string(text, profile->regions[region].path);
        put(text, ", \"kind\": \"%s\", \"count\": %lld, \"total\": %lld, \"shortest\": %lld, \"longest\": %lld", profile->regions[region].kind,
            (long long)sum.count, (long long)sum.total, (long long)sum.least, (long long)sum.most);
        put_counters(text, profile, sum.counters);
        put(text, "}");
    }
    put(text, "\n]}\n");
}

const char *sdfg_profile_text(sdfg_profile *profile, int32_t format) {
    if (!profile) return NULL;
    text_t text = {0};
    if (format == SDFG_PROFILE_TRACE) put_trace(&text, profile);
    else put_table(&text, profile);
    free(profile->text);
    if (text.has_failed) {
        free(text.bytes);
        text.bytes = NULL;
    }
    profile->text = text.bytes;
    return profile->text;
}
