/* A device of CUDA by way of its driver, for one instance of a program: it loads kernels, allocates and copies memory, and
 * launches.
 *
 * The driver (libcuda.so.1) is found when the first instance runs, so that neither an SDK nor a driver is needed to build a
 * program. Kernels are in the program for some architectures, or in the cache, or NVRTC compiles them now. The declarations of
 * the driver's interface that this file needs are its own.
 *
 * An instance uses the primary context of the device, as CUDA's runtime and its libraries do, and leaves the caller's context
 * current. Commands go to streams, in which they run in order. Stream 0 is that of the caller: the one that a run is started on, or
 * the default stream. */

#include "nvrtc.h"
#include "../device/cache.h"

/* The library of the driver; the variable SDFG_CUDA_DRIVER names another one. */
#ifndef SDFG_CUDA_DRIVER
#define SDFG_CUDA_DRIVER "libcuda.so.1"
#endif

/* Constants of CUDA (cuda.h). */
enum {
    SDFG_CU_SUCCESS = 0,
    SDFG_CU_OUT_OF_MEMORY = 2,
    SDFG_CU_MAJOR = 75,
    SDFG_CU_MINOR = 76,
    SDFG_CU_INVALID_VALUE = 1,
    SDFG_CU_NON_BLOCKING = 1,
    SDFG_CU_WITHOUT_TIME = 2,
    SDFG_CU_POINTER_MEMORY = 2,
    SDFG_CU_POINTER_MANAGED = 8,
    SDFG_CU_POINTER_DEVICE = 9,
    SDFG_CU_OF_HOST = 1,
    SDFG_CU_OF_DEVICE = 2
};

/* An address of the device. */
typedef uint64_t sdfg_cu_address;

/* A copy of rows: CUDA_MEMCPY2D. */
typedef struct sdfg_cu_rows {
    size_t from_x, from_y;
    int from_memory;
    const void *from_host;
    sdfg_cu_address from_device;
    sdfg_object from_array;
    size_t from_pitch;
    size_t to_x, to_y;
    int to_memory;
    void *to_host;
    sdfg_cu_address to_device;
    sdfg_object to_array;
    size_t to_pitch;
    size_t width, height;
} sdfg_cu_rows;

/* Functions of the driver: result, name, parameters. */
#define SDFG_CU_FUNCTIONS(F) \
    F(int, cuInit, (unsigned)) \
    F(int, cuDriverGetVersion, (int *)) \
    F(int, cuGetErrorName, (int, const char **)) \
    F(int, cuGetErrorString, (int, const char **)) \
    F(int, cuDeviceGetCount, (int *)) \
    F(int, cuDeviceGet, (int *, int)) \
    F(int, cuDeviceGetName, (char *, int, int)) \
    F(int, cuDeviceGetAttribute, (int *, int, int)) \
    F(int, cuDevicePrimaryCtxRetain, (sdfg_object *, int)) \
    F(int, cuDevicePrimaryCtxRelease_v2, (int)) \
    F(int, cuCtxPushCurrent_v2, (sdfg_object)) \
    F(int, cuCtxPopCurrent_v2, (sdfg_object *)) \
    F(int, cuModuleLoadData, (sdfg_object *, const void *)) \
    F(int, cuModuleUnload, (sdfg_object)) \
    F(int, cuModuleGetFunction, (sdfg_object *, sdfg_object, const char *)) \
    F(int, cuMemAlloc_v2, (sdfg_cu_address *, size_t)) \
    F(int, cuMemFree_v2, (sdfg_cu_address)) \
    F(int, cuMemGetInfo_v2, (size_t *, size_t *)) \
    F(int, cuMemAllocHost_v2, (void **, size_t)) \
    F(int, cuMemFreeHost, (void *)) \
    F(int, cuMemcpyHtoDAsync_v2, (sdfg_cu_address, const void *, size_t, sdfg_object)) \
    F(int, cuMemcpyDtoHAsync_v2, (void *, sdfg_cu_address, size_t, sdfg_object)) \
    F(int, cuMemcpyDtoDAsync_v2, (sdfg_cu_address, sdfg_cu_address, size_t, sdfg_object)) \
    F(int, cuMemcpy2DAsync_v2, (const sdfg_cu_rows *, sdfg_object)) \
    F(int, cuMemcpy2DUnaligned_v2, (const sdfg_cu_rows *)) \
    F(int, cuPointerGetAttribute, (void *, int, sdfg_cu_address)) \
    F(int, cuLaunchKernel, (sdfg_object, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, sdfg_object, void **, void **)) \
    F(int, cuStreamCreate, (sdfg_object *, unsigned)) \
    F(int, cuStreamDestroy_v2, (sdfg_object)) \
    F(int, cuStreamSynchronize, (sdfg_object)) \
    F(int, cuStreamGetCtx, (sdfg_object, sdfg_object *)) \
    F(int, cuStreamWaitEvent, (sdfg_object, sdfg_object, unsigned)) \
    F(int, cuEventCreate, (sdfg_object *, unsigned)) \
    F(int, cuEventRecord, (sdfg_object, sdfg_object)) \
    F(int, cuEventSynchronize, (sdfg_object)) \
    F(int, cuEventElapsedTime, (float *, sdfg_object, sdfg_object)) \
    F(int, cuEventDestroy_v2, (sdfg_object))

/* A piece of memory: in use, or kept for the next request of its size. */
typedef struct sdfg_piece {
    sdfg_cu_address address;
    size_t bytes;
    bool is_used;
    /* The stream that freed it. */
    uint32_t stream;
    struct sdfg_piece *next;
} sdfg_piece;

typedef struct sdfg_kernel {
    const char *name;
    sdfg_object function;
    struct sdfg_kernel *next;
} sdfg_kernel;

