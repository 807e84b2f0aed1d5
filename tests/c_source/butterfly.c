/* The SDFG program `butterfly`. Generated; do not edit.
 *
 * Flags that it needs, besides -O3 and -march: -std=c11 -fopenmp -ffp-contract=fast -fno-math-errno -fno-strict-aliasing -lm
 * On x86-64 Linux, -fveclib=libmvec lets clang call mathematical functions of vectors.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <math.h>
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
typedef struct butterfly_t {
    const char *error;
    int32_t threads;
    int32_t status;
} butterfly_t;

typedef struct butterfly_config {
    size_t size;
    int32_t num_threads;
} butterfly_config;

typedef struct { double re, im; } sdfg_complex128;

/* The number of steps to cover a distance. */
static inline int64_t sdfg_extent(int64_t distance, int64_t step) {
    return distance <= 0 ? 0 : step == 1 ? distance : (distance - 1) / step + 1;
}

/* The first iteration of a thread: the first threads do one more where they cannot all do the same number. */
static inline int64_t sdfg_share(int64_t total, int64_t thread, int64_t threads) {
    const int64_t rest = total % threads;
    return thread * (total / threads) + (thread < rest ? thread : rest);
}

static inline sdfg_complex128 sdfg_complex128_of(double re, double im) {
    sdfg_complex128 value;
    value.re = re;
    value.im = im;
    return value;
}

