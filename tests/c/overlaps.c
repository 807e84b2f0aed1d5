/* Arguments that overlap are refused if one of them is written; the ones that are only read may be the same. */
#include "adding.h"

#include <string.h>

#define CHECK(condition)                                                                                               \
    if (!(condition)) return __LINE__

int main(void) {
    int64_t memory[12] = {1, 2, 3, 4, 5, 6, 7, 8};
    adding_t *handle = NULL;
    CHECK(adding_create(NULL, &handle) == ADDING_SUCCESS);

    /* Side by side, and the same array twice where nothing writes it. */
    CHECK(adding_run(handle, memory, memory + 4, memory + 8, 4) == ADDING_SUCCESS);
    CHECK(memory[8] == 6 && memory[11] == 12);
    CHECK(adding_run(handle, memory, memory, memory + 4, 4) == ADDING_SUCCESS);
    CHECK(adding_run(handle, memory, memory + 1, memory + 5, 4) == ADDING_SUCCESS);

    CHECK(adding_run(handle, memory, memory + 4, memory, 4) == ADDING_INVALID_ARGUMENT);
    CHECK(strcmp(adding_error(handle), "`A` and `C` overlap, and one of them is written") == 0);
    CHECK(adding_run(handle, memory, memory + 4, memory + 7, 4) == ADDING_INVALID_ARGUMENT);
    CHECK(strcmp(adding_error(handle), "`B` and `C` overlap, and one of them is written") == 0);
    CHECK(adding_run(handle, memory + 8, memory + 3, memory, 4) == ADDING_INVALID_ARGUMENT);
    /* What is empty lies nowhere. */
    CHECK(adding_run(handle, memory + 1, memory + 1, memory + 1, 0) == ADDING_SUCCESS);
    adding_destroy(handle);
    return 0;
}