typedef struct sdfg_device {
    void *driver;
    /* Its number, and 10 times the major version of its architecture and the minor one. */
    int device, architecture;
    sdfg_object context, module;
    bool is_open;
    sdfg_piece *pieces;
    sdfg_kernel *kernels;
    /* Streams and the one to which commands go; events that order them. Stream 0 is that of the caller. The last event is that of memory
     * which another stream takes. */
    sdfg_object caller, *streams, *events;
    uint32_t n_streams, n_events, stream;
    /* The end of the last run that was started, and whether the host did not wait for it. */
    sdfg_object end;
    bool is_pending;
    /* An event before all commands; commands of a program that is profiled, the last one first; the work of the next kernel; and
     * what was told last of all. */
    sdfg_object origin;
    sdfg_command *commands;
    int64_t bytes, operations;
    char *profile;
    /* The last error. */
    char text[4096];
#define SDFG_CU_MEMBER(result, name, parameters) result(*name) parameters;
    SDFG_CU_FUNCTIONS(SDFG_CU_MEMBER)
#undef SDFG_CU_MEMBER
} sdfg_device;

SDFG_DEVICE_FUNCTION int32_t sdfg_device_failed(sdfg_device *device, int error, const char *what) {
    const char *name = NULL, *text = NULL;
    (void)device->cuGetErrorName(error, &name);
    (void)device->cuGetErrorString(error, &text);
    snprintf(device->text, sizeof device->text, "%s: %s (error %d of CUDA, %s)", what, text == NULL ? "unknown" : text, error, name == NULL ? "unknown" : name);
    return error == SDFG_CU_OUT_OF_MEMORY ? SDFG_DEVICE_MEMORY : SDFG_DEVICE_FAILED;
}

/* Makes the device's context that of this thread, until the next call of the function below. */
SDFG_DEVICE_FUNCTION int sdfg_device_enter(sdfg_device *device) {
    return device->cuCtxPushCurrent_v2(device->context);
}

/* Gives the thread the context back that it had. The result is the first error. */
SDFG_DEVICE_FUNCTION int sdfg_device_leave(sdfg_device *device, int error) {
    sdfg_object own = NULL;
    const int last = device->cuCtxPopCurrent_v2(&own);
    return error != SDFG_CU_SUCCESS ? error : last;
}

/* The stream to which commands go. */
SDFG_DEVICE_FUNCTION sdfg_object sdfg_device_stream(const sdfg_device *device) {
    return device->stream > 0 && device->stream < device->n_streams ? device->streams[device->stream] : device->caller;
}

#ifdef SDFG_DEVICE_PROFILE
/* Notes when a command begins; without memory or events, it is not measured. */
SDFG_DEVICE_FUNCTION sdfg_command *sdfg_device_begin(sdfg_device *device, const char *kind, const char *name, int64_t bytes, int64_t operations) {
    sdfg_command *const command = (sdfg_command *)calloc(1, sizeof *command);
    if (command == NULL) {
        return NULL;
    }
    *command = (sdfg_command){ kind, name, { NULL, NULL }, 0, 0, bytes, operations, device->stream, device->commands };
    if (device->origin == NULL && device->cuEventCreate(&device->origin, 0) == SDFG_CU_SUCCESS) {
        (void)device->cuEventRecord(device->origin, NULL);
    }
    for (int n = 0; n < 2; ++n) {
        if (device->cuEventCreate(&command->events[n], 0) != SDFG_CU_SUCCESS) {
            if (n == 1) {
                (void)device->cuEventDestroy_v2(command->events[0]);
            }
            free(command);
            return NULL;
        }
    }
    (void)device->cuEventRecord(command->events[0], sdfg_device_stream(device));
    device->commands = command;
    return command;
}

/* Notes when a command ends. */
SDFG_DEVICE_FUNCTION void sdfg_device_end(sdfg_device *device, const sdfg_command *command) {
    if (command != NULL) {
        (void)device->cuEventRecord(command->events[1], sdfg_device_stream(device));
    }
}

/* Notes the times of all commands, which are complete. */
SDFG_DEVICE_FUNCTION void sdfg_device_note(sdfg_device *device) {
    for (sdfg_command *command = device->commands; command != NULL; command = command->next) {
        if (command->events[0] == NULL) {
            continue;
        }
        /* Milliseconds. The time between the two is exact; the other one is only where they lie. */
        float before = 0, between = 0;
        (void)device->cuEventElapsedTime(&before, device->origin, command->events[0]);
        (void)device->cuEventElapsedTime(&between, command->events[0], command->events[1]);
        command->begin = (uint64_t)((double)before * 1e6);
        command->end = command->begin + (uint64_t)((double)between * 1e6);
        for (int n = 0; n < 2; ++n) {
            (void)device->cuEventDestroy_v2(command->events[n]);
            command->events[n] = NULL;
        }
    }
}

/* What was measured: a table of kernels and copies, or a trace for Chrome's viewer (format 1). The device owns the text. */
SDFG_DEVICE_FUNCTION const char *sdfg_device_profile(sdfg_device *device, int32_t format) {
    free(device->profile);
    device->profile = NULL;
    if (device->context != NULL && sdfg_device_enter(device) == SDFG_CU_SUCCESS) {
        if (device->cuStreamSynchronize(NULL) == SDFG_CU_SUCCESS && (!device->is_pending || device->cuEventSynchronize(device->end) == SDFG_CU_SUCCESS)) {
            sdfg_device_note(device);
            device->profile = sdfg_device_report(device->commands, format);
        }
        (void)sdfg_device_leave(device, SDFG_CU_SUCCESS);
    }
    return device->profile;
}
#else
SDFG_DEVICE_FUNCTION const sdfg_command *sdfg_device_begin(sdfg_device *device, const char *kind, const char *name, int64_t bytes, int64_t operations) {
    return (void)device, (void)kind, (void)name, (void)bytes, (void)operations, (const sdfg_command *)NULL;
}
SDFG_DEVICE_FUNCTION void sdfg_device_end(sdfg_device *device, const sdfg_command *command) {
    (void)device, (void)command;
}
#endif

