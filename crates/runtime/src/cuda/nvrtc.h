/* NVRTC, the compiler of CUDA as a library: it makes images of kernels, and needs no device. Compiled programs use it when
 * they run first, and `sdfg compile --cuda-arch` when it builds a library.
 *
 * The library is opened by its name, so that no SDK is needed to build a program. The declarations are this file's own. */

#include "../device/common.h"

/* The library of NVRTC; the variable SDFG_NVRTC names another one. */
#ifndef SDFG_NVRTC
#define SDFG_NVRTC ""
#endif

/* Functions of NVRTC: result, name, parameters. */
#define SDFG_NVRTC_FUNCTIONS(F) \
    F(int, nvrtcVersion, (int *, int *)) \
    F(int, nvrtcGetNumSupportedArchs, (int *)) \
    F(int, nvrtcGetSupportedArchs, (int *)) \
    F(int, nvrtcCreateProgram, (sdfg_object *, const char *, const char *, int, const char *const *, const char *const *)) \
    F(int, nvrtcCompileProgram, (sdfg_object, int, const char *const *)) \
    F(int, nvrtcGetProgramLogSize, (sdfg_object, size_t *)) \
    F(int, nvrtcGetProgramLog, (sdfg_object, char *)) \
    F(int, nvrtcGetCUBINSize, (sdfg_object, size_t *)) \
    F(int, nvrtcGetCUBIN, (sdfg_object, char *)) \
    F(int, nvrtcGetPTXSize, (sdfg_object, size_t *)) \
    F(int, nvrtcGetPTX, (sdfg_object, char *)) \
    F(int, nvrtcDestroyProgram, (sdfg_object *)) \
    F(const char *, nvrtcGetErrorString, (int))

typedef struct sdfg_nvrtc {
    void *library;
    int major, minor;
#define SDFG_NVRTC_MEMBER(result, name, parameters) result(*name) parameters;
    SDFG_NVRTC_FUNCTIONS(SDFG_NVRTC_MEMBER)
#undef SDFG_NVRTC_MEMBER
} sdfg_nvrtc;

/* Kernels as a driver loads them: code of one architecture (10 times its major version and its minor version), or PTX, from
 * which the driver makes code of this or a later one. */
typedef struct sdfg_image {
    int architecture;
    bool is_ptx;
    unsigned char *bytes;
    size_t size;
} sdfg_image;

