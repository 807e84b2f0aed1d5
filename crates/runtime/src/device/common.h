/* The parts of a device runtime that do not depend on the driver: statuses, arguments of kernels, and the report of measured
 * commands. `opencl/device.c` and `cuda/device.c` define `sdfg_device` and the functions that generated code calls. */

#ifndef SDFG_DEVICE_COMMON
#define SDFG_DEVICE_COMMON

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Programs use some of the functions. */
#define SDFG_DEVICE_FUNCTION __attribute__((unused)) static

/* An object of the driver. */
typedef struct sdfg_object *sdfg_object;

/* Statuses of a run: as those of the program. */
enum { SDFG_DEVICE_MEMORY = 2, SDFG_DEVICE_FAILED = 7 };

/* An argument of a kernel: memory of the device, or the bytes of a value. */
typedef struct sdfg_kernel_argument {
    const void *value;
    size_t bytes;
} sdfg_kernel_argument;

/* The device that is asked for: its number, or a part of its name. */
typedef struct sdfg_wanted {
    /* The place that asks, for messages. */
    const char *from;
    const char *name;
    long number;
    bool is_number;
} sdfg_wanted;

/* The device that the caller asks for, or else the variable `SDFG_DEVICE`; the first one without both. */
SDFG_DEVICE_FUNCTION sdfg_wanted sdfg_device_wanted(const char *asked) {
    sdfg_wanted wanted = { asked != NULL ? "the configuration" : "SDFG_DEVICE", asked != NULL ? asked : getenv("SDFG_DEVICE"), 0, true };
    if (wanted.name == NULL || wanted.name[0] == 0) {
        wanted.name = "0";
    }
    char *end = NULL;
    wanted.number = strtol(wanted.name, &end, 10);
    wanted.is_number = end != wanted.name && *end == 0;
    return wanted;
}

/* The parts of a text in one. */
SDFG_DEVICE_FUNCTION char *sdfg_device_joined(const char *const *parts, uint32_t n_parts) {
    size_t size = 1, at = 0;
    for (uint32_t n = 0; n < n_parts; ++n) {
        size += strlen(parts[n]);
    }
    char *const text = (char *)calloc(1, size);
    for (uint32_t n = 0; n < n_parts && text != NULL; ++n) {
        const size_t length = strlen(parts[n]);
        memcpy(text + at, parts[n], length);
        at += length;
    }
    return text;
}

/* A kernel or copy of a program that is profiled. */
typedef struct sdfg_command {
    const char *kind, *name;
    /* Its event, or the events before and behind it, until its times are known. */
    sdfg_object events[2];
    /* Nanoseconds. */
    uint64_t begin, end;
    /* Bytes that it moves and its operations; negative if they are not known. */
    int64_t bytes, operations;
    /* The number of its stream. */
    uint32_t stream;
    struct sdfg_command *next;
} sdfg_command;

#ifdef SDFG_DEVICE_PROFILE
/* A rate in 10^9 for each second, which is a number for each nanosecond. */
SDFG_DEVICE_FUNCTION void sdfg_device_rate(FILE *to, double amount, double nanoseconds, const char *unit) {
    if (amount < 0 || nanoseconds <= 0) {
        fprintf(to, " %12s       ", "-");
    } else {
        fprintf(to, " %12.3f %-6s", amount / nanoseconds, unit);
    }
}

/* The commands in the opposite order. */
SDFG_DEVICE_FUNCTION sdfg_command *sdfg_device_reversed(sdfg_command *commands) {
    sdfg_command *reversed = NULL;
    while (commands != NULL) {
        sdfg_command *const next = commands->next;
        commands->next = reversed;
        reversed = commands;
        commands = next;
    }
    return reversed;
}

/* A trace for Chrome's viewer, of commands in order. */
SDFG_DEVICE_FUNCTION void sdfg_device_trace(FILE *to, const sdfg_command *first) {
    const uint64_t origin = first != NULL ? first->begin : 0;
    fprintf(to, "{\"displayTimeUnit\": \"ns\",\n\"traceEvents\": [");
    for (const sdfg_command *command = first; command != NULL; command = command->next) {
        fprintf(to, "%s\n{\"name\": \"%s\", \"cat\": \"%s\", \"ph\": \"X\", \"ts\": %.3f, \"dur\": %.3f, \"pid\": 1, \"tid\": %u}", command == first ? "" : ",", command->name, command->kind, (double)(command->begin - origin) / 1e3, (double)(command->end - command->begin) / 1e3, (unsigned)command->stream);
    }
    fprintf(to, "\n]}\n");
}

/* A table of kernels and copies, of commands in order. */
SDFG_DEVICE_FUNCTION void sdfg_device_table(FILE *to, const sdfg_command *first) {
    fprintf(to, "%-8s %9s %15s %15s %19s %19s  name\n", "kind", "count", "total", "mean", "bandwidth", "operations");
    for (const sdfg_command *command = first; command != NULL; command = command->next) {
        bool is_first = true;
        for (const sdfg_command *before = first; before != command && is_first; before = before->next) {
            is_first = before->kind != command->kind || strcmp(before->name, command->name) != 0;
        }
        if (!is_first) {
            continue;
        }
        int64_t count = 0;
        double time = 0, bytes = 0, operations = 0;
        for (const sdfg_command *same = command; same != NULL; same = same->next) {
            if (same->kind == command->kind && strcmp(same->name, command->name) == 0) {
                ++count;
                time += (double)(same->end - same->begin);
                bytes = same->bytes < 0 || bytes < 0 ? -1 : bytes + (double)same->bytes;
                operations = same->operations < 0 || operations < 0 ? -1 : operations + (double)same->operations;
            }
        }
        fprintf(to, "%-8s %9lld %12.3f us %12.3f us", command->kind, (long long)count, time / 1e3, time / 1e3 / (double)count);
        sdfg_device_rate(to, bytes, time, "GB/s");
        sdfg_device_rate(to, operations, time, "Gop/s");
        fprintf(to, "  %s\n", command->name);
    }
}

/* A table of commands whose times are known, the last one first, or a trace (format 1); NULL without memory. */
SDFG_DEVICE_FUNCTION char *sdfg_device_report(sdfg_command *commands, int32_t format) {
    char *text = NULL;
    size_t size = 0;
    FILE *const to = open_memstream(&text, &size);
    if (to == NULL) {
        return NULL;
    }
    sdfg_command *const first = sdfg_device_reversed(commands);
    if (format == 1) {
        sdfg_device_trace(to, first);
    } else {
        sdfg_device_table(to, first);
    }
    (void)fclose(to);
    (void)sdfg_device_reversed(first);
    return text;
}
#endif

#endif
