/* A program of DaCe's whose structures its callers pass: all members in their order, and members that the program does not use.
 * The exit status is the line of the first failed check. */
#include "members.h"

#define CHECK(condition) do { if (!(condition)) return __LINE__ % 255 + 1; } while (0)
#define SIZE 40

int main(void) {
    static double x[SIZE], y[SIZE];
    int32_t result = 0;
    struct inner_t inner = {-1, y, 1.5f};
    struct outer_t outer = {true, x, &inner, 6};
    members_t *handle = NULL;
    for (int i = 0; i < SIZE; i++) y[i] = i;
    CHECK(members_structures(&result, &outer, SIZE) == MEMBERS_SUCCESS);
    CHECK(result == 7);
    for (int i = 0; i < SIZE; i++) CHECK(x[i] == 1.5 * i);
    inner.by = 2;
    outer.count = 1;
    CHECK(members_create(NULL, &handle) == MEMBERS_SUCCESS);
    CHECK(members_run_structures(handle, &result, &outer, SIZE) == MEMBERS_SUCCESS);
    CHECK(result == 2);
    for (int i = 0; i < SIZE; i++) CHECK(x[i] == 2.0 * i);
    CHECK(inner.unused == -1 && outer.flag && outer.in == &inner);
    /* The flat functions stay. */
    CHECK(members_run(handle, &result, 5, 0.5f, y, x, SIZE) == MEMBERS_SUCCESS);
    CHECK(result == 6 && x[4] == 2.0);
    members_destroy(handle);
    return 0;
}
