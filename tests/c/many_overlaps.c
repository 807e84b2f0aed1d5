/* Overlaps of many arguments are refused with the names of the first pair, whichever it is. */
#include "many.h"

#include <string.h>

#define CHECK(condition)                                                                                               \
    if (!(condition)) return __LINE__

static int64_t memory[64];

/* A run in which the array `moved` starts at an element of its own choice; -1 is R. */
static int run(many_t *handle, int moved, int64_t element) {
    int64_t *place[13];
    for (int i = 0; i < 13; i++) place[i] = memory + 4 * i;
    place[moved + 1] = memory + element;
    return many_run(handle, place[0], place[1], place[2], place[3], place[4], place[5], place[6], place[7], place[8],
                    place[9], place[10], place[11], place[12], 4);
}

int main(void) {
    many_t *handle = NULL;
    for (int i = 0; i < 64; i++) memory[i] = i;
    CHECK(many_create(NULL, &handle) == MANY_SUCCESS);
    CHECK(run(handle, -1, 0) == MANY_SUCCESS);
    CHECK(memory[4] == 0 && memory[51] == 3);
    CHECK(run(handle, 11, 53) == MANY_SUCCESS);
    CHECK(run(handle, 11, 13) == MANY_INVALID_ARGUMENT);
    CHECK(strcmp(many_error(handle), "`A02` and `A11` overlap, and one of them is written") == 0);
    CHECK(run(handle, 0, 9) == MANY_INVALID_ARGUMENT);
    CHECK(strcmp(many_error(handle), "`A00` and `A01` overlap, and one of them is written") == 0);
    CHECK(run(handle, 11, 47) == MANY_INVALID_ARGUMENT);
    CHECK(strcmp(many_error(handle), "`A10` and `A11` overlap, and one of them is written") == 0);
    CHECK(run(handle, -1, 51) == MANY_INVALID_ARGUMENT);
    CHECK(strcmp(many_error(handle), "`R` and `A11` overlap, and one of them is written") == 0);
    many_destroy(handle);
    return 0;
}
