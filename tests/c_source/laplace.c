/* The SDFG program `laplace`. Generated; do not edit.
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
#include <omp.h>

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
typedef struct laplace_t {
    const char *error;
    int32_t threads;
    int32_t status;
} laplace_t;

typedef struct laplace_config {
    size_t size;
    int32_t num_threads;
} laplace_config;

/* The number of steps to cover a distance. */
static inline int64_t sdfg_extent(int64_t distance, int64_t step) {
    return distance <= 0 ? 0 : step == 1 ? distance : (distance - 1) / step + 1;
}

/* The first iteration of a thread: the first threads do one more where they cannot all do the same number. */
static inline int64_t sdfg_share(int64_t total, int64_t thread, int64_t threads) {
    const int64_t rest = total % threads;
    return thread * (total / threads) + (thread < rest ? thread : rest);
}

static inline int64_t sdfg_floor_mod_i64(int64_t a, int64_t b) {
    const int64_t d = b == 0 || (b == -1 && a == INT64_MIN) ? 1 : b;
    const int64_t r = (int64_t)(a % d);
    return (int64_t)(r + b * ((r != 0) & ((r < 0) != (b < 0))));
}

static inline int64_t sdfg_sub_noting(int64_t a, int64_t b, int *overflow) {
    int64_t value;
    if (__builtin_sub_overflow(a, b, &value)) {
        *overflow = 1;
    }
    return value;
}

static inline int sdfg_threads(int32_t asked) {
    return asked > 0 ? asked : omp_get_max_threads();
}

static inline int64_t sdfg_add_i64(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int32_t sdfg_fail(laplace_t *handle, int32_t status, const char *text) {
    __atomic_store_n(&handle->error, text, __ATOMIC_RELAXED);
    __atomic_store_n(&handle->status, status, __ATOMIC_RELAXED);
    return status;
}

static SDFG_NOINLINE void laplace_cells(int64_t N, int64_t t, double *SDFG_RESTRICT A, int64_t thread, int64_t threads) {
    const int64_t sdfg_t1 = sdfg_extent(N - 1 - 1, 1);
    const int64_t sdfg_t2 = sdfg_share(sdfg_t1, thread, threads);
    const int64_t sdfg_t3 = sdfg_share(sdfg_t1, thread + 1, threads);
    const int64_t sdfg_t4 = 1 + sdfg_t3;
    for (int64_t i = 1 + sdfg_t2; i < sdfg_t4; ++i) {
        A[N * sdfg_floor_mod_i64(t + 1, 2) + i] = A[N * sdfg_floor_mod_i64(t, 2) + i - 1] - 2.0 * A[N * sdfg_floor_mod_i64(t, 2) + i] + A[N * sdfg_floor_mod_i64(t, 2) + i + 1];
    }
}

static SDFG_NOINLINE int32_t laplace_body(laplace_t *handle, int64_t N, int64_t T, double *SDFG_RESTRICT A) {
    int64_t t = 0;
    /* loop steps */
    t = 0;
    while (t < T) {
        /* state step */
        /* map cells */
        int sdfg_t2 = 0;
        const int64_t sdfg_t1 = sdfg_sub_noting(N, 2, &sdfg_t2);
        if ((sdfg_t2 != 0 ? INT64_MAX : sdfg_t1) < 4096) {
            laplace_cells(N, t, A, 0, 1);
        } else {
            #pragma omp parallel num_threads(sdfg_threads(handle->threads))
            laplace_cells(N, t, A, omp_get_thread_num(), omp_get_num_threads());
        }
        t = sdfg_add_i64(t, 1);
    }
    return 0;
}

SDFG_API int32_t laplace_create(const laplace_config *config, laplace_t **out) {
    int32_t threads = 0;
    laplace_t *handle;
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
    handle = (laplace_t *)calloc(1, sizeof *handle);
    if (handle == NULL) {
        return 2;
    }
    handle->error = "";
    handle->threads = threads;
    *out = handle;
    return 0;
}

SDFG_API void laplace_destroy(laplace_t *handle) {
    if (handle == NULL) {
        return;
    }
    free(handle);
}

SDFG_API const char *laplace_error(const laplace_t *handle) {
    return handle != NULL ? handle->error : "the handle is NULL";
}

SDFG_API int32_t laplace_run(laplace_t *handle, double *A, int64_t N, int64_t T) {
    int32_t status = 0;
    if (handle == NULL) {
        return 3;
    }
    handle->error = "";
    handle->status = 0;
    {
    if (N < 0) {
        status = sdfg_fail(handle, 3, "`N` is negative");
        goto done;
    }
    if (A == NULL && 2 * N > 0) {
        status = sdfg_fail(handle, 3, "`A` is NULL");
        goto done;
    }
    status = laplace_body(handle, N, T, A);
    }
done:;
    return status;
}

SDFG_API int32_t laplace(double *A, int64_t N, int64_t T) {
    laplace_t *handle;
    int32_t status = laplace_create(NULL, &handle);
    if (status == 0) {
        status = laplace_run(handle, A, N, T);
        laplace_destroy(handle);
    }
    return status;
}

SDFG_API int32_t laplace__invoke(laplace_t *handle, void **arguments) {
    return laplace_run(handle, (double *)arguments[0], *(const int64_t *)arguments[1], *(const int64_t *)arguments[2]);
}