/* The bytes that the next kernel moves, and its operations; negative if they are not known. */
SDFG_DEVICE_FUNCTION void sdfg_device_work(sdfg_device *device, int64_t bytes, int64_t operations) {
    device->bytes = bytes;
    device->operations = operations;
}

/* Waits for all commands of all streams, whether they fail or not. */
SDFG_DEVICE_FUNCTION void sdfg_device_drain(sdfg_device *device) {
    if (device == NULL || device->context == NULL || sdfg_device_enter(device) != SDFG_CU_SUCCESS) {
        return;
    }
    (void)device->cuStreamSynchronize(device->caller);
    for (uint32_t n = 1; n < device->n_streams; ++n) {
        (void)device->cuStreamSynchronize(device->streams[n]);
    }
    device->stream = 0;
    (void)sdfg_device_leave(device, SDFG_CU_SUCCESS);
}

/* Frees streams and events, in the context of the device. */
SDFG_DEVICE_FUNCTION void sdfg_device_close_streams(sdfg_device *device) {
    for (uint32_t n = 1; n < device->n_streams; ++n) {
        (void)device->cuStreamDestroy_v2(device->streams[n]);
    }
    for (uint32_t n = 0; n < device->n_events; ++n) {
        (void)device->cuEventDestroy_v2(device->events[n]);
    }
    free(device->streams);
    free(device->events);
    device->streams = device->events = NULL;
    device->n_streams = device->n_events = 0;
}

/* Makes streams and events, unless that was done. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_streams(sdfg_device *device, uint32_t n_streams, uint32_t n_events) {
    if (device->streams != NULL) {
        return 0;
    }
    device->streams = (sdfg_object *)calloc((size_t)n_streams + 1, sizeof *device->streams);
    device->events = (sdfg_object *)calloc((size_t)n_events + 1, sizeof *device->events);
    if (device->streams == NULL || device->events == NULL) {
        snprintf(device->text, sizeof device->text, "the host has no memory");
        return SDFG_DEVICE_MEMORY;
    }
    int error = sdfg_device_enter(device);
    if (error == SDFG_CU_SUCCESS) {
        device->n_streams = 1;
        while (device->n_streams < n_streams && error == SDFG_CU_SUCCESS) {
            error = device->cuStreamCreate(&device->streams[device->n_streams], SDFG_CU_NON_BLOCKING);
            device->n_streams += error == SDFG_CU_SUCCESS;
        }
        while (device->n_events <= n_events && error == SDFG_CU_SUCCESS) {
            error = device->cuEventCreate(&device->events[device->n_events], SDFG_CU_WITHOUT_TIME);
            device->n_events += error == SDFG_CU_SUCCESS;
        }
        if (error != SDFG_CU_SUCCESS) {
            sdfg_device_close_streams(device);
        }
        error = sdfg_device_leave(device, error);
    }
    return error == SDFG_CU_SUCCESS ? 0 : sdfg_device_failed(device, error, "streams of the device");
}

/* Lets commands that follow go to a stream. */
SDFG_DEVICE_FUNCTION void sdfg_device_on(sdfg_device *device, uint32_t stream) {
    device->stream = stream;
}

/* Lets commands of the stream that follow wait for an event. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_after(sdfg_device *device, uint32_t event) {
    int error = sdfg_device_enter(device);
    if (error == SDFG_CU_SUCCESS) {
        error = sdfg_device_leave(device, device->cuStreamWaitEvent(sdfg_device_stream(device), device->events[event], 0));
    }
    return error == SDFG_CU_SUCCESS ? 0 : sdfg_device_failed(device, error, "a stream of the device");
}

/* Records an event behind the commands of the stream. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_record(sdfg_device *device, uint32_t event) {
    int error = sdfg_device_enter(device);
    if (error == SDFG_CU_SUCCESS) {
        error = sdfg_device_leave(device, device->cuEventRecord(device->events[event], sdfg_device_stream(device)));
    }
    return error == SDFG_CU_SUCCESS ? 0 : sdfg_device_failed(device, error, "an event of the device");
}

/* Waits for an event. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_await(sdfg_device *device, uint32_t event) {
    int error = sdfg_device_enter(device);
    if (error == SDFG_CU_SUCCESS) {
        error = sdfg_device_leave(device, device->cuEventSynchronize(device->events[event]));
    }
    return error == SDFG_CU_SUCCESS ? 0 : sdfg_device_failed(device, error, "the device fails");
}

/* Lets the stream wait for all commands of another one. */
SDFG_DEVICE_FUNCTION int sdfg_device_follow(sdfg_device *device, uint32_t stream) {
    int error = sdfg_device_enter(device);
    if (error == SDFG_CU_SUCCESS) {
        const sdfg_object event = device->events[device->n_events - 1];
        error = device->cuEventRecord(event, stream > 0 ? device->streams[stream] : device->caller);
        if (error == SDFG_CU_SUCCESS) {
            error = device->cuStreamWaitEvent(sdfg_device_stream(device), event, 0);
        }
        error = sdfg_device_leave(device, error);
    }
    return error;
}

