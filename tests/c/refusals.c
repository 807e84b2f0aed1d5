/* Calls that are refused: arrays that are NULL, and another size of memory that a handle keeps. */
#include "keeping.h"

#include <string.h>

#define CHECK(condition)                                                                                               \
    if (!(condition)) return __LINE__

int main(void) {
    int64_t a[8] = {0};
    keeping_t *handle = NULL;
    CHECK(keeping_create(NULL, &handle) == KEEPING_SUCCESS);

    CHECK(keeping_run(handle, NULL, 4) == KEEPING_INVALID_ARGUMENT);
    CHECK(strcmp(keeping_error(handle), "`A` is NULL") == 0);
    CHECK(keeping(NULL, 4) == KEEPING_INVALID_ARGUMENT);
    /* What has no elements needs no memory. */
    CHECK(keeping(NULL, 0) == KEEPING_SUCCESS);

    CHECK(keeping_run(handle, a, 4) == KEEPING_SUCCESS);
    CHECK(keeping_run(handle, a, 8) == KEEPING_INVALID_ARGUMENT);
    CHECK(strstr(keeping_error(handle), "`kept`") != NULL);
    CHECK(keeping_run(handle, a, 2) == KEEPING_INVALID_ARGUMENT);
    /* The handle goes on at its size. */
    CHECK(keeping_run(handle, a, 4) == KEEPING_SUCCESS);
    CHECK(a[3] == 3 && a[4] == 0);
    CHECK(strcmp(keeping_error(handle), "") == 0);
    keeping_destroy(handle);
    return 0;
}
