/* The SDFG program `branching`. Generated; do not edit. It has no parallel loops.
 *
 * Flags that it needs, besides -O3 and -march: -std=c11 -fopenmp -ffp-contract=fast -fno-math-errno -fno-strict-aliasing -lm
 * On x86-64 Linux, -fveclib=libmvec lets clang call mathematical functions of vectors.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Conditions are the program's: some always hold. */
#pragma GCC diagnostic ignored "-Wtautological-compare"
#pragma GCC diagnostic ignored "-Wtype-limits"

#ifdef __cplusplus
#define SDFG_C extern "C"
#define SDFG_RESTRICT __restrict__
#define SDFG_ALIGNED(bytes) alignas(bytes)
#else
#define SDFG_C extern
#define SDFG_RESTRICT restrict
#define SDFG_ALIGNED(bytes) _Alignas(bytes)
#endif
#define SDFG_API SDFG_C
#define SDFG_NOINLINE __attribute__((noinline))

/* One instance of the program: its scratch memory and its last error. */
typedef struct branching_t {
    const char *error;
    int32_t threads;
    int32_t status;
} branching_t;

typedef struct branching_config {
    size_t size;
    int32_t num_threads;
} branching_config;

static int32_t sdfg_fail(branching_t *handle, int32_t status, const char *text) {
    __atomic_store_n(&handle->error, text, __ATOMIC_RELAXED);
    __atomic_store_n(&handle->status, status, __ATOMIC_RELAXED);
    return status;
}

static SDFG_NOINLINE int32_t branching_body(branching_t *handle, const double *SDFG_RESTRICT A, const double *SDFG_RESTRICT B, double *SDFG_RESTRICT C) {
    (void)handle;
    double sum = 0;
    int next_1 = 0;
    next_1 = 0;
    for (;;) {
        switch (next_1) {
            case 0: {
                /* state add */
                sum = A[0] + B[0];
                if (sum <= 5.0) {
                    next_1 = 1;
                    continue;
                }
                next_1 = 2;
                continue;
                break;
            }
            case 1: {
                /* state twice */
                C[0] = 2.0 * sum;
                break;
            }
            default: {
                /* state half */
                C[0] = sum / 2.0;
                break;
            }
        }
        break;
    }
    return 0;
}

SDFG_API int32_t branching_create(const branching_config *config, branching_t **out) {
    int32_t threads = 0;
    branching_t *handle;
    if (out == NULL) {
        return 3;
    }
    *out = NULL;
    if (config != NULL) {
        if (config->size < 8 || (config->size >= 12 && config->num_threads < 0)) {
            return 1;
        }
        if (config->size >= 12 && config->num_threads != 0) {
            threads = config->num_threads;
        }
    }
    handle = (branching_t *)calloc(1, sizeof *handle);
    if (handle == NULL) {
        return 2;
    }
    handle->error = "";
    handle->threads = threads;
    *out = handle;
    return 0;
}

SDFG_API void branching_destroy(branching_t *handle) {
    if (handle == NULL) {
        return;
    }
    free(handle);
}

SDFG_API const char *branching_error(const branching_t *handle) {
    return handle != NULL ? handle->error : "the handle is NULL";
}

SDFG_API int32_t branching_run(branching_t *handle, double A_value, double B_value, double *C) {
    int32_t status = 0;
    if (handle == NULL) {
        return 3;
    }
    handle->error = "";
    handle->status = 0;
    double A[1] = { A_value };
    double B[1] = { B_value };
    {
    if (C == NULL) {
        status = sdfg_fail(handle, 3, "`C` is NULL");
        goto done;
    }
    status = branching_body(handle, A, B, C);
    }
done:;
    return status;
}

SDFG_API int32_t branching(double A_value, double B_value, double *C) {
    branching_t *handle;
    int32_t status = branching_create(NULL, &handle);
    if (status == 0) {
        status = branching_run(handle, A_value, B_value, C);
        branching_destroy(handle);
    }
    return status;
}

SDFG_API int32_t branching__invoke(branching_t *handle, void **arguments) {
    return branching_run(handle, *(const double *)arguments[0], *(const double *)arguments[1], (double *)arguments[2]);
}