/* Finds the functions of the driver. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_load(sdfg_device *device) {
    const char *name = getenv("SDFG_CUDA_DRIVER");
    if (name == NULL || name[0] == 0) {
        name = SDFG_CUDA_DRIVER;
    }
    device->driver = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (device->driver == NULL) {
        snprintf(device->text, sizeof device->text, "no driver of CUDA: %s (NVIDIA's driver has it; the variable SDFG_CUDA_DRIVER names another file)", dlerror());
        return SDFG_DEVICE_FAILED;
    }
    const char *missing = NULL;
#define SDFG_CU_FIND(result, name, parameters) \
    if ((*(void **)&device->name = dlsym(device->driver, #name)) == NULL) { \
        missing = #name; \
    }
    SDFG_CU_FUNCTIONS(SDFG_CU_FIND)
#undef SDFG_CU_FIND
    if (missing != NULL) {
        snprintf(device->text, sizeof device->text, "%s has no function `%s`: the driver must be of CUDA 11 or later", name, missing);
        return SDFG_DEVICE_FAILED;
    }
    const int error = device->cuInit(0);
    return error == SDFG_CU_SUCCESS ? 0 : sdfg_device_failed(device, error, "CUDA has no device");
}

/* Finds the device that is wanted. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_choose(sdfg_device *device, const char *asked) {
    const sdfg_wanted wanted = sdfg_device_wanted(asked);
    int count = 0, major = 0, minor = 0;
    const int error = device->cuDeviceGetCount(&count);
    if (error != SDFG_CU_SUCCESS || count == 0) {
        return sdfg_device_failed(device, error, "CUDA has no device");
    }
    for (int n = 0; n < count; ++n) {
        char name[256] = "";
        if (device->cuDeviceGet(&device->device, n) != SDFG_CU_SUCCESS) {
            continue;
        }
        (void)device->cuDeviceGetName(name, sizeof name - 1, device->device);
        if (wanted.is_number ? n == wanted.number : strstr(name, wanted.name) != NULL) {
            (void)device->cuDeviceGetAttribute(&major, SDFG_CU_MAJOR, device->device);
            (void)device->cuDeviceGetAttribute(&minor, SDFG_CU_MINOR, device->device);
            device->architecture = 10 * major + minor;
            return 0;
        }
    }
    snprintf(device->text, sizeof device->text, "%s: none of the %d devices of CUDA is `%s` (`sdfg devices` lists them)", wanted.from, count, wanted.name);
    return SDFG_DEVICE_FAILED;
}

/* Finds the device and its context. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_find_device(sdfg_device *device, const char *asked) {
    int32_t status = sdfg_device_load(device);
    if (status == 0) {
        status = sdfg_device_choose(device, asked);
    }
    if (status != 0) {
        return status;
    }
    const int error = device->cuDevicePrimaryCtxRetain(&device->context, device->device);
    if (error != SDFG_CU_SUCCESS) {
        device->context = NULL;
        return sdfg_device_failed(device, error, "the device cannot be used");
    }
    return 0;
}

/* The image of the program that fits the device best: code of its architecture, or PTX of an earlier one. */
SDFG_DEVICE_FUNCTION const sdfg_image *sdfg_device_own_image(const sdfg_device *device, const sdfg_image *images, uint32_t n_images) {
    const sdfg_image *best = NULL;
    for (uint32_t n = 0; n < n_images; ++n) {
        const sdfg_image *const image = &images[n];
        /* Code runs on devices of its major version, from its minor one on. */
        const bool is_for_device = image->architecture <= device->architecture && (image->is_ptx || image->architecture / 10 == device->architecture / 10);
        if (is_for_device && (best == NULL || (best->is_ptx && !image->is_ptx) || (best->is_ptx == image->is_ptx && best->architecture < image->architecture))) {
            best = image;
        }
    }
    return best;
}

/* Compiles the kernels for the device, and keeps the image in the cache. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_compile(sdfg_device *device, const char *source, const char *options, const char *key, sdfg_image *image) {
    sdfg_nvrtc nvrtc;
    int version = 0;
    (void)device->cuDriverGetVersion(&version);
    if (!sdfg_nvrtc_open(&nvrtc, version / 1000, device->text, sizeof device->text)) {
        return SDFG_DEVICE_FAILED;
    }
    image->architecture = sdfg_nvrtc_architecture(&nvrtc, device->architecture);
    /* The driver makes code from PTX if NVRTC is older than the device. */
    image->is_ptx = image->architecture != device->architecture;
    if (image->architecture == 0) {
        snprintf(device->text, sizeof device->text, "NVRTC %d.%d does not compile for the architecture sm_%d of the device", nvrtc.major, nvrtc.minor, device->architecture);
        return SDFG_DEVICE_FAILED;
    }
    if (!sdfg_nvrtc_compile(&nvrtc, source, options, image, device->text, sizeof device->text)) {
        return SDFG_DEVICE_FAILED;
    }
    if (key != NULL) {
        sdfg_cache_write(key, image->bytes, image->size);
    }
    return 0;
}

/* Loads the kernels: those that the program has for the device, or from the cache, or compiled now. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_build(sdfg_device *device, const char *source, const char *options, const sdfg_image *images, uint32_t n_images) {
    const sdfg_image *const own = sdfg_device_own_image(device, images, n_images);
    if (own != NULL && device->cuModuleLoadData(&device->module, own->bytes) == SDFG_CU_SUCCESS) {
        return 0;
    }
    sdfg_image image = { device->architecture, false, NULL, 0 };
    char target[32];
    snprintf(target, sizeof target, "sm_%d", device->architecture);
    char *const key = sdfg_cache_key(target, options, source);
    /* A driver that is older than the compiler of an image may refuse it: the NVRTC of now may fit better. */
    bool is_loaded = key != NULL && sdfg_cache_read(key, &image.bytes, &image.size) && device->cuModuleLoadData(&device->module, image.bytes) == SDFG_CU_SUCCESS;
    int32_t status = 0;
    if (!is_loaded) {
        free(image.bytes);
        image.bytes = NULL;
        status = sdfg_device_compile(device, source, options, key, &image);
        const int error = status == 0 ? device->cuModuleLoadData(&device->module, image.bytes) : SDFG_CU_SUCCESS;
        if (error != SDFG_CU_SUCCESS) {
            status = sdfg_device_failed(device, error, "the device does not load the kernels");
        }
    }
    if (status != 0) {
        device->module = NULL;
    }
    free(image.bytes);
    free(key);
    return status;
}

