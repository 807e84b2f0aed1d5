/* Runs the compiled program `laplace` on an instance of its own and compares it with the same loops in C. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "laplace.h"

enum { N = 1000, STEPS = 5 };

int main(void) {
    static double A[2][N], expected[2][N];
    A[0][N / 2] = A[1][N / 2] = expected[0][N / 2] = expected[1][N / 2] = 1.0;

    laplace_config config = {.size = sizeof config, .num_threads = 2};
    laplace_t *handle;
    if (laplace_create(&config, &handle) != LAPLACE_SUCCESS) {
        fputs("laplace: no instance\n", stderr);
        return EXIT_FAILURE;
    }
    /* An instance serves any number of calls. */
    if (laplace_run(handle, &A[0][0], N, STEPS) != LAPLACE_SUCCESS) {
        fprintf(stderr, "laplace: %s\n", laplace_error(handle));
        laplace_destroy(handle);
        return EXIT_FAILURE;
    }
    laplace_destroy(handle);

    for (int t = 0; t < STEPS; t++)
        for (int i = 1; i < N - 1; i++) {
            const double *old = expected[t % 2];
            expected[(t + 1) % 2][i] = old[i - 1] - 2.0 * old[i] + old[i + 1];
        }
    /* Small whole numbers: no rounding, so that every bit is the same. */
    for (int row = 0; row < 2; row++)
        for (int i = 0; i < N; i++)
            if (A[row][i] != expected[row][i]) {
                fprintf(stderr, "laplace: A[%d][%d] is %g instead of %g\n", row, i, A[row][i], expected[row][i]);
                return EXIT_FAILURE;
            }
    puts("laplace: ok");
    return EXIT_SUCCESS;
}
