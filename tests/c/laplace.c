/* The Laplace program called without a handle; integers keep every step exact.
 * The exit status is the line of the first failed check. */
#include "laplace.h"

#define CHECK(condition) do { if (!(condition)) return __LINE__ % 255 + 1; } while (0)
#define SIZE 100
#define STEPS 7

int main(void) {
    static double found[2 * SIZE], expected[2 * SIZE];
    for (int p = 0; p < 2 * SIZE; p++) found[p] = expected[p] = (p % SIZE * 13) % 17;
    for (int t = 0; t < STEPS; t++) {
        const double *from = expected + t % 2 * SIZE;
        double *to = expected + (t + 1) % 2 * SIZE;
        for (int i = 1; i < SIZE - 1; i++) to[i] = from[i - 1] - 2 * from[i] + from[i + 1];
    }
    CHECK(laplace(found, SIZE, STEPS) == LAPLACE_SUCCESS);
    for (int p = 0; p < 2 * SIZE; p++) CHECK(found[p] == expected[p]);
    CHECK(laplace(found, -2, 1) == LAPLACE_INVALID_ARGUMENT);
    CHECK(laplace(found, 0, 3) == LAPLACE_SUCCESS);
    return 0;
}