SDFG_DEVICE_FUNCTION void sdfg_device_close(sdfg_device *device) {
    if (device == NULL) {
        return;
    }
    const bool is_inside = device->context != NULL && sdfg_device_enter(device) == SDFG_CU_SUCCESS;
    if (is_inside && device->end != NULL) {
        (void)device->cuEventSynchronize(device->end);
        (void)device->cuEventDestroy_v2(device->end);
    }
    for (sdfg_piece *piece = device->pieces; piece != NULL;) {
        sdfg_piece *const next = piece->next;
        if (is_inside) {
            (void)device->cuMemFree_v2(piece->address);
        }
        free(piece);
        piece = next;
    }
    for (sdfg_kernel *kernel = device->kernels; kernel != NULL;) {
        sdfg_kernel *const next = kernel->next;
        free(kernel);
        kernel = next;
    }
    while (device->commands != NULL) {
        sdfg_command *const command = device->commands;
        for (int n = 0; n < 2 && command->events[0] != NULL && is_inside; ++n) {
            (void)device->cuEventDestroy_v2(command->events[n]);
        }
        device->commands = command->next;
        free(command);
    }
    free(device->profile);
    if (is_inside) {
        sdfg_device_close_streams(device);
        if (device->origin != NULL) {
            (void)device->cuEventDestroy_v2(device->origin);
        }
        if (device->module != NULL) {
            (void)device->cuModuleUnload(device->module);
        }
        (void)sdfg_device_leave(device, SDFG_CU_SUCCESS);
    }
    if (device->context != NULL) {
        (void)device->cuDevicePrimaryCtxRelease_v2(device->device);
    }
    /* The driver stays: threads of it may still run. */
    free(device);
}

/* Opens the chosen device and loads kernels, unless that was done. After an error, the device has its text. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_open(sdfg_device **out, const char *asked, const char *const *parts, uint32_t n_parts, const char *options, const sdfg_image *images, uint32_t n_images) {
    if (*out != NULL && (*out)->is_open) {
        return 0;
    }
    sdfg_device_close(*out);
    sdfg_device *const device = *out = (sdfg_device *)calloc(1, sizeof *device);
    char *const source = device == NULL ? NULL : sdfg_device_joined(parts, n_parts);
    if (source == NULL) {
        free(device);
        *out = NULL;
        return SDFG_DEVICE_MEMORY;
    }
    int32_t status = sdfg_device_find_device(device, asked);
    if (status == 0) {
        int error = sdfg_device_enter(device);
        if (error == SDFG_CU_SUCCESS) {
            status = sdfg_device_build(device, source, options, images, n_images);
            error = sdfg_device_leave(device, SDFG_CU_SUCCESS);
        }
        if (status == 0 && error != SDFG_CU_SUCCESS) {
            status = sdfg_device_failed(device, error, "the device cannot be used");
        }
    }
    free(source);
    device->is_open = status == 0;
    return status;
}

/* The piece of memory in use in which an address lies; NULL if the instance did not allocate it. */
SDFG_DEVICE_FUNCTION sdfg_piece *sdfg_device_find(sdfg_device *device, const void *address) {
    const sdfg_cu_address at = (sdfg_cu_address)(uintptr_t)address;
    for (sdfg_piece *piece = device->pieces; piece != NULL; piece = piece->next) {
        if (piece->is_used && at >= piece->address && at < piece->address + piece->bytes) {
            return piece;
        }
    }
    return NULL;
}

/* Whether an address is memory of a device: of this instance, or of the caller. */
SDFG_DEVICE_FUNCTION bool sdfg_device_has(sdfg_device *device, const void *address) {
    int memory = 0;
    if (sdfg_device_find(device, address) != NULL) {
        return true;
    }
    if (sdfg_device_enter(device) != SDFG_CU_SUCCESS) {
        return false;
    }
    /* The driver does not know memory that only the host has. */
    const int error = device->cuPointerGetAttribute(&memory, SDFG_CU_POINTER_MEMORY, (sdfg_cu_address)(uintptr_t)address);
    return sdfg_device_leave(device, error) == SDFG_CU_SUCCESS && memory == SDFG_CU_OF_DEVICE;
}

/* Whether kernels of the device may use memory of the caller on a device. Managed memory is that of all devices. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_must_own(sdfg_device *device, const char *name, const void *address) {
    const sdfg_cu_address at = (sdfg_cu_address)(uintptr_t)address;
    int owner = 0;
    unsigned is_managed = 0;
    if (sdfg_device_find(device, address) != NULL || sdfg_device_enter(device) != SDFG_CU_SUCCESS) {
        return 0;
    }
    int error = device->cuPointerGetAttribute(&owner, SDFG_CU_POINTER_DEVICE, at);
    if (error == SDFG_CU_SUCCESS && owner != device->device && device->cuPointerGetAttribute(&is_managed, SDFG_CU_POINTER_MANAGED, at) != SDFG_CU_SUCCESS) {
        is_managed = 0;
    }
    error = sdfg_device_leave(device, error);
    if (error != SDFG_CU_SUCCESS || owner == device->device || is_managed != 0) {
        return 0;
    }
    char names[2][256] = { { 0 }, { 0 } };
    (void)device->cuDeviceGetName(names[0], sizeof names[0] - 1, owner);
    (void)device->cuDeviceGetName(names[1], sizeof names[1] - 1, device->device);
    snprintf(device->text, sizeof device->text, "`%s` is memory of device %d (%s), and the program runs on device %d (%s); copy it, or choose the device by the configuration or SDFG_DEVICE", name, owner, names[0], device->device, names[1]);
    return SDFG_DEVICE_FAILED;
}

/* Gives memory that is kept for later back to the device. Commands may still use it. */
SDFG_DEVICE_FUNCTION void sdfg_device_release(sdfg_device *device) {
    for (uint32_t n = 1; n < device->n_streams; ++n) {
        (void)device->cuStreamSynchronize(device->streams[n]);
    }
    /* The stream of the caller follows all runs before. */
    (void)device->cuStreamSynchronize(device->caller);
    for (sdfg_piece **at = &device->pieces; *at != NULL;) {
        sdfg_piece *const piece = *at;
        if (piece->is_used) {
            at = &piece->next;
            continue;
        }
        (void)device->cuMemFree_v2(piece->address);
        *at = piece->next;
        free(piece);
    }
}