static inline sdfg_complex128 sdfg_mul_complex128(sdfg_complex128 a, sdfg_complex128 b) {
    return sdfg_complex128_of(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}

static inline sdfg_complex128 sdfg_add_complex128(sdfg_complex128 a, sdfg_complex128 b) {
    return sdfg_complex128_of(a.re + b.re, a.im + b.im);
}

static inline sdfg_complex128 sdfg_sub_complex128(sdfg_complex128 a, sdfg_complex128 b) {
    return sdfg_complex128_of(a.re - b.re, a.im - b.im);
}

static inline int sdfg_threads(int32_t asked) {
    return asked > 0 ? asked : omp_get_max_threads();
}

static int32_t sdfg_fail(butterfly_t *handle, int32_t status, const char *text) {
    __atomic_store_n(&handle->error, text, __ATOMIC_RELAXED);
    __atomic_store_n(&handle->status, status, __ATOMIC_RELAXED);
    return status;
}

static bool sdfg_meet(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
    const uintptr_t first = (uintptr_t)a, second = (uintptr_t)b;
    return a_bytes > 0 && b_bytes > 0 && first < second + b_bytes && second < first + a_bytes;
}

/* The bytes of so many elements: none if their number is negative, and more than there are if it does not fit. */
static inline size_t sdfg_bytes(int64_t elements, int64_t size, int overflow) {
    if (overflow != 0 || elements > INT64_MAX / size) {
        return (size_t)INT64_MAX;
    }
    return elements <= 0 ? 0 : (size_t)(elements * size);
}

static inline int64_t sdfg_mul_noting(int64_t a, int64_t b, int *overflow) {
    int64_t value;
    if (__builtin_mul_overflow(a, b, &value)) {
        *overflow = 1;
    }
    return value;
}

static SDFG_NOINLINE void butterfly_pairs(int64_t H, const sdfg_complex128 *SDFG_RESTRICT x, const sdfg_complex128 *SDFG_RESTRICT w, sdfg_complex128 *SDFG_RESTRICT y, int64_t thread, int64_t threads) {
    const int64_t sdfg_t1 = sdfg_extent(H, 1);
    const int64_t sdfg_t2 = sdfg_share(sdfg_t1, thread, threads);
    const int64_t sdfg_t3 = sdfg_share(sdfg_t1, thread + 1, threads);
    const int64_t sdfg_t4 = sdfg_t3;
    for (int64_t k = sdfg_t2; k < sdfg_t4; ++k) {
        {
            const sdfg_complex128 a = x[k];
            const sdfg_complex128 b = x[H + k];
            const sdfg_complex128 t = w[k];
            sdfg_complex128 p = sdfg_mul_complex128(t, b);
            sdfg_complex128 s = sdfg_add_complex128(a, p);
            sdfg_complex128 d = sdfg_sub_complex128(a, p);
            y[k] = s;
            y[H + k] = d;
        }
    }
}

static SDFG_NOINLINE int32_t butterfly_body(butterfly_t *handle, int64_t H, const sdfg_complex128 *SDFG_RESTRICT x, const sdfg_complex128 *SDFG_RESTRICT w, sdfg_complex128 *SDFG_RESTRICT y) {
    /* state stage */
    /* map pairs */
    if (H < 4096) {
        butterfly_pairs(H, x, w, y, 0, 1);
    } else {
        #pragma omp parallel num_threads(sdfg_threads(handle->threads))
        butterfly_pairs(H, x, w, y, omp_get_thread_num(), omp_get_num_threads());
    }
    return 0;
}

SDFG_API int32_t butterfly_create(const butterfly_config *config, butterfly_t **out) {
    int32_t threads = 0;
    butterfly_t *handle;
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
    handle = (butterfly_t *)calloc(1, sizeof *handle);
    if (handle == NULL) {
        return 2;
    }
    handle->error = "";
    handle->threads = threads;
    *out = handle;
    return 0;
}

SDFG_API void butterfly_destroy(butterfly_t *handle) {
    if (handle == NULL) {
        return;
    }
    free(handle);
}

SDFG_API const char *butterfly_error(const butterfly_t *handle) {
    return handle != NULL ? handle->error : "the handle is NULL";
}

SDFG_API int32_t butterfly_run(butterfly_t *handle, const sdfg_complex128 *x, const sdfg_complex128 *w, sdfg_complex128 *y, int64_t H) {
    int32_t status = 0;
    if (handle == NULL) {
        return 3;
    }
    handle->error = "";
    handle->status = 0;
    {
    if (H < 0) {
        status = sdfg_fail(handle, 3, "`H` is negative");
        goto done;
    }
    if (x == NULL && 2 * H > 0) {
        status = sdfg_fail(handle, 3, "`x` is NULL");
        goto done;
    }
    if (w == NULL && H > 0) {
        status = sdfg_fail(handle, 3, "`w` is NULL");
        goto done;
    }
    if (y == NULL && 2 * H > 0) {
        status = sdfg_fail(handle, 3, "`y` is NULL");
        goto done;
    }
    int sdfg_t2 = 0;
    const int64_t sdfg_t1 = sdfg_mul_noting(2, H, &sdfg_t2);
    int sdfg_t4 = 0;
    const int64_t sdfg_t3 = sdfg_mul_noting(2, H, &sdfg_t4);
    if (sdfg_meet(x, sdfg_bytes(sdfg_t1, (int64_t)sizeof(sdfg_complex128), sdfg_t2), y, sdfg_bytes(sdfg_t3, (int64_t)sizeof(sdfg_complex128), sdfg_t4))) {
        status = sdfg_fail(handle, 3, "`x` and `y` overlap, and one of them is written");
        goto done;
    }
    int sdfg_t6 = 0;
    const int64_t sdfg_t5 = sdfg_mul_noting(2, H, &sdfg_t6);
    if (sdfg_meet(w, sdfg_bytes(H, (int64_t)sizeof(sdfg_complex128), 0), y, sdfg_bytes(sdfg_t5, (int64_t)sizeof(sdfg_complex128), sdfg_t6))) {
        status = sdfg_fail(handle, 3, "`w` and `y` overlap, and one of them is written");
        goto done;
    }
    status = butterfly_body(handle, H, x, w, y);
    }
done:;
    return status;
}

SDFG_API int32_t butterfly(const sdfg_complex128 *x, const sdfg_complex128 *w, sdfg_complex128 *y, int64_t H) {
    butterfly_t *handle;
    int32_t status = butterfly_create(NULL, &handle);
    if (status == 0) {
        status = butterfly_run(handle, x, w, y, H);
        butterfly_destroy(handle);
    }
    return status;
}

SDFG_API int32_t butterfly__invoke(butterfly_t *handle, void **arguments) {
    return butterfly_run(handle, (const sdfg_complex128 *)arguments[0], (const sdfg_complex128 *)arguments[1], (sdfg_complex128 *)arguments[2], *(const int64_t *)arguments[3]);
}
