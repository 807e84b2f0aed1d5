/* Arrays of streams that the caller gives and takes back, as arrays of queues.
 * The exit status is the line of the first failed check. */
#include <stdlib.h>
#include <string.h>

#include "merging.h"

#define CHECK(condition) do { if (!(condition)) return __LINE__ % 255 + 1; } while (0)
#define P 3

static sdfg_queue numbers(int32_t first, int64_t count) {
    int32_t *elements = (int32_t *)malloc(sizeof(int32_t) * (size_t)(count + 1));
    for (int64_t i = 0; i < count; i++) elements[i] = first + (int32_t)i;
    sdfg_queue queue;
    queue.elements = elements;
    queue.count = count;
    return queue;
}

static int32_t at(const sdfg_queue *queue, int64_t k) { return ((const int32_t *)queue->elements)[k]; }

int main(void) {
    sdfg_queue in[P][2], out[P], beside[P + 1];
    for (int p = 0; p < P; p++) {
        in[p][0] = numbers(100 * p, 2);
        in[p][1] = numbers(100 * p + 10, 3);
        out[p] = numbers(-1, p == 1);
    }
    for (int p = 0; p <= P; p++) beside[p] = numbers(1000 + p, 2);
    /* Nothing is popped from the first one. */
    free(beside[0].elements);
    beside[0].elements = NULL;
    beside[0].count = 0;
    merging_t *handle;
    CHECK(merging_create(NULL, &handle) == MERGING_SUCCESS);
    CHECK(merging_run(handle, &in[0][0], out, beside, P) == MERGING_SUCCESS);
    for (int p = 0; p < P; p++) {
        CHECK(in[p][0].count == 1 && at(&in[p][0], 0) == 100 * p + 1);
        CHECK(in[p][1].count == 2 && at(&in[p][1], 1) == 100 * p + 12);
        int before = p == 1;
        CHECK(out[p].count == 4 + before && (!before || at(&out[p], 0) == -1));
        CHECK(at(&out[p], before) == p && at(&out[p], before + 1) == 100 * p);
        CHECK(at(&out[p], before + 2) == 100 * p + 10 && at(&out[p], before + 3) == 1001 + p);
        CHECK(beside[p + 1].count == 1 && at(&beside[p + 1], 0) == 1002 + p);
    }
    CHECK(beside[0].count == 0 && beside[0].elements == NULL);

    /* The last element behind one queue is missing: every queue of the caller is as it was. */
    beside[P].count = 0;
    void *elements = out[0].elements;
    CHECK(merging_run(handle, &in[0][0], out, beside, P) == MERGING_TRAP);
    CHECK(out[0].elements == elements && out[0].count == 4 && in[0][0].count == 1 && beside[1].count == 1);
    beside[P].count = 1;

    /* A queue of the array that is none, or the same one in two arrays; no queues need no memory. */
    beside[1].count = -1;
    CHECK(merging_run(handle, &in[0][0], out, beside, P) == MERGING_INVALID_ARGUMENT);
    CHECK(strstr(merging_error(handle), "`Beside` has elements") != NULL);
    beside[1].count = 1;
    CHECK(merging_run(handle, &in[0][0], out, &in[P - 1][1], P) == MERGING_INVALID_ARGUMENT);
    CHECK(strstr(merging_error(handle), "overlap") != NULL);
    CHECK(merging_run(handle, NULL, out, beside, P) == MERGING_INVALID_ARGUMENT);
    CHECK(merging_run(handle, &in[0][0], out, beside, -1) == MERGING_INVALID_ARGUMENT);
    CHECK(merging_run(handle, NULL, NULL, beside, 0) == MERGING_SUCCESS);
    merging_destroy(handle);
    for (int p = 0; p < P; p++) {
        free(in[p][0].elements);
        free(in[p][1].elements);
        free(out[p].elements);
    }
    for (int p = 0; p <= P; p++) free(beside[p].elements);
    return 0;
}
