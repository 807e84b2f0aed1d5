/* Images of kernels of the stand-ins: `nvrtc.cpp` makes them, and `driver.cpp` loads them. */
#ifndef SDFG_CUDA_IMAGE
#define SDFG_CUDA_IMAGE

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The beginning of an image. A shared library follows. */
struct StandInImage {
    char magic[16];
    uint32_t architecture, is_ptx;
    uint64_t size;
};
static const char STAND_IN_MAGIC[16] = "stand-in image\n";

/* Values of arguments of a kernel. The function by which the shared library keeps them, and the one by which it runs the kernel and frees
 * them: false if no device has such a grid. */
struct StandInArguments;
typedef StandInArguments *StandInKeep(void **arguments);
typedef bool StandInKernel(const unsigned *blocks, const unsigned *threads, StandInArguments *arguments);
#define STAND_IN_KERNEL "stand_in_kernel_"
#define STAND_IN_KEEP "stand_in_keep_"

/* The value of a word of the variable SDFG_STAND_IN, which tells the stand-ins to fail: `word` or `word=value`; NULL without it. */
static inline const char *stand_in_word(const char *word) {
    const char *at = getenv("SDFG_STAND_IN");
    const size_t length = strlen(word);
    while (at != NULL && *at != 0) {
        if (strncmp(at, word, length) == 0 && (at[length] == 0 || at[length] == ' ' || at[length] == '=')) {
            return at[length] == '=' ? at + length + 1 : at + length;
        }
        at = strchr(at, ' ');
        at += at != NULL;
    }
    return NULL;
}

#endif
