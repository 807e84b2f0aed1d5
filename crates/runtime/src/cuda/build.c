/* Images of kernels for a library that is being built, by the same functions as when a program runs. Rust calls them
 * (`crates/runtime/src/nvrtc.rs`). */

#include "nvrtc.h"

/* Compiles kernels for one architecture. The image belongs to the caller until it is released; the text has the messages of the compiler, or
 * what fails. The version is that of NVRTC, 1000 times the major one and the minor one, or 0 if there is none. */
bool sdfg_nvrtc_build(const char *source, const char *options, int architecture, bool is_ptx, unsigned char **bytes, size_t *size, int *version, char *text, size_t text_size) {
    sdfg_nvrtc nvrtc;
    sdfg_image image = { architecture, is_ptx, NULL, 0 };
    *version = 0;
    if (!sdfg_nvrtc_open(&nvrtc, 0, text, text_size)) {
        return false;
    }
    *version = 1000 * nvrtc.major + nvrtc.minor;
    if (sdfg_nvrtc_architecture(&nvrtc, architecture) != architecture) {
        snprintf(text, text_size, "NVRTC %d.%d does not know the architecture %d", nvrtc.major, nvrtc.minor, architecture);
        return false;
    }
    if (!sdfg_nvrtc_compile(&nvrtc, source, options, &image, text, text_size)) {
        return false;
    }
    *bytes = image.bytes;
    *size = image.size;
    return true;
}

void sdfg_nvrtc_release(unsigned char *bytes) {
    free(bytes);
}
