/* A stream of the caller that there is no memory for, beside one that there is.
 * The exit status is the line of the first failed check. */
#include <stdlib.h>
#include <string.h>

#include "growing.h"

#define CHECK(condition) do { if (!(condition)) return __LINE__ % 255 + 1; } while (0)

#ifdef __cplusplus
#define THROWS_NOTHING noexcept
extern "C" {
#else
#define THROWS_NOTHING
#endif

/* What cannot be made larger. */
static void *fixed;

void *__libc_realloc(void *memory, size_t size);

/* In the place of the C library's, for the program under test as well. */
void *realloc(void *memory, size_t size) THROWS_NOTHING {
    return memory && memory == fixed ? NULL : __libc_realloc(memory, size);
}

#ifdef __cplusplus
}
#endif

static sdfg_queue one(int32_t number) {
    sdfg_queue queue;
    queue.elements = malloc(sizeof number);
    queue.count = 1;
    memcpy(queue.elements, &number, sizeof number);
    return queue;
}

static int32_t first_of(sdfg_queue queue) { return *(const int32_t *)queue.elements; }

int main(void) {
    sdfg_queue first = one(7), second = one(8);
    growing_t *handle;
    CHECK(growing_create(NULL, &handle) == GROWING_SUCCESS);
    fixed = second.elements;
    CHECK(growing_run(handle, &first, &second, 1000) == GROWING_OUT_OF_MEMORY);
    CHECK(strstr(growing_error(handle), "left in a stream") != NULL);
    CHECK(first.count == 1 && first_of(first) == 7);
    CHECK(second.count == 1 && first_of(second) == 8 && second.elements == fixed);

    /* Once there is memory, the same handle does it. */
    fixed = NULL;
    CHECK(growing_run(handle, &first, &second, 1000) == GROWING_SUCCESS);
    CHECK(first.count == 1001 && first_of(first) == 7);
    CHECK(second.count == 1001 && ((const int32_t *)second.elements)[1000] == 1998);
    growing_destroy(handle);
    free(first.elements);
    free(second.elements);
    return 0;
}