SDFG_DEVICE_FUNCTION int32_t sdfg_device_allocate(sdfg_device *device, void **pointer, size_t asked) {
    const size_t bytes = asked > 0 ? asked : 1;
    /* Kept memory of this stream, or else of another one, for whose commands this stream then waits. */
    sdfg_piece *kept = NULL;
    for (sdfg_piece *piece = device->pieces; piece != NULL; piece = piece->next) {
        if (!piece->is_used && piece->bytes == bytes && (kept == NULL || kept->stream != device->stream)) {
            kept = piece;
        }
    }
    if (kept != NULL) {
        const int error = kept->stream == device->stream ? SDFG_CU_SUCCESS : sdfg_device_follow(device, kept->stream);
        if (error != SDFG_CU_SUCCESS) {
            return sdfg_device_failed(device, error, "memory of the device");
        }
        kept->is_used = true;
        *pointer = (void *)(uintptr_t)kept->address;
        return 0;
    }
    sdfg_piece *const piece = (sdfg_piece *)calloc(1, sizeof *piece);
    if (piece == NULL) {
        snprintf(device->text, sizeof device->text, "the host has no memory");
        return SDFG_DEVICE_MEMORY;
    }
    size_t left = 0, all = 0;
    int error = sdfg_device_enter(device);
    if (error == SDFG_CU_SUCCESS) {
        error = device->cuMemAlloc_v2(&piece->address, bytes);
        if (error == SDFG_CU_OUT_OF_MEMORY) {
            sdfg_device_release(device);
            error = device->cuMemAlloc_v2(&piece->address, bytes);
        }
        if (error != SDFG_CU_SUCCESS) {
            (void)device->cuMemGetInfo_v2(&left, &all);
        }
        error = sdfg_device_leave(device, error);
    }
    if (error != SDFG_CU_SUCCESS) {
        free(piece);
        if (error != SDFG_CU_OUT_OF_MEMORY) {
            return sdfg_device_failed(device, error, "memory of the device");
        }
        snprintf(device->text, sizeof device->text, "the device has no %llu bytes (%llu of %llu are free)", (unsigned long long)asked, (unsigned long long)left, (unsigned long long)all);
        return SDFG_DEVICE_MEMORY;
    }
    piece->bytes = bytes;
    piece->is_used = true;
    piece->next = device->pieces;
    device->pieces = piece;
    *pointer = (void *)(uintptr_t)piece->address;
    return 0;
}

SDFG_DEVICE_FUNCTION void sdfg_device_free(sdfg_device *device, void *pointer) {
    sdfg_piece *const piece = pointer == NULL || device == NULL ? NULL : sdfg_device_find(device, pointer);
    if (piece != NULL) {
        piece->is_used = false;
        piece->stream = device->stream;
    }
}

/* Allocates memory of the host from and to which copies run beside kernels. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_allocate_host(sdfg_device *device, void **pointer, size_t bytes) {
    int error = sdfg_device_enter(device);
    if (error == SDFG_CU_SUCCESS) {
        error = sdfg_device_leave(device, device->cuMemAllocHost_v2(pointer, bytes > 0 ? bytes : 1));
    }
    return error == SDFG_CU_SUCCESS ? 0 : sdfg_device_failed(device, error, "memory of the host for copies");
}

/* Frees such memory; NULL is nothing. No command uses it. */
SDFG_DEVICE_FUNCTION void sdfg_device_free_host(sdfg_device *device, void *pointer) {
    if (pointer != NULL && sdfg_device_enter(device) == SDFG_CU_SUCCESS) {
        (void)sdfg_device_leave(device, device->cuMemFreeHost(pointer));
    }
}

/* The memories of a copy, and its name in a profile. */
typedef struct sdfg_direction {
    bool to_device, from_device;
    const char *name;
} sdfg_direction;

/* Copies bytes between memories. */
SDFG_DEVICE_FUNCTION int sdfg_device_copy_row(sdfg_device *device, sdfg_direction direction, void *to, const void *from, size_t bytes) {
    const sdfg_cu_address target = (sdfg_cu_address)(uintptr_t)to, source = (sdfg_cu_address)(uintptr_t)from;
    if (direction.to_device && direction.from_device) {
        return device->cuMemcpyDtoDAsync_v2(target, source, bytes, sdfg_device_stream(device));
    }
    if (direction.to_device) {
        return device->cuMemcpyHtoDAsync_v2(target, from, bytes, sdfg_device_stream(device));
    }
    if (direction.from_device) {
        return device->cuMemcpyDtoHAsync_v2(to, source, bytes, sdfg_device_stream(device));
    }
    memcpy(to, from, bytes);
    return SDFG_CU_SUCCESS;
}

