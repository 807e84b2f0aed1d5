/* Arguments that may overlap: copies read all before they write, iterations work in place, and what is written by one name is
 * read by the other; the others still may not overlap. The exit status is the line of the first failed check. */
#include "moving.h"

#include <string.h>

#define CHECK(condition) do { if (!(condition)) return __LINE__ % 255 + 1; } while (0)
#define SIZE 1000

int main(void) {
    static int64_t memory[SIZE + 7], other[SIZE], expected[SIZE + 7];
    int64_t sum = 0, first;
    moving_t *handle = NULL;
    CHECK(moving_create(NULL, &handle) == MOVING_SUCCESS);

    /* Three names for one array, which is turned round. */
    for (int i = 0; i < SIZE; i++) memory[i] = i;
    CHECK(moving_run(handle, memory, memory, memory, &sum, SIZE) == MOVING_SUCCESS);
    first = 3 * (SIZE - 1) + 1000;
    CHECK(memory[0] == first);
    for (int i = 1; i < SIZE; i++) CHECK(memory[i] == 3 * (SIZE - 1 - i));
    CHECK(sum == SIZE / 2 * (SIZE - 1) + first);

    /* A copy up and a copy down. */
    for (int shift = -7; shift <= 7; shift += 14) {
        int64_t *a = memory + (shift < 0 ? 7 : 0), *b = a + shift;
        for (int i = 0; i < SIZE + 7; i++) expected[i] = memory[i] = i * 31 % 97;
        for (int i = 0; i < SIZE; i++) expected[b - memory + SIZE - 1 - i] = a[i];
        sum = 0;
        CHECK(moving_run(handle, a, b, other, &sum, SIZE) == MOVING_SUCCESS);
        for (int i = 0; i < SIZE + 7; i++) CHECK(memory[i] == expected[i]);
        for (int i = 1; i < SIZE; i++) CHECK(other[i] == a[i] + 2 * b[i]);
        CHECK(other[0] == a[0] + 1000);
    }

    /* Nothing was said of the sum. */
    CHECK(moving_run(handle, memory, other, other, memory + 3, SIZE) == MOVING_INVALID_ARGUMENT);
    CHECK(strcmp(moving_error(handle), "`A` and `s` overlap, and one of them is written") == 0);
    moving_destroy(handle);
    return 0;
}