/* Opens NVRTC, best of the major version of a driver (0: any). It stays open. The text says what fails. */
SDFG_DEVICE_FUNCTION bool sdfg_nvrtc_open(sdfg_nvrtc *nvrtc, int major, char *text, size_t size) {
    static const char *const names[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so" };
    const char *asked = getenv("SDFG_NVRTC");
    if (asked == NULL || asked[0] == 0) {
        asked = SDFG_NVRTC;
    }
    if (asked[0] != 0) {
        nvrtc->library = dlopen(asked, RTLD_NOW | RTLD_LOCAL);
    } else {
        char own[32];
        snprintf(own, sizeof own, "libnvrtc.so.%d", major);
        nvrtc->library = major > 0 ? dlopen(own, RTLD_NOW | RTLD_LOCAL) : NULL;
        for (size_t n = 0; n < sizeof names / sizeof names[0] && nvrtc->library == NULL; ++n) {
            nvrtc->library = dlopen(names[n], RTLD_NOW | RTLD_LOCAL);
        }
    }
    if (nvrtc->library == NULL) {
        const char *const reason = dlerror();
        snprintf(text, size, "no NVRTC, which compiles kernels: %s (the CUDA toolkit and the Python package `nvidia-cuda-nvrtc` have it; the variable SDFG_NVRTC names the file libnvrtc.so)", asked[0] == 0 || reason == NULL ? "libnvrtc.so is not found" : reason);
        return false;
    }
    const char *missing = NULL;
#define SDFG_NVRTC_FIND(result, name, parameters) \
    if ((*(void **)&nvrtc->name = dlsym(nvrtc->library, #name)) == NULL) { \
        missing = #name; \
    }
    SDFG_NVRTC_FUNCTIONS(SDFG_NVRTC_FIND)
#undef SDFG_NVRTC_FIND
    if (missing != NULL) {
        snprintf(text, size, "NVRTC has no function `%s`: it must be of CUDA 11.2 or later", missing);
    } else if (nvrtc->nvrtcVersion(&nvrtc->major, &nvrtc->minor) != 0) {
        missing = "nvrtcVersion";
        snprintf(text, size, "NVRTC does not tell its version");
    }
    if (missing != NULL) {
        (void)dlclose(nvrtc->library);
    }
    return missing == NULL;
}

/* The latest architecture that NVRTC knows up to one of a device; 0 if there is none. */
SDFG_DEVICE_FUNCTION int sdfg_nvrtc_architecture(const sdfg_nvrtc *nvrtc, int architecture) {
    int count = 0, latest = 0;
    if (nvrtc->nvrtcGetNumSupportedArchs(&count) != 0 || count <= 0) {
        return 0;
    }
    int *const known = (int *)calloc((size_t)count, sizeof *known);
    if (known != NULL && nvrtc->nvrtcGetSupportedArchs(known) == 0) {
        for (int n = 0; n < count; ++n) {
            latest = known[n] <= architecture && known[n] > latest ? known[n] : latest;
        }
    }
    free(known);
    return latest;
}

/* Writes the messages of the compiler behind those that are there. */
SDFG_DEVICE_FUNCTION void sdfg_nvrtc_log(const sdfg_nvrtc *nvrtc, sdfg_object program, char *text, size_t size) {
    size_t bytes = 0;
    const size_t begin = strlen(text);
    char *const log = nvrtc->nvrtcGetProgramLogSize(program, &bytes) == 0 ? (char *)calloc(1, bytes + 1) : NULL;
    if (log != NULL && nvrtc->nvrtcGetProgramLog(program, log) == 0) {
        snprintf(text + begin, size - begin, "%s", log);
    }
    free(log);
}

/* Takes the image of a compiled program: one of two pairs of functions. */
SDFG_DEVICE_FUNCTION bool sdfg_nvrtc_take(const sdfg_nvrtc *nvrtc, sdfg_object program, sdfg_image *image) {
    const int error = image->is_ptx ? nvrtc->nvrtcGetPTXSize(program, &image->size) : nvrtc->nvrtcGetCUBINSize(program, &image->size);
    if (error != 0 || image->size == 0) {
        return false;
    }
    image->bytes = (unsigned char *)malloc(image->size);
    if (image->bytes == NULL) {
        return false;
    }
    if ((image->is_ptx ? nvrtc->nvrtcGetPTX(program, (char *)image->bytes) : nvrtc->nvrtcGetCUBIN(program, (char *)image->bytes)) == 0) {
        return true;
    }
    free(image->bytes);
    image->bytes = NULL;
    return false;
}

/* Compiles kernels for the architecture of an image, whose bytes the caller frees. The text has the messages of the compiler, also
 * if it succeeds. */
SDFG_DEVICE_FUNCTION bool sdfg_nvrtc_compile(const sdfg_nvrtc *nvrtc, const char *source, const char *options, sdfg_image *image, char *text, size_t size) {
    enum { MOST = 15 };
    char architecture[64], words[256];
    const char *all[MOST + 1] = { architecture };
    int count = 1;
    sdfg_object program = NULL;
    snprintf(architecture, sizeof architecture, "--gpu-architecture=%s_%d", image->is_ptx ? "compute" : "sm", image->architecture);
    snprintf(words, sizeof words, "%s", options);
    char *rest = NULL;
    for (char *word = strtok_r(words, " ", &rest); word != NULL && count < MOST; word = strtok_r(NULL, " ", &rest)) {
        all[count++] = word;
    }
    text[0] = 0;
    int error = nvrtc->nvrtcCreateProgram(&program, source, "kernels.cu", 0, NULL, NULL);
    if (error == 0) {
        error = nvrtc->nvrtcCompileProgram(program, count, all);
        if (error != 0) {
            snprintf(text, size, "NVRTC %d.%d does not compile the kernels for %s_%d (%s): ", nvrtc->major, nvrtc->minor, image->is_ptx ? "compute" : "sm", image->architecture, nvrtc->nvrtcGetErrorString(error));
        }
        sdfg_nvrtc_log(nvrtc, program, text, size);
    } else {
        snprintf(text, size, "NVRTC %d.%d takes no kernels: %s", nvrtc->major, nvrtc->minor, nvrtc->nvrtcGetErrorString(error));
    }
    bool is_made = error == 0 && sdfg_nvrtc_take(nvrtc, program, image);
    if (error == 0 && !is_made) {
        snprintf(text, size, "NVRTC %d.%d gives no image of the kernels", nvrtc->major, nvrtc->minor);
    }
    if (program != NULL) {
        (void)nvrtc->nvrtcDestroyProgram(&program);
    }
    return is_made;
}
