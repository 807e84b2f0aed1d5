/* The SDFG program `histogram`. Generated; do not edit.
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
typedef struct histogram_t {
    const char *error;
    int32_t threads;
    int32_t status;
} histogram_t;

typedef struct histogram_config {
    size_t size;
    int32_t num_threads;
} histogram_config;

/* The number of steps to cover a distance. */
static inline int64_t sdfg_extent(int64_t distance, int64_t step) {
    return distance <= 0 ? 0 : step == 1 ? distance : (distance - 1) / step + 1;
}

/* The first iteration of a thread: the first threads do one more where they cannot all do the same number. */
static inline int64_t sdfg_share(int64_t total, int64_t thread, int64_t threads) {
    const int64_t rest = total % threads;
    return thread * (total / threads) + (thread < rest ? thread : rest);
}

static inline int sdfg_threads(int32_t asked) {
    return asked > 0 ? asked : omp_get_max_threads();
}

static inline int64_t sdfg_add_i64(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t sdfg_mul_noting(int64_t a, int64_t b, int *overflow) {
    int64_t value;
    if (__builtin_mul_overflow(a, b, &value)) {
        *overflow = 1;
    }
    return value;
}

static int32_t sdfg_fail(histogram_t *handle, int32_t status, const char *text) {
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

static SDFG_NOINLINE void histogram_values(int64_t *SDFG_RESTRICT bins, int64_t thread, int64_t threads) {
    const int64_t sdfg_t1 = sdfg_extent(256, 1);
    const int64_t sdfg_t2 = sdfg_share(sdfg_t1, thread, threads);
    const int64_t sdfg_t3 = sdfg_share(sdfg_t1, thread + 1, threads);
    const int64_t sdfg_t4 = sdfg_t3;
    for (int64_t v = sdfg_t2; v < sdfg_t4; ++v) {
        bins[v] = 0;
    }
}

static SDFG_NOINLINE void histogram_pixels(int64_t H, int64_t W, const uint8_t *SDFG_RESTRICT image, int64_t *bins, int64_t thread, int64_t threads) {
    SDFG_ALIGNED(64) int64_t bins_private[2112];
    const int64_t sdfg_t1 = sdfg_extent(H, 1);
    for (int64_t sdfg_t2 = 0; sdfg_t2 < 2112; ++sdfg_t2) {
        bins_private[sdfg_t2] = 0;
    }
    const int64_t sdfg_t3 = sdfg_share(sdfg_t1, thread, threads);
    const int64_t sdfg_t4 = sdfg_share(sdfg_t1, thread + 1, threads);
    const int64_t sdfg_t5 = sdfg_t4;
    for (int64_t y = sdfg_t3; y < sdfg_t5; ++y) {
        const int64_t sdfg_t7 = sdfg_extent(W, 1);
        int64_t sdfg_t6 = 0;
        for (; sdfg_t7 - sdfg_t6 >= 8; sdfg_t6 += 8) {
            #pragma GCC unroll 8
            for (int64_t sdfg_t9 = 0; sdfg_t9 < 8; ++sdfg_t9) {
                const int64_t sdfg_t8 = sdfg_t6 + sdfg_t9;
                const int64_t x = sdfg_t8;
                const int64_t copy = sdfg_t9;
                {
                    const uint8_t v_ = image[W * y + x];
                    bins_private[264 * copy + (int64_t)v_] = sdfg_add_i64(bins_private[264 * copy + (int64_t)v_], 1);
                }
            }
        }
        for (; sdfg_t6 < sdfg_t7; ++sdfg_t6) {
            const int64_t x = sdfg_t6;
            const int64_t copy = 0;
            {
                const uint8_t v_ = image[W * y + x];
                bins_private[264 * copy + (int64_t)v_] = sdfg_add_i64(bins_private[264 * copy + (int64_t)v_], 1);
            }
        }
    }
    #pragma omp critical
    {
        for (int64_t sdfg_t10 = 0; sdfg_t10 < 8; ++sdfg_t10) {
            for (int64_t sdfg_t11 = 0; sdfg_t11 < 256; ++sdfg_t11) {
                bins[sdfg_t11] = sdfg_add_i64(bins[sdfg_t11], bins_private[sdfg_t10 * 264 + sdfg_t11]);
            }
        }
    }
}

static SDFG_NOINLINE int32_t histogram_body(histogram_t *handle, int64_t H, int64_t W, const uint8_t *SDFG_RESTRICT image, int64_t *SDFG_RESTRICT bins) {
    /* state clear */
    /* map values */
    if (256 < 4096) {
        histogram_values(bins, 0, 1);
    } else {
        #pragma omp parallel num_threads(sdfg_threads(handle->threads))
        histogram_values(bins, omp_get_thread_num(), omp_get_num_threads());
    }
    /* state count */
    /* map pixels */
    int sdfg_t2 = 0;
    const int64_t sdfg_t1 = sdfg_mul_noting(H, W, &sdfg_t2);
    if ((sdfg_t2 != 0 ? INT64_MAX : sdfg_t1) < 4096) {
        histogram_pixels(H, W, image, bins, 0, 1);
    } else {
        #pragma omp parallel num_threads(sdfg_threads(handle->threads))
        histogram_pixels(H, W, image, bins, omp_get_thread_num(), omp_get_num_threads());
    }
    return 0;
}

SDFG_API int32_t histogram_create(const histogram_config *config, histogram_t **out) {
    int32_t threads = 0;
    histogram_t *handle;
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
    handle = (histogram_t *)calloc(1, sizeof *handle);
    if (handle == NULL) {
        return 2;
    }
    handle->error = "";
    handle->threads = threads;
    *out = handle;
    return 0;
}

SDFG_API void histogram_destroy(histogram_t *handle) {
    if (handle == NULL) {
        return;
    }
    free(handle);
}

SDFG_API const char *histogram_error(const histogram_t *handle) {
    return handle != NULL ? handle->error : "the handle is NULL";
}

SDFG_API int32_t histogram_run(histogram_t *handle, const uint8_t *image, int64_t *bins, int64_t H, int64_t W) {
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
    if (W < 0) {
        status = sdfg_fail(handle, 3, "`W` is negative");
        goto done;
    }
    if (image == NULL && H * W > 0) {
        status = sdfg_fail(handle, 3, "`image` is NULL");
        goto done;
    }
    if (bins == NULL) {
        status = sdfg_fail(handle, 3, "`bins` is NULL");
        goto done;
    }
    int sdfg_t2 = 0;
    const int64_t sdfg_t1 = sdfg_mul_noting(H, W, &sdfg_t2);
    if (sdfg_meet(image, sdfg_bytes(sdfg_t1, (int64_t)sizeof(uint8_t), sdfg_t2), bins, sdfg_bytes(256, (int64_t)sizeof(int64_t), 0))) {
        status = sdfg_fail(handle, 3, "`image` and `bins` overlap, and one of them is written");
        goto done;
    }
    status = histogram_body(handle, H, W, image, bins);
    }
done:;
    return status;
}

SDFG_API int32_t histogram(const uint8_t *image, int64_t *bins, int64_t H, int64_t W) {
    histogram_t *handle;
    int32_t status = histogram_create(NULL, &handle);
    if (status == 0) {
        status = histogram_run(handle, image, bins, H, W);
        histogram_destroy(handle);
    }
    return status;
}

SDFG_API int32_t histogram__invoke(histogram_t *handle, void **arguments) {
    return histogram_run(handle, (const uint8_t *)arguments[0], (int64_t *)arguments[1], *(const int64_t *)arguments[2], *(const int64_t *)arguments[3]);
}
