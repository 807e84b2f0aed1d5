/* Runs a program with timers three times and looks at what they found. */
#include "adding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) \
    if (!(condition)) return __LINE__ & 127

enum { N = 1000, RUNS = 3 };

/* Whether a line of the table is of a kind and a path, and counts so many executions. */
static int has_row(const char *table, const char *kind, const char *path, long count) {
    for (const char *line = table; *line; line = strchr(line, '\n') + 1) {
        size_t length = (size_t)(strchr(line, '\n') - line), kind_length = strlen(kind), path_length = strlen(path);
        if (length < kind_length + path_length + 2 || strncmp(line, kind, kind_length) != 0 || line[kind_length] != ' ') continue;
        if (strncmp(line + length - path_length, path, path_length) != 0 || line[length - path_length - 1] != ' ') continue;
        if (strtol(line + kind_length, NULL, 10) == count) return 1;
    }
    return 0;
}

static long occurrences(const char *text, const char *part) {
    long count = 0;
    while ((text = strstr(text, part)) != NULL) count++, text++;
    return count;
}

int main(void) {
    static int64_t a[N], b[N], c[N];
    adding_config config;
    adding_t *handle = NULL;
    const char *text;
    memset(&config, 0, sizeof config);
    config.size = sizeof config;
    config.num_threads = 2;
    for (int i = 0; i < N; i++) a[i] = i, b[i] = 2 * i;

    CHECK(adding_profile(NULL, ADDING_PROFILE_TABLE) == NULL);
    CHECK(adding_create(&config, &handle) == ADDING_SUCCESS);
    text = adding_profile(handle, ADDING_PROFILE_TABLE);
    CHECK(text != NULL && has_row(text, "program", "adding", 0));
    for (int run = 0; run < RUNS; run++) {
        CHECK(adding_run(handle, a, b, c, N) == ADDING_SUCCESS);
        for (int i = 0; i < N; i++) CHECK(c[i] == 3 * i);
    }
    CHECK(adding_run(handle, a, b, c, -N) == ADDING_INVALID_ARGUMENT);
    text = adding_profile(handle, ADDING_PROFILE_TABLE);
    CHECK(text != NULL);
    CHECK(has_row(text, "program", "adding", RUNS));
    CHECK(has_row(text, "block", "adding/s", RUNS));
    CHECK(has_row(text, "map", "adding/s/all", RUNS));
    CHECK(has_row(text, "part", "adding/s/all", 2 * RUNS));
    CHECK(has_row(text, "tasklet", "adding/s/add", (long)RUNS * N));
    text = adding_profile(handle, ADDING_PROFILE_TRACE);
    CHECK(text != NULL && strncmp(text, "{", 1) == 0);
    CHECK(occurrences(text, "\"cat\": \"part\", \"ph\": \"X\"") == 2 * RUNS);
    CHECK(occurrences(text, "\"cat\": \"tasklet\", \"ph\": \"X\"") == RUNS * N);
    adding_destroy(handle);
    return 0;
}
