/* Complex arguments, seen as pairs of real and imaginary parts, which is their layout in C and in C++.
 * The exit status is the line of the first failed check. */
#include "butterfly.h"

#define CHECK(condition) do { if (!(condition)) return __LINE__ % 255 + 1; } while (0)
#define HALF 9

int main(void) {
    static sdfg_complex128 x[2 * HALF], w[HALF], y[2 * HALF];
    double *xs = (double *)x, *ws = (double *)w, *ys = (double *)y;
    for (int p = 0; p < 4 * HALF; p++) xs[p] = (p * 7) % 13 - 6;
    for (int p = 0; p < 2 * HALF; p++) ws[p] = ((p * 5) % 9 - 4) / 4.0;
    CHECK(butterfly(x, w, y, HALF) == BUTTERFLY_SUCCESS);
    for (int k = 0; k < HALF; k++) {
        const double *a = xs + 2 * k, *b = xs + 2 * (k + HALF), *t = ws + 2 * k;
        double re = t[0] * b[0] - t[1] * b[1], im = t[0] * b[1] + t[1] * b[0];
        CHECK(ys[2 * k] == a[0] + re && ys[2 * k + 1] == a[1] + im);
        CHECK(ys[2 * (k + HALF)] == a[0] - re && ys[2 * (k + HALF) + 1] == a[1] - im);
    }
    return 0;
}