/* Copies rows in one command. The driver need not take all distances of rows on the device in its own time; it then waits. */
SDFG_DEVICE_FUNCTION int sdfg_device_copy_rows(sdfg_device *device, const sdfg_cu_rows *copy) {
    int error = device->cuMemcpy2DAsync_v2(copy, sdfg_device_stream(device));
    if (error == SDFG_CU_INVALID_VALUE && copy->from_memory == copy->to_memory) {
        error = device->cuStreamSynchronize(sdfg_device_stream(device));
        if (error == SDFG_CU_SUCCESS) {
            error = device->cuMemcpy2DUnaligned_v2(copy);
        }
        if (error == SDFG_CU_SUCCESS) {
            error = device->cuStreamSynchronize(NULL);
        }
    }
    return error;
}

/* Starts to copy rows of bytes between memories of host and device. The strides are distances of rows in bytes. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_start_copy(sdfg_device *device, void *to, int64_t to_stride, const void *from, int64_t from_stride, int64_t width, int64_t rows) {
    if (width <= 0 || rows <= 0) {
        return 0;
    }
    sdfg_direction direction = { sdfg_device_has(device, to), sdfg_device_has(device, from), "on the host" };
    if (direction.to_device || direction.from_device) {
        direction.name = !direction.from_device ? "to the device" : !direction.to_device ? "to the host" : "on the device";
    }
    if (rows > 1 && to_stride == width && from_stride == width) {
        width *= rows;
        rows = 1;
    }
    const int64_t moved = width * rows * (direction.to_device && direction.from_device ? 2 : 1);
    int error = sdfg_device_enter(device);
    if (error == SDFG_CU_SUCCESS) {
        const sdfg_command *const command = sdfg_device_begin(device, "copy", direction.name, moved, -1);
        if (rows > 1 && to_stride >= width && from_stride >= width && (direction.to_device || direction.from_device)) {
            sdfg_cu_rows copy;
            memset(&copy, 0, sizeof copy);
            copy.from_memory = direction.from_device ? SDFG_CU_OF_DEVICE : SDFG_CU_OF_HOST;
            copy.from_host = direction.from_device ? NULL : from;
            copy.from_device = direction.from_device ? (sdfg_cu_address)(uintptr_t)from : 0;
            copy.from_pitch = (size_t)from_stride;
            copy.to_memory = direction.to_device ? SDFG_CU_OF_DEVICE : SDFG_CU_OF_HOST;
            copy.to_host = direction.to_device ? NULL : to;
            copy.to_device = direction.to_device ? (sdfg_cu_address)(uintptr_t)to : 0;
            copy.to_pitch = (size_t)to_stride;
            copy.width = (size_t)width;
            copy.height = (size_t)rows;
            error = sdfg_device_copy_rows(device, &copy);
        } else {
            for (int64_t row = 0; row < rows && error == SDFG_CU_SUCCESS; ++row) {
                error = sdfg_device_copy_row(device, direction, (char *)to + row * to_stride, (const char *)from + row * from_stride, (size_t)width);
            }
        }
        sdfg_device_end(device, command);
        error = sdfg_device_leave(device, error);
    }
    return error == SDFG_CU_SUCCESS ? 0 : sdfg_device_failed(device, error, "a copy fails, or a kernel before it");
}

/* As the function above; the host waits for the end. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_copy(sdfg_device *device, void *to, int64_t to_stride, const void *from, int64_t from_stride, int64_t width, int64_t rows) {
    const int32_t status = sdfg_device_start_copy(device, to, to_stride, from, from_stride, width, rows);
    if (status != 0) {
        return status;
    }
    int error = sdfg_device_enter(device);
    if (error == SDFG_CU_SUCCESS) {
        error = sdfg_device_leave(device, device->cuStreamSynchronize(sdfg_device_stream(device)));
    }
    return error == SDFG_CU_SUCCESS ? 0 : sdfg_device_failed(device, error, "a copy fails, or a kernel before it");
}

/* The function of a kernel; NULL after an error. */
SDFG_DEVICE_FUNCTION sdfg_kernel *sdfg_device_kernel(sdfg_device *device, const char *name, int *error) {
    for (sdfg_kernel *kernel = device->kernels; kernel != NULL; kernel = kernel->next) {
        if (strcmp(kernel->name, name) == 0) {
            return kernel;
        }
    }
    sdfg_kernel *const kernel = (sdfg_kernel *)calloc(1, sizeof *kernel);
    *error = kernel == NULL ? SDFG_CU_OUT_OF_MEMORY : device->cuModuleGetFunction(&kernel->function, device->module, name);
    if (*error != SDFG_CU_SUCCESS) {
        free(kernel);
        return NULL;
    }
    kernel->name = name;
    kernel->next = device->kernels;
    device->kernels = kernel;
    return kernel;
}

