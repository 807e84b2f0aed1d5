/* Streams that the caller gives and takes back.
 * The exit status is the line of the first failed check. */
#include <stdlib.h>
#include <string.h>

#include "doubling.h"

#define CHECK(condition) do { if (!(condition)) return __LINE__ % 255 + 1; } while (0)

static sdfg_queue numbers(int64_t count) {
    int32_t *elements = (int32_t *)malloc(sizeof(int32_t) * (size_t)(count + 1));
    for (int64_t i = 0; i < count; i++) elements[i] = (int32_t)(10 * i);
    sdfg_queue queue;
    queue.elements = elements;
    queue.count = count;
    return queue;
}

int main(void) {
    sdfg_queue in = numbers(6), out = {NULL, 0};
    CHECK(doubling(&in, &out, 4) == DOUBLING_SUCCESS);
    CHECK(in.count == 2 && out.count == 8);
    const int32_t *left = (const int32_t *)in.elements, *pushed = (const int32_t *)out.elements;
    CHECK(left[0] == 40 && left[1] == 50);
    for (int i = 0; i < 4; i++) CHECK(pushed[2 * i] == 10 * i && pushed[2 * i + 1] == 20 * i);
    /* On the results of the run before, and with nothing to do. */
    CHECK(doubling(&in, &out, 1) == DOUBLING_SUCCESS);
    CHECK(in.count == 1 && out.count == 10 && ((int32_t *)out.elements)[9] == 80);
    CHECK(doubling(&in, &out, 0) == DOUBLING_SUCCESS && in.count == 1 && out.count == 10);

    /* It waits for elements that nobody pushes: what the caller gave is as it was. */
    doubling_t *handle;
    CHECK(doubling_create(NULL, &handle) == DOUBLING_SUCCESS);
    void *elements = in.elements;
    CHECK(doubling_run(handle, &in, &out, 2) == DOUBLING_TRAP);
    CHECK(strstr(doubling_error(handle), "In") != NULL);
    CHECK(in.elements == elements && in.count == 1 && out.count == 10);
    CHECK(doubling_run(handle, &in, &out, 1) == DOUBLING_SUCCESS && in.count == 0 && out.count == 12);

    /* What is no queue. */
    CHECK(doubling_run(handle, NULL, &out, 0) == DOUBLING_INVALID_ARGUMENT);
    CHECK(strstr(doubling_error(handle), "`In` is NULL") != NULL);
    CHECK(doubling_run(handle, &in, &in, 0) == DOUBLING_INVALID_ARGUMENT);
    sdfg_queue negative = {NULL, -1}, nowhere = {NULL, 1};
    CHECK(doubling_run(handle, &negative, &out, 0) == DOUBLING_INVALID_ARGUMENT);
    CHECK(strstr(doubling_error(handle), "`In` has elements") != NULL);
    CHECK(doubling_run(handle, &nowhere, &out, 0) == DOUBLING_INVALID_ARGUMENT);
    doubling_destroy(handle);
    free(in.elements);
    free(out.elements);
    return 0;
}
