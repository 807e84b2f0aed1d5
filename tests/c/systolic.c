/* Processing elements joined by streams, each a task of the runtime that is in the library.
 * The exit status is the line of the first failed check. */
#include "systolic.h"

#define CHECK(condition) do { if (!(condition)) return __LINE__ % 255 + 1; } while (0)
#define SIZE 100
#define ELEMENTS 37

int main(void) {
    static double a[SIZE], b[SIZE];
    for (int i = 0; i < SIZE; i++) a[i] = (i * 13) % 17;
    CHECK(systolic(a, b, SIZE, ELEMENTS) == SYSTOLIC_SUCCESS);
    for (int i = 0; i < SIZE; i++) CHECK(b[i] == a[i] + ELEMENTS * (ELEMENTS + 1) / 2);
    CHECK(systolic(a, b, 0, 1) == SYSTOLIC_SUCCESS);
    CHECK(systolic(a, b, -1, 1) == SYSTOLIC_INVALID_ARGUMENT);
    return 0;
}