/* Starts a kernel on blocks of threads. An argument without bytes is memory of the device. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_launch(sdfg_device *device, const char *name, const size_t blocks[3], const size_t threads[3], uint32_t n_arguments, const sdfg_kernel_argument *arguments) {
    void **const values = (void **)calloc((size_t)n_arguments + 1, sizeof *values);
    if (values == NULL) {
        snprintf(device->text, sizeof device->text, "%s: the host has no memory", name);
        return SDFG_DEVICE_MEMORY;
    }
    for (uint32_t n = 0; n < n_arguments; ++n) {
        const void *const place = arguments[n].bytes > 0 ? arguments[n].value : (const void *)&arguments[n].value;
        values[n] = (void *)(uintptr_t)place;
    }
    int error = sdfg_device_enter(device);
    if (error == SDFG_CU_SUCCESS) {
        const sdfg_kernel *const kernel = sdfg_device_kernel(device, name, &error);
        if (kernel != NULL) {
            const sdfg_command *const command = sdfg_device_begin(device, "kernel", kernel->name, device->bytes, device->operations);
            error = device->cuLaunchKernel(kernel->function, (unsigned)blocks[0], (unsigned)blocks[1], (unsigned)blocks[2], (unsigned)threads[0], (unsigned)threads[1], (unsigned)threads[2], 0, sdfg_device_stream(device), values, NULL);
            sdfg_device_end(device, command);
        }
        error = sdfg_device_leave(device, error);
    }
    free(values);
    return error == SDFG_CU_SUCCESS ? 0 : sdfg_device_failed(device, error, name);
}

/* Waits for the commands of stream 0, which follow those of the others. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_finish(sdfg_device *device) {
    device->stream = 0;
    int error = sdfg_device_enter(device);
    if (error == SDFG_CU_SUCCESS) {
        error = sdfg_device_leave(device, device->cuStreamSynchronize(device->caller));
    }
    return error == SDFG_CU_SUCCESS ? 0 : sdfg_device_failed(device, error, "the device fails");
}

/* Waits for the end of the last run that was started, unless that was done. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_wait(sdfg_device *device) {
    if (device == NULL || !device->is_pending) {
        return 0;
    }
    device->is_pending = false;
    int error = sdfg_device_enter(device);
    if (error == SDFG_CU_SUCCESS) {
        error = sdfg_device_leave(device, device->cuEventSynchronize(device->end));
    }
    return error == SDFG_CU_SUCCESS ? 0 : sdfg_device_failed(device, error, "the device fails");
}

/* Lets the stream of the caller follow the last run that was started. The host waits for its end if it has to, or if the stream cannot. What
 * the host waited for is over, even if it failed: the failure is that of one run that follows. */
SDFG_DEVICE_FUNCTION int sdfg_device_follow_run(sdfg_device *device, bool host_waits) {
    int error = SDFG_CU_SUCCESS;
    if (!device->is_pending) {
        return error;
    }
    if (!host_waits) {
        error = device->cuStreamWaitEvent(device->caller, device->end, 0);
        if (error == SDFG_CU_SUCCESS) {
            return error;
        }
    }
    device->is_pending = false;
    const int end = device->cuEventSynchronize(device->end);
    return error != SDFG_CU_SUCCESS ? error : end;
}

/* Begins a run whose stream 0 is a stream of the caller; NULL is the default stream. It follows the runs that were started before. The
 * host waits for these if it writes memory of the instance that their commands use. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_begin_run(sdfg_device *device, void *stream, bool host_waits) {
    sdfg_object context = device->context;
    device->stream = 0;
    int error = sdfg_device_enter(device);
    if (error == SDFG_CU_SUCCESS) {
        error = stream == NULL ? SDFG_CU_SUCCESS : device->cuStreamGetCtx((sdfg_object)stream, &context);
        if (error == SDFG_CU_SUCCESS && context == device->context) {
            device->caller = (sdfg_object)stream;
            error = sdfg_device_follow_run(device, host_waits);
        }
        error = sdfg_device_leave(device, error);
    }
    if (error == SDFG_CU_SUCCESS && context != device->context) {
        snprintf(device->text, sizeof device->text, "the stream belongs to another device than that of the handle, or not to its primary context");
        return SDFG_DEVICE_FAILED;
    }
    return error == SDFG_CU_SUCCESS ? 0 : sdfg_device_failed(device, error, "the stream cannot be used, or a run before failed");
}

/* Lets commands of the caller that follow in one stream come behind those that are in another one now. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_order(sdfg_device *device, void *stream, void *before) {
    int error = sdfg_device_enter(device);
    if (error == SDFG_CU_SUCCESS) {
        sdfg_object event = NULL;
        error = device->cuEventCreate(&event, SDFG_CU_WITHOUT_TIME);
        if (error == SDFG_CU_SUCCESS) {
            error = device->cuEventRecord(event, (sdfg_object)before);
            if (error == SDFG_CU_SUCCESS) {
                error = device->cuStreamWaitEvent((sdfg_object)stream, event, 0);
            }
            /* What waits for the event keeps it. */
            (void)device->cuEventDestroy_v2(event);
        }
        error = sdfg_device_leave(device, error);
    }
    return error == SDFG_CU_SUCCESS ? 0 : sdfg_device_failed(device, error, "streams of the caller are not both of the device");
}

/* Ends a run for which the host does not wait: commands of the caller that follow in its stream come behind it. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_end_run(sdfg_device *device) {
    device->stream = 0;
    int error = sdfg_device_enter(device);
    if (error == SDFG_CU_SUCCESS) {
        error = device->end != NULL ? SDFG_CU_SUCCESS : device->cuEventCreate(&device->end, SDFG_CU_WITHOUT_TIME);
        if (error == SDFG_CU_SUCCESS) {
            error = device->cuEventRecord(device->end, device->caller);
        }
        error = sdfg_device_leave(device, error);
    }
    device->is_pending = error == SDFG_CU_SUCCESS;
    return error == SDFG_CU_SUCCESS ? 0 : sdfg_device_failed(device, error, "an event of the device");
}

/* Lends memory of the host to the device: the pointer becomes the address of a copy, and `host` what it was. Memory of the
 * device stays where it is, and `host` is then NULL; memory of another device is refused. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_lend(sdfg_device *device, const char *name, void **pointer, size_t bytes, void **host) {
    void *copy = NULL;
    *host = NULL;
    if (*pointer == NULL) {
        return 0;
    }
    if (sdfg_device_has(device, *pointer)) {
        return sdfg_device_must_own(device, name, *pointer);
    }
    int32_t status = sdfg_device_allocate(device, &copy, bytes);
    if (status == 0) {
        status = sdfg_device_copy(device, copy, (int64_t)bytes, *pointer, (int64_t)bytes, (int64_t)bytes, 1);
        *host = *pointer;
        *pointer = copy;
    }
    return status;
}
