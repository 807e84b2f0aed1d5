/* The program `reaches` doubles N elements of memory of the host, which are S elements apart; the size that it declares is N. */

#include PROGRAM
#include "caller.h"

int main(void) {
    double a[14];
    reaches_t *handle;
    CHECK(reaches_create(NULL, &handle) == 0);
    for (int i = 0; i < 14; ++i) {
        a[i] = i + 1;
    }
    CHECK(reaches_run(handle, a, 5, 3) == 0);
    for (int i = 0; i < 14; ++i) {
        CHECK(a[i] == (i % 3 == 0 && i < 13 ? 2 : 1) * (i + 1));
    }
    /* An array without elements has no memory. */
    CHECK(reaches_run(handle, NULL, 0, 3) == 0);
    reaches_destroy(handle);
    return 0;
}
