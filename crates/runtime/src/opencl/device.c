/* A device by way of OpenCL 1.2, for one instance of a program: it compiles kernels or takes them from the cache, allocates and copies
 * memory, and launches.
 *
 * The driver (libOpenCL.so.1) is found when the first instance runs, so that neither an SDK nor a driver is needed to build a
 * program. The declarations of the interface of OpenCL that this file needs are its own.
 *
 * Memory of a device has an address in the host's address space, at which nothing is accessible: addresses of parts are
 * computed there, and code of the host that touches them ends with a signal. Commands go to streams, which are queues in which they run
 * in order. Stream 0 is that of the caller: the queue that a run is started on, or one of the instance. */

#include "../device/cache.h"

#include <sys/mman.h>

/* Of <sys/file.h> of Linux, which declares more names that programs may have. */
extern int flock(int file, int operation);
enum { SDFG_LOCK_EX = 2 };

typedef sdfg_object sdfg_cl;

/* Constants of OpenCL (CL/cl.h of Khronos). */
enum {
    SDFG_CL_SUCCESS = 0,
    SDFG_CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
    SDFG_CL_OUT_OF_RESOURCES = -5,
    SDFG_CL_OUT_OF_HOST_MEMORY = -6,
    SDFG_CL_INVALID_BUFFER_SIZE = -61,
    SDFG_CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    SDFG_CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
    SDFG_CL_DEVICE_NAME = 0x102B,
    SDFG_CL_DEVICE_VENDOR = 0x102C,
    SDFG_CL_DRIVER_VERSION = 0x102D,
    SDFG_CL_DEVICE_VERSION = 0x102F,
    SDFG_CL_DEVICE_PLATFORM = 0x1031,
    SDFG_CL_PLATFORM_VERSION = 0x0901,
    SDFG_CL_PLATFORM_NAME = 0x0902,
    SDFG_CL_PROGRAM_NUM_DEVICES = 0x1162,
    SDFG_CL_PROGRAM_BINARY_SIZES = 0x1165,
    SDFG_CL_PROGRAM_BINARIES = 0x1166,
    SDFG_CL_PROGRAM_BUILD_LOG = 0x1183,
    SDFG_CL_PROFILING_COMMAND_START = 0x1282,
    SDFG_CL_PROFILING_COMMAND_END = 0x1283,
    SDFG_CL_QUEUE_PROFILING_ENABLE = 2,
    SDFG_CL_MEM_READ_WRITE = 1,
    SDFG_CL_MEM_ALLOC_HOST_PTR = 16,
    SDFG_CL_MAP_READ_AND_WRITE = 3,
    SDFG_CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3,
    SDFG_CL_MEM_SIZE = 0x1102,
    SDFG_CL_MEM_CONTEXT = 0x1106,
    SDFG_CL_QUEUE_CONTEXT = 0x1090,
    SDFG_CL_QUEUE_DEVICE = 0x1091,
    SDFG_CL_QUEUE_PROPERTIES = 0x1093,
    SDFG_CL_QUEUE_OUT_OF_ORDER = 1
};

/* Functions of OpenCL: result, name, parameters. */
#define SDFG_CL_FUNCTIONS(F) \
    F(int32_t, clGetPlatformIDs, (uint32_t, sdfg_cl *, uint32_t *)) \
    F(int32_t, clGetPlatformInfo, (sdfg_cl, uint32_t, size_t, void *, size_t *)) \
    F(int32_t, clGetDeviceIDs, (sdfg_cl, uint64_t, uint32_t, sdfg_cl *, uint32_t *)) \
    F(int32_t, clGetDeviceInfo, (sdfg_cl, uint32_t, size_t, void *, size_t *)) \
    F(sdfg_cl, clCreateContext, (const intptr_t *, uint32_t, const sdfg_cl *, void *, void *, int32_t *)) \
    F(sdfg_cl, clCreateCommandQueue, (sdfg_cl, sdfg_cl, uint64_t, int32_t *)) \
    F(sdfg_cl, clCreateProgramWithSource, (sdfg_cl, uint32_t, const char **, const size_t *, int32_t *)) \
    F(sdfg_cl, clCreateProgramWithBinary, (sdfg_cl, uint32_t, const sdfg_cl *, const size_t *, const unsigned char **, int32_t *, int32_t *)) \
    F(int32_t, clGetProgramInfo, (sdfg_cl, uint32_t, size_t, void *, size_t *)) \
    F(int32_t, clBuildProgram, (sdfg_cl, uint32_t, const sdfg_cl *, const char *, void *, void *)) \
    F(int32_t, clGetProgramBuildInfo, (sdfg_cl, sdfg_cl, uint32_t, size_t, void *, size_t *)) \
    F(sdfg_cl, clCreateKernel, (sdfg_cl, const char *, int32_t *)) \
    F(int32_t, clSetKernelArg, (sdfg_cl, uint32_t, size_t, const void *)) \
    F(sdfg_cl, clCreateBuffer, (sdfg_cl, uint64_t, size_t, void *, int32_t *)) \
    F(void *, clEnqueueMapBuffer, (sdfg_cl, sdfg_cl, uint32_t, uint64_t, size_t, size_t, uint32_t, const sdfg_cl *, sdfg_cl *, int32_t *)) \
    F(int32_t, clEnqueueUnmapMemObject, (sdfg_cl, sdfg_cl, void *, uint32_t, const sdfg_cl *, sdfg_cl *)) \
    F(int32_t, clEnqueueReadBuffer, (sdfg_cl, sdfg_cl, uint32_t, size_t, size_t, void *, uint32_t, const sdfg_cl *, sdfg_cl *)) \
    F(int32_t, clEnqueueWriteBuffer, (sdfg_cl, sdfg_cl, uint32_t, size_t, size_t, const void *, uint32_t, const sdfg_cl *, sdfg_cl *)) \
    F(int32_t, clEnqueueCopyBuffer, (sdfg_cl, sdfg_cl, sdfg_cl, size_t, size_t, size_t, uint32_t, const sdfg_cl *, sdfg_cl *)) \
    F(int32_t, clEnqueueReadBufferRect, (sdfg_cl, sdfg_cl, uint32_t, const size_t *, const size_t *, const size_t *, size_t, size_t, size_t, size_t, void *, uint32_t, const sdfg_cl *, sdfg_cl *)) \
    F(int32_t, clEnqueueWriteBufferRect, (sdfg_cl, sdfg_cl, uint32_t, const size_t *, const size_t *, const size_t *, size_t, size_t, size_t, size_t, const void *, uint32_t, const sdfg_cl *, sdfg_cl *)) \
    F(int32_t, clEnqueueNDRangeKernel, (sdfg_cl, sdfg_cl, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t, const sdfg_cl *, sdfg_cl *)) \
    F(int32_t, clEnqueueMarkerWithWaitList, (sdfg_cl, uint32_t, const sdfg_cl *, sdfg_cl *)) \
    F(int32_t, clEnqueueBarrierWithWaitList, (sdfg_cl, uint32_t, const sdfg_cl *, sdfg_cl *)) \
    F(int32_t, clWaitForEvents, (uint32_t, const sdfg_cl *)) \
    F(int32_t, clFlush, (sdfg_cl)) \
    F(int32_t, clFinish, (sdfg_cl)) \
    F(int32_t, clGetEventInfo, (sdfg_cl, uint32_t, size_t, void *, size_t *)) \
    F(int32_t, clGetEventProfilingInfo, (sdfg_cl, uint32_t, size_t, void *, size_t *)) \
    F(int32_t, clReleaseEvent, (sdfg_cl)) \
    F(int32_t, clReleaseKernel, (sdfg_cl)) \
    F(int32_t, clReleaseMemObject, (sdfg_cl)) \
    F(int32_t, clReleaseProgram, (sdfg_cl)) \
    F(int32_t, clReleaseCommandQueue, (sdfg_cl)) \
    F(int32_t, clReleaseContext, (sdfg_cl)) \
    F(int32_t, clRetainContext, (sdfg_cl)) \
    F(int32_t, clRetainCommandQueue, (sdfg_cl)) \
    F(int32_t, clGetCommandQueueInfo, (sdfg_cl, uint32_t, size_t, void *, size_t *)) \
    F(int32_t, clRetainMemObject, (sdfg_cl)) \
    F(int32_t, clGetMemObjectInfo, (sdfg_cl, uint32_t, size_t, void *, size_t *))

/* A piece of memory: in use, or kept for the next request of its size. That of the caller is always in use. */
typedef struct sdfg_piece {
    char *address;
    size_t bytes;
    sdfg_cl memory;
    bool is_used, is_of_caller;
    /* The stream that freed it. */
    uint32_t stream;
    struct sdfg_piece *next;
} sdfg_piece;

typedef struct sdfg_kernel {
    const char *name;
    sdfg_cl kernel;
    struct sdfg_kernel *next;
} sdfg_kernel;

typedef struct sdfg_device {
    void *driver;
    sdfg_cl device, context, program;
    /* The queue to which commands go, its number, and all queues; events that order them. The first queue is there when the device is open:
     * that of the instance, or in its place one of the caller, which the last run was started on. */
    sdfg_cl queue, own;
    uint32_t stream, n_streams, n_events;
    sdfg_cl *streams, *events;
    /* The end of the last run that was started, and whether the host did not wait for it. */
    sdfg_cl end;
    bool is_pending;
    bool is_open;
    sdfg_piece *pieces;
    /* Memory of the host from and to which copies run beside kernels; NULL if the driver has none. */
    sdfg_cl host_memory;
    sdfg_kernel *kernels;
    /* Commands of a program that is profiled, the last one first; the work of the next kernel; and what was told last of all. */
    sdfg_command *commands;
    int64_t bytes, operations;
    char *profile;
    /* The last error. */
    char text[1024];
#define SDFG_CL_MEMBER(result, name, parameters) result(*name) parameters;
    SDFG_CL_FUNCTIONS(SDFG_CL_MEMBER)
#undef SDFG_CL_MEMBER
} sdfg_device;

SDFG_DEVICE_FUNCTION int32_t sdfg_device_failed(sdfg_device *device, int32_t error, const char *what) {
    const bool is_memory = error == SDFG_CL_MEM_OBJECT_ALLOCATION_FAILURE || error == SDFG_CL_OUT_OF_RESOURCES || error == SDFG_CL_OUT_OF_HOST_MEMORY;
    snprintf(device->text, sizeof device->text, "%s: error %d of OpenCL", what, (int)error);
    return is_memory ? SDFG_DEVICE_MEMORY : SDFG_DEVICE_FAILED;
}

#ifdef SDFG_DEVICE_PROFILE
enum { SDFG_DEVICE_PROPERTIES = SDFG_CL_QUEUE_PROFILING_ENABLE };

/* Where the event of the next command goes; without memory, the command is not measured. */
SDFG_DEVICE_FUNCTION sdfg_cl *sdfg_device_event(sdfg_device *device, const char *kind, const char *name, int64_t bytes, int64_t operations) {
    sdfg_command *const command = (sdfg_command *)calloc(1, sizeof *command);
    if (command == NULL) {
        return NULL;
    }
    *command = (sdfg_command){ kind, name, { NULL, NULL }, 0, 0, bytes, operations, device->stream, device->commands };
    device->commands = command;
    return &command->events[0];
}

/* Notes the times of all commands, which are complete. */
SDFG_DEVICE_FUNCTION void sdfg_device_note(sdfg_device *device) {
    for (sdfg_command *command = device->commands; command != NULL; command = command->next) {
        if (command->events[0] != NULL) {
            (void)device->clGetEventProfilingInfo(command->events[0], SDFG_CL_PROFILING_COMMAND_START, sizeof command->begin, &command->begin, NULL);
            (void)device->clGetEventProfilingInfo(command->events[0], SDFG_CL_PROFILING_COMMAND_END, sizeof command->end, &command->end, NULL);
            (void)device->clReleaseEvent(command->events[0]);
            command->events[0] = NULL;
        }
    }
}

/* What was measured: a table of kernels and copies, or a trace for Chrome's viewer (format 1). The device owns the text. */
SDFG_DEVICE_FUNCTION const char *sdfg_device_profile(sdfg_device *device, int32_t format) {
    free(device->profile);
    device->profile = NULL;
    int32_t error = device->queue == NULL ? SDFG_CL_OUT_OF_RESOURCES : SDFG_CL_SUCCESS;
    for (uint32_t n = 0; n < device->n_streams && error == SDFG_CL_SUCCESS; ++n) {
        error = device->clFinish(device->streams[n]);
    }
    if (error == SDFG_CL_SUCCESS) {
        sdfg_device_note(device);
        device->profile = sdfg_device_report(device->commands, format);
    }
    return device->profile;
}
#else
enum { SDFG_DEVICE_PROPERTIES = 0 };
#define sdfg_device_event(device, kind, name, bytes, operations) NULL
#endif

/* The bytes that the next kernel moves, and its operations; negative if they are not known. */
SDFG_DEVICE_FUNCTION void sdfg_device_work(sdfg_device *device, int64_t bytes, int64_t operations) {
    device->bytes = bytes;
    device->operations = operations;
}

/* Lets commands that follow go to a stream. */
SDFG_DEVICE_FUNCTION void sdfg_device_on(sdfg_device *device, uint32_t stream) {
    device->stream = stream;
    device->queue = device->streams[stream];
}

/* Makes queues and events, unless that was done. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_streams(sdfg_device *device, uint32_t n_streams, uint32_t n_events) {
    if (device->n_streams < n_streams) {
        sdfg_cl *const streams = (sdfg_cl *)realloc(device->streams, n_streams * sizeof *streams);
        if (streams == NULL) {
            return sdfg_device_failed(device, SDFG_CL_OUT_OF_HOST_MEMORY, "queues of the device");
        }
        device->streams = streams;
    }
    while (device->n_streams < n_streams) {
        int32_t error = SDFG_CL_SUCCESS;
        const sdfg_cl queue = device->clCreateCommandQueue(device->context, device->device, SDFG_DEVICE_PROPERTIES, &error);
        if (error != SDFG_CL_SUCCESS) {
            return sdfg_device_failed(device, error, "queues of the device");
        }
        device->own = device->n_streams == 0 ? queue : device->own;
        device->streams[device->n_streams++] = queue;
    }
    if (device->n_streams > 0) {
        sdfg_device_on(device, 0);
    }
    if (device->n_events < n_events) {
        device->events = (sdfg_cl *)calloc(n_events, sizeof *device->events);
        device->n_events = device->events == NULL ? 0 : n_events;
    }
    return device->n_events >= n_events ? 0 : sdfg_device_failed(device, SDFG_CL_OUT_OF_HOST_MEMORY, "events of the device");
}

/* Waits for all commands of all streams, whether they fail or not. */
SDFG_DEVICE_FUNCTION void sdfg_device_drain(sdfg_device *device) {
    if (device != NULL && device->n_streams > 0) {
        for (uint32_t n = 0; n < device->n_streams; ++n) {
            (void)device->clFinish(device->streams[n]);
        }
        sdfg_device_on(device, 0);
    }
}

/* Lets commands of the stream that follow wait for an event. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_after(sdfg_device *device, uint32_t event) {
    const int32_t error = device->clEnqueueBarrierWithWaitList(device->queue, 1, &device->events[event], NULL);
    return error == SDFG_CL_SUCCESS ? 0 : sdfg_device_failed(device, error, "a queue of the device");
}

/* An event behind the commands of a queue, which the driver then carries out. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_mark(sdfg_device *device, sdfg_cl queue, sdfg_cl *event) {
    if (*event != NULL) {
        (void)device->clReleaseEvent(*event);
        *event = NULL;
    }
    const int32_t error = device->clEnqueueMarkerWithWaitList(queue, 0, NULL, event);
    return error == SDFG_CL_SUCCESS ? device->clFlush(queue) : error;
}

/* Records an event behind the commands of the stream. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_record(sdfg_device *device, uint32_t event) {
    const int32_t error = sdfg_device_mark(device, device->queue, &device->events[event]);
    return error == SDFG_CL_SUCCESS ? 0 : sdfg_device_failed(device, error, "an event of the device");
}

/* Waits for an event. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_await(sdfg_device *device, uint32_t event) {
    const int32_t error = device->clWaitForEvents(1, &device->events[event]);
    return error == SDFG_CL_SUCCESS ? 0 : sdfg_device_failed(device, error, "the device fails");
}

/* Lets the stream wait for all commands of another one. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_follow(sdfg_device *device, uint32_t stream) {
    sdfg_cl event = NULL;
    int32_t error = sdfg_device_mark(device, device->streams[stream], &event);
    if (error == SDFG_CL_SUCCESS) {
        error = device->clEnqueueBarrierWithWaitList(device->queue, 1, &event, NULL);
        (void)device->clReleaseEvent(event);
    }
    return error;
}

/* Finds the functions of the driver. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_load(sdfg_device *device) {
    device->driver = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (device->driver == NULL) {
        snprintf(device->text, sizeof device->text, "no driver of OpenCL: %s (packages `ocl-icd-libopencl1` and a driver such as `pocl-opencl-icd`)", dlerror());
        return SDFG_DEVICE_FAILED;
    }
    const char *missing = NULL;
#define SDFG_CL_FIND(result, name, parameters) \
    if ((*(void **)&device->name = dlsym(device->driver, #name)) == NULL) { \
        missing = #name; \
    }
    SDFG_CL_FUNCTIONS(SDFG_CL_FIND)
#undef SDFG_CL_FIND
    if (missing != NULL) {
        snprintf(device->text, sizeof device->text, "libOpenCL.so.1 has no function `%s`", missing);
        return SDFG_DEVICE_FAILED;
    }
    return 0;
}

/* Finds the device that is wanted. The name of its platform counts, too. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_choose(sdfg_device *device, const char *asked) {
    const sdfg_wanted wanted = sdfg_device_wanted(asked);
    sdfg_cl platforms[16], devices[16];
    uint32_t n_platforms = 0, n_devices;
    long position = 0;
    (void)device->clGetPlatformIDs(16, platforms, &n_platforms);
    for (uint32_t p = 0; p < n_platforms && p < 16; ++p) {
        char platform[128] = "", name[128];
        (void)device->clGetPlatformInfo(platforms[p], SDFG_CL_PLATFORM_NAME, sizeof platform - 1, platform, NULL);
        n_devices = 0;
        if (device->clGetDeviceIDs(platforms[p], 0xffffffffu, 16, devices, &n_devices) != SDFG_CL_SUCCESS) {
            continue;
        }
        for (uint32_t d = 0; d < n_devices && d < 16; ++d, ++position) {
            memset(name, 0, sizeof name);
            (void)device->clGetDeviceInfo(devices[d], SDFG_CL_DEVICE_NAME, sizeof name - 1, name, NULL);
            if (wanted.is_number ? position == wanted.number : strstr(name, wanted.name) != NULL || strstr(platform, wanted.name) != NULL) {
                device->device = devices[d];
                return 0;
            }
        }
    }
    if (position == 0) {
        snprintf(device->text, sizeof device->text, "OpenCL has no device (packages such as `pocl-opencl-icd` have drivers)");
    } else {
        snprintf(device->text, sizeof device->text, "%s: none of the %ld devices of OpenCL is `%s` (`sdfg devices` lists them)", wanted.from, position, wanted.name);
    }
    return SDFG_DEVICE_FAILED;
}

/* Takes context and device from a queue of the caller. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_of_queue(sdfg_device *device, sdfg_cl queue) {
    sdfg_cl context = NULL;
    int32_t error = device->clGetCommandQueueInfo(queue, SDFG_CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    if (error == SDFG_CL_SUCCESS) {
        error = device->clGetCommandQueueInfo(queue, SDFG_CL_QUEUE_DEVICE, sizeof device->device, &device->device, NULL);
    }
    if (error == SDFG_CL_SUCCESS) {
        error = device->clRetainContext(context);
    }
    device->context = error == SDFG_CL_SUCCESS ? context : NULL;
    return error == SDFG_CL_SUCCESS ? 0 : sdfg_device_failed(device, error, "the queue cannot be used");
}

/* Finds the device, that of the caller's queue if there is one, and makes a queue. Drivers are not always ready for two threads that look for the first device at once: PoCL
 * 3.1 counts a device before it has its name, and before it has it at all. All instances in a process therefore take turns, also
 * those of different libraries: they lock a file that only this process has. Closing the file ends the lock. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_find_device(sdfg_device *device, const char *asked, sdfg_cl queue) {
    FILE *const turn = fopen("/proc/self/stat", "re");
    while (turn != NULL && flock(fileno(turn), SDFG_LOCK_EX) != 0 && errno == EINTR) {
    }
    int32_t error = SDFG_CL_SUCCESS, status = sdfg_device_load(device);
    if (status == 0) {
        status = queue != NULL ? sdfg_device_of_queue(device, queue) : sdfg_device_choose(device, asked);
    }
    if (status == 0 && queue == NULL) {
        device->context = device->clCreateContext(NULL, 1, &device->device, NULL, NULL, &error);
        device->context = error == SDFG_CL_SUCCESS ? device->context : NULL;
        status = error == SDFG_CL_SUCCESS ? 0 : sdfg_device_failed(device, error, "the device cannot be used");
    }
    if (status == 0) {
        status = sdfg_device_streams(device, 1, 0);
    }
    if (turn != NULL) {
        (void)fclose(turn);
    }
    return status;
}

/* What the image of kernels depends on besides their text: the device, its driver, and their versions. */
SDFG_DEVICE_FUNCTION void sdfg_device_target(const sdfg_device *device, char *text, size_t size) {
    static const uint32_t of_platform[] = { SDFG_CL_PLATFORM_NAME, SDFG_CL_PLATFORM_VERSION };
    static const uint32_t of_device[] = { SDFG_CL_DEVICE_VENDOR, SDFG_CL_DEVICE_NAME, SDFG_CL_DEVICE_VERSION, SDFG_CL_DRIVER_VERSION };
    sdfg_cl platform = NULL;
    size_t at = (size_t)snprintf(text, size, "OpenCL");
    (void)device->clGetDeviceInfo(device->device, SDFG_CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    for (size_t n = 0; n < 6; ++n) {
        char value[256] = "";
        if (n < 2) {
            (void)device->clGetPlatformInfo(platform, of_platform[n], sizeof value - 1, value, NULL);
        } else {
            (void)device->clGetDeviceInfo(device->device, of_device[n - 2], sizeof value - 1, value, NULL);
        }
        at += (size_t)snprintf(text + at, size - at, "\n%s", value);
    }
}

/* Builds a program that was made from source or from an image. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_link(sdfg_device *device, const char *options) {
    return device->clBuildProgram(device->program, 1, &device->device, options, NULL, NULL);
}

/* Takes the kernels from the cache; false if they are not there, or the driver does not take them. */
SDFG_DEVICE_FUNCTION bool sdfg_device_load_image(sdfg_device *device, const char *key, const char *options) {
    unsigned char *bytes = NULL;
    size_t size = 0;
    if (!sdfg_cache_read(key, &bytes, &size)) {
        return false;
    }
    int32_t state = SDFG_CL_SUCCESS, error = SDFG_CL_SUCCESS;
    const unsigned char *const image = bytes;
    device->program = device->clCreateProgramWithBinary(device->context, 1, &device->device, &size, (const unsigned char **)(uintptr_t)&image, &state, &error);
    free(bytes);
    if (error != SDFG_CL_SUCCESS) {
        device->program = NULL;
        return false;
    }
    if (state == SDFG_CL_SUCCESS && sdfg_device_link(device, options) == SDFG_CL_SUCCESS) {
        return true;
    }
    (void)device->clReleaseProgram(device->program);
    device->program = NULL;
    return false;
}

/* Keeps the kernels in the cache. A context of the caller may have several devices, of which each has an image: then none is kept. */
SDFG_DEVICE_FUNCTION void sdfg_device_keep_image(sdfg_device *device, const char *key) {
    uint32_t n_devices = 0;
    size_t size = 0;
    if (device->clGetProgramInfo(device->program, SDFG_CL_PROGRAM_NUM_DEVICES, sizeof n_devices, &n_devices, NULL) != SDFG_CL_SUCCESS || n_devices != 1) {
        return;
    }
    if (device->clGetProgramInfo(device->program, SDFG_CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) != SDFG_CL_SUCCESS || size == 0) {
        return;
    }
    unsigned char *image = (unsigned char *)malloc(size);
    if (image != NULL && device->clGetProgramInfo(device->program, SDFG_CL_PROGRAM_BINARIES, sizeof image, &image, NULL) == SDFG_CL_SUCCESS) {
        sdfg_cache_write(key, image, size);
    }
    free(image);
}

/* Compiles the kernels. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_compile(sdfg_device *device, const char *source, const char *options) {
    int32_t error = 0;
    device->program = device->clCreateProgramWithSource(device->context, 1, &source, NULL, &error);
    if (error != SDFG_CL_SUCCESS) {
        return sdfg_device_failed(device, error, "the device takes no kernels");
    }
    error = sdfg_device_link(device, options);
    if (error != SDFG_CL_SUCCESS) {
        const int begin = snprintf(device->text, sizeof device->text, "the device does not compile the kernels (error %d of OpenCL): ", (int)error);
        size_t bytes = 0;
        char *log = NULL;
        if (device->clGetProgramBuildInfo(device->program, device->device, SDFG_CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes) == SDFG_CL_SUCCESS) {
            log = (char *)calloc(1, bytes + 1);
        }
        if (log != NULL && device->clGetProgramBuildInfo(device->program, device->device, SDFG_CL_PROGRAM_BUILD_LOG, bytes, log, NULL) == SDFG_CL_SUCCESS) {
            snprintf(device->text + begin, sizeof device->text - (size_t)begin, "%s", log);
        }
        free(log);
        return SDFG_DEVICE_FAILED;
    }
    return 0;
}

/* Loads the kernels: from the cache, or compiled now. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_build(sdfg_device *device, const char *const *parts, uint32_t n_parts, const char *options) {
    char target[2048];
    sdfg_device_target(device, target, sizeof target);
    char *const source = sdfg_device_joined(parts, n_parts);
    char *const key = source == NULL ? NULL : sdfg_cache_key(target, options, source);
    int32_t status = 0;
    if (key == NULL) {
        status = sdfg_device_failed(device, SDFG_CL_OUT_OF_HOST_MEMORY, "the device takes no kernels");
    } else if (!sdfg_device_load_image(device, key, options)) {
        status = sdfg_device_compile(device, source, options);
        if (status == 0) {
            sdfg_device_keep_image(device, key);
        }
    }
    free(key);
    free(source);
    return status;
}

SDFG_DEVICE_FUNCTION void sdfg_device_close(sdfg_device *device) {
    if (device == NULL) {
        return;
    }
    if (device->end != NULL) {
        (void)device->clWaitForEvents(1, &device->end);
        (void)device->clReleaseEvent(device->end);
    }
    for (sdfg_piece *piece = device->pieces; piece != NULL;) {
        sdfg_piece *const next = piece->next;
        (void)device->clReleaseMemObject(piece->memory);
        munmap(piece->address, piece->bytes);
        free(piece);
        piece = next;
    }
    for (sdfg_kernel *kernel = device->kernels; kernel != NULL;) {
        sdfg_kernel *const next = kernel->next;
        (void)device->clReleaseKernel(kernel->kernel);
        free(kernel);
        kernel = next;
    }
    while (device->commands != NULL) {
        sdfg_command *const next = device->commands->next;
        if (device->commands->events[0] != NULL) {
            (void)device->clReleaseEvent(device->commands->events[0]);
        }
        free(device->commands);
        device->commands = next;
    }
    free(device->profile);
    if (device->program != NULL) {
        (void)device->clReleaseProgram(device->program);
    }
    for (uint32_t n = 0; n < device->n_events; ++n) {
        if (device->events[n] != NULL) {
            (void)device->clReleaseEvent(device->events[n]);
        }
    }
    for (uint32_t n = 0; n < device->n_streams; ++n) {
        (void)device->clReleaseCommandQueue(device->streams[n]);
    }
    if (device->n_streams > 0 && device->streams[0] != device->own) {
        (void)device->clReleaseCommandQueue(device->own);
    }
    free(device->events);
    free(device->streams);
    if (device->context != NULL) {
        (void)device->clReleaseContext(device->context);
    }
    /* The driver stays: threads of it may still run. */
    free(device);
}

/* Opens the chosen device, or that of a queue of the caller, and compiles kernels for it, unless that was done. After an error, the device
 * has its text. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_open(sdfg_device **out, const char *asked, void *queue, const char *const *parts, uint32_t n_parts, const char *options) {
    if (*out != NULL && (*out)->is_open) {
        return 0;
    }
    sdfg_device_close(*out);
    sdfg_device *const device = *out = (sdfg_device *)calloc(1, sizeof *device);
    if (device == NULL) {
        return SDFG_DEVICE_MEMORY;
    }
    int32_t status = sdfg_device_find_device(device, asked, (sdfg_cl)queue);
    if (status == 0) {
        status = sdfg_device_build(device, parts, n_parts, options);
    }
    device->is_open = status == 0;
    return status;
}

/* The piece of memory in use in which an address lies; NULL if it is memory of the host. */
SDFG_DEVICE_FUNCTION sdfg_piece *sdfg_device_find(sdfg_device *device, const void *address) {
    for (sdfg_piece *piece = device->pieces; piece != NULL; piece = piece->next) {
        if (piece->is_used && (const char *)address >= piece->address && (const char *)address < piece->address + piece->bytes) {
            return piece;
        }
    }
    return NULL;
}

SDFG_DEVICE_FUNCTION int32_t sdfg_device_allocate(sdfg_device *device, void **pointer, size_t asked) {
    const size_t page = 4096, bytes = asked > (size_t)INT64_MAX - page ? asked : (asked + page - (asked == 0 ? 0 : 1)) / page * page;
    /* Kept memory of this stream, or else of another one, for whose commands this stream then waits. */
    sdfg_piece *kept = NULL;
    for (sdfg_piece *piece = device->pieces; piece != NULL; piece = piece->next) {
        if (!piece->is_used && piece->bytes == bytes && (kept == NULL || kept->stream != device->stream)) {
            kept = piece;
        }
    }
    if (kept != NULL) {
        const int32_t waits = kept->stream == device->stream ? SDFG_CL_SUCCESS : sdfg_device_follow(device, kept->stream);
        if (waits != SDFG_CL_SUCCESS) {
            return sdfg_device_failed(device, waits, "memory of the device");
        }
        kept->is_used = true;
        *pointer = kept->address;
        return 0;
    }
    uint64_t most = 0, all = 0;
    int32_t error = SDFG_CL_INVALID_BUFFER_SIZE;
    (void)device->clGetDeviceInfo(device->device, SDFG_CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, NULL);
    (void)device->clGetDeviceInfo(device->device, SDFG_CL_DEVICE_GLOBAL_MEM_SIZE, sizeof all, &all, NULL);
    sdfg_piece *const piece = (sdfg_piece *)calloc(1, sizeof *piece);
    void *address = MAP_FAILED;
    if (piece != NULL && bytes <= most) {
        address = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        piece->memory = device->clCreateBuffer(device->context, SDFG_CL_MEM_READ_WRITE, bytes, NULL, &error);
    }
    if (address == MAP_FAILED || error != SDFG_CL_SUCCESS) {
        if (address != MAP_FAILED) {
            munmap(address, bytes);
        }
        if (piece != NULL && error == SDFG_CL_SUCCESS) {
            (void)device->clReleaseMemObject(piece->memory);
        }
        free(piece);
        snprintf(device->text, sizeof device->text, "the device has no %llu bytes (at most %llu at once, %llu in all)", (unsigned long long)asked, (unsigned long long)most, (unsigned long long)all);
        return SDFG_DEVICE_MEMORY;
    }
    piece->address = (char *)address;
    piece->bytes = bytes;
    piece->is_used = true;
    piece->next = device->pieces;
    device->pieces = piece;
    *pointer = address;
    return 0;
}

SDFG_DEVICE_FUNCTION void sdfg_device_free(sdfg_device *device, void *pointer) {
    sdfg_piece *const piece = pointer == NULL || device == NULL ? NULL : sdfg_device_find(device, pointer);
    if (piece != NULL && !piece->is_of_caller) {
        piece->is_used = false;
        piece->stream = device->stream;
    }
}

/* Allocates memory of the host from and to which copies run beside kernels, if the driver has as much; there is one piece. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_allocate_host(sdfg_device *device, void **pointer, size_t bytes) {
    int32_t error = SDFG_CL_SUCCESS;
    const size_t size = (bytes + 64) / 64 * 64;
    device->host_memory = device->clCreateBuffer(device->context, SDFG_CL_MEM_READ_WRITE | SDFG_CL_MEM_ALLOC_HOST_PTR, size, NULL, &error);
    if (error == SDFG_CL_SUCCESS) {
        *pointer = device->clEnqueueMapBuffer(device->queue, device->host_memory, 1, SDFG_CL_MAP_READ_AND_WRITE, 0, size, 0, NULL, NULL, &error);
        if (error != SDFG_CL_SUCCESS) {
            (void)device->clReleaseMemObject(device->host_memory);
        }
    }
    if (error != SDFG_CL_SUCCESS) {
        device->host_memory = NULL;
        *pointer = aligned_alloc(64, size);
    }
    return *pointer != NULL ? 0 : sdfg_device_failed(device, SDFG_CL_OUT_OF_HOST_MEMORY, "memory of the host for copies");
}

/* Frees such memory; NULL is nothing. No command uses it. */
SDFG_DEVICE_FUNCTION void sdfg_device_free_host(sdfg_device *device, void *pointer) {
    if (pointer != NULL && device->host_memory == NULL) {
        free(pointer);
    } else if (pointer != NULL) {
        (void)device->clEnqueueUnmapMemObject(device->queue, device->host_memory, pointer, 0, NULL, NULL);
        (void)device->clFinish(device->queue);
        (void)device->clReleaseMemObject(device->host_memory);
    }
}

/* Copies rows of bytes between memories of host and device. The strides are distances of rows in bytes. The host may wait until its
 * memory is read or written. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_move(sdfg_device *device, uint32_t waits, void *to, int64_t to_stride, const void *from, int64_t from_stride, int64_t width, int64_t rows) {
    if (width <= 0 || rows <= 0) {
        return 0;
    }
    sdfg_piece *const target = sdfg_device_find(device, to), *const source = sdfg_device_find(device, from);
    if (rows > 1 && to_stride == width && from_stride == width) {
        width *= rows;
        rows = 1;
    }
    int32_t error = SDFG_CL_SUCCESS;
    const bool is_rectangle = rows > 1 && to_stride >= width && from_stride >= width && (target == NULL) != (source == NULL);
    sdfg_piece *const piece = target != NULL ? target : source;
    const size_t offset = piece == NULL ? 0 : (size_t)((target != NULL ? (const char *)to : (const char *)from) - piece->address);
    const size_t stride = (size_t)(target != NULL ? to_stride : from_stride), other = (size_t)(target != NULL ? from_stride : to_stride);
    /* A row of a rectangle lies within one row of the buffer. */
    if (is_rectangle && offset % stride + (size_t)width <= stride) {
        /* An origin is a column and a row: the offset is that of both. */
        const size_t origin[3] = { offset % stride, offset / stride, 0 }, zero[3] = { 0, 0, 0 }, region[3] = { (size_t)width, (size_t)rows, 1 };
        error = target != NULL
            ? device->clEnqueueWriteBufferRect(device->queue, target->memory, waits, origin, zero, region, stride, 0, other, 0, from, 0, NULL, sdfg_device_event(device, "copy", "to the device", width * rows, -1))
            : device->clEnqueueReadBufferRect(device->queue, source->memory, waits, origin, zero, region, stride, 0, other, 0, to, 0, NULL, sdfg_device_event(device, "copy", "to the host", width * rows, -1));
        return error == SDFG_CL_SUCCESS ? 0 : sdfg_device_failed(device, error, "a copy fails");
    }
    for (int64_t row = 0; row < rows && error == SDFG_CL_SUCCESS; ++row) {
        char *const to_row = (char *)to + row * to_stride;
        const char *const from_row = (const char *)from + row * from_stride;
        if (target != NULL && source != NULL) {
            error = device->clEnqueueCopyBuffer(device->queue, source->memory, target->memory, (size_t)(from_row - source->address), (size_t)(to_row - target->address), (size_t)width, 0, NULL, sdfg_device_event(device, "copy", "on the device", 2 * width, -1));
        } else if (target != NULL) {
            error = device->clEnqueueWriteBuffer(device->queue, target->memory, waits, (size_t)(to_row - target->address), (size_t)width, from_row, 0, NULL, sdfg_device_event(device, "copy", "to the device", width, -1));
        } else if (source != NULL) {
            error = device->clEnqueueReadBuffer(device->queue, source->memory, waits, (size_t)(from_row - source->address), (size_t)width, to_row, 0, NULL, sdfg_device_event(device, "copy", "to the host", width, -1));
        } else {
            memcpy(to_row, from_row, (size_t)width);
        }
    }
    return error == SDFG_CL_SUCCESS ? 0 : sdfg_device_failed(device, error, "a copy fails");
}

/* As the function above; the host waits. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_copy(sdfg_device *device, void *to, int64_t to_stride, const void *from, int64_t from_stride, int64_t width, int64_t rows) {
    return sdfg_device_move(device, 1, to, to_stride, from, from_stride, width, rows);
}

/* As the function above; the host does not wait. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_start_copy(sdfg_device *device, void *to, int64_t to_stride, const void *from, int64_t from_stride, int64_t width, int64_t rows) {
    return sdfg_device_move(device, 0, to, to_stride, from, from_stride, width, rows);
}

/* Starts a kernel on blocks of threads. An argument without bytes is memory of the device. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_launch(sdfg_device *device, const char *name, const size_t blocks[3], const size_t threads[3], uint32_t n_arguments, const sdfg_kernel_argument *arguments) {
    int32_t error = SDFG_CL_SUCCESS;
    sdfg_kernel *kernel = device->kernels;
    while (kernel != NULL && strcmp(kernel->name, name) != 0) {
        kernel = kernel->next;
    }
    if (kernel == NULL) {
        kernel = (sdfg_kernel *)calloc(1, sizeof *kernel);
        if (kernel == NULL) {
            return sdfg_device_failed(device, SDFG_CL_OUT_OF_HOST_MEMORY, name);
        }
        kernel->name = name;
        kernel->kernel = device->clCreateKernel(device->program, name, &error);
        if (error != SDFG_CL_SUCCESS) {
            free(kernel);
            return sdfg_device_failed(device, error, name);
        }
        kernel->next = device->kernels;
        device->kernels = kernel;
    }
    for (uint32_t n = 0; n < n_arguments && error == SDFG_CL_SUCCESS; ++n) {
        if (arguments[n].bytes > 0) {
            error = device->clSetKernelArg(kernel->kernel, n, arguments[n].bytes, arguments[n].value);
            continue;
        }
        /* Kernels get whole pieces: what they are given begins where memory does. */
        sdfg_piece *const piece = arguments[n].value == NULL ? NULL : sdfg_device_find(device, arguments[n].value);
        if (arguments[n].value != NULL && (piece == NULL || piece->address != (const char *)arguments[n].value)) {
            snprintf(device->text, sizeof device->text, "argument %u of the kernel `%s` is no memory of the device", (unsigned)n, name);
            return SDFG_DEVICE_FAILED;
        }
        error = device->clSetKernelArg(kernel->kernel, n, sizeof(sdfg_cl), piece == NULL ? NULL : &piece->memory);
    }
    if (error == SDFG_CL_SUCCESS) {
        const size_t all[3] = { blocks[0] * threads[0], blocks[1] * threads[1], blocks[2] * threads[2] };
        error = device->clEnqueueNDRangeKernel(device->queue, kernel->kernel, 3, NULL, all, threads, 0, NULL, sdfg_device_event(device, "kernel", kernel->name, device->bytes, device->operations));
    }
    return error == SDFG_CL_SUCCESS ? 0 : sdfg_device_failed(device, error, name);
}

/* Waits for the commands of stream 0, which follow those of the others. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_finish(sdfg_device *device) {
    sdfg_device_on(device, 0);
    const int32_t error = device->clFinish(device->queue);
    return error == SDFG_CL_SUCCESS ? 0 : sdfg_device_failed(device, error, "the device fails");
}

/* Waits for the end of the last run that was started, unless that was done. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_wait(sdfg_device *device) {
    if (device == NULL || !device->is_pending) {
        return 0;
    }
    device->is_pending = false;
    const int32_t error = device->clWaitForEvents(1, &device->end);
    return error == SDFG_CL_SUCCESS ? 0 : sdfg_device_failed(device, error, "the device fails");
}

/* Takes a queue of the caller as stream 0; NULL is that of the instance. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_take_queue(sdfg_device *device, sdfg_cl queue) {
    sdfg_cl context = device->context, of = device->device;
    uint64_t properties = 0;
    int32_t error = SDFG_CL_SUCCESS;
    if (queue == device->streams[0]) {
        return 0;
    }
    if (queue != device->own) {
        error = device->clGetCommandQueueInfo(queue, SDFG_CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
        if (error == SDFG_CL_SUCCESS) {
            error = device->clGetCommandQueueInfo(queue, SDFG_CL_QUEUE_DEVICE, sizeof of, &of, NULL);
        }
        if (error == SDFG_CL_SUCCESS) {
            error = device->clGetCommandQueueInfo(queue, SDFG_CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
        }
        if (error == SDFG_CL_SUCCESS && (context != device->context || of != device->device || (properties & SDFG_CL_QUEUE_OUT_OF_ORDER) != 0)) {
            snprintf(device->text, sizeof device->text, "%s", context != device->context || of != device->device ? "the queue belongs to another context or device than that of the first run on the handle" : "the queue runs commands out of order");
            return SDFG_DEVICE_FAILED;
        }
        if (error == SDFG_CL_SUCCESS) {
            error = device->clRetainCommandQueue(queue);
        }
    }
    if (error != SDFG_CL_SUCCESS) {
        return sdfg_device_failed(device, error, "the queue cannot be used");
    }
    if (device->streams[0] != device->own) {
        (void)device->clReleaseCommandQueue(device->streams[0]);
    }
    device->streams[0] = queue;
    return 0;
}

/* Lets the queue follow the last run that was started. The host waits for its end if it has to, or if that run failed: commands behind the
 * event of a failure would fail, too, and so would those of all later runs. What the host waited for is over. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_follow_run(sdfg_device *device, bool host_waits) {
    int32_t error = SDFG_CL_SUCCESS, state = 0;
    if (!device->is_pending) {
        return error;
    }
    error = device->clGetEventInfo(device->end, SDFG_CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    if (error == SDFG_CL_SUCCESS && state >= 0 && !host_waits) {
        error = device->clEnqueueBarrierWithWaitList(device->queue, 1, &device->end, NULL);
        if (error == SDFG_CL_SUCCESS) {
            return error;
        }
    }
    device->is_pending = false;
    const int32_t end = device->clWaitForEvents(1, &device->end);
    return error != SDFG_CL_SUCCESS ? error : end;
}

/* Begins a run whose stream 0 is a queue of the caller; NULL is one of the instance. It follows the runs that were started before. The
 * host waits for these if it writes memory of the instance that their commands use. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_begin_run(sdfg_device *device, void *queue, bool host_waits) {
    const int32_t status = sdfg_device_take_queue(device, queue != NULL ? (sdfg_cl)queue : device->own);
    sdfg_device_on(device, 0);
    if (status != 0) {
        return status;
    }
    const int32_t error = sdfg_device_follow_run(device, host_waits);
    return error == SDFG_CL_SUCCESS ? 0 : sdfg_device_failed(device, error, "a run before failed");
}

/* Lets commands of the caller that follow in one queue come behind those that are in another one now; NULL is that of the instance. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_order(sdfg_device *device, void *queue, void *before) {
    sdfg_cl event = NULL;
    int32_t error = sdfg_device_mark(device, before != NULL ? (sdfg_cl)before : device->own, &event);
    if (error == SDFG_CL_SUCCESS) {
        error = device->clEnqueueBarrierWithWaitList(queue != NULL ? (sdfg_cl)queue : device->own, 1, &event, NULL);
    }
    if (event != NULL) {
        (void)device->clReleaseEvent(event);
    }
    return error == SDFG_CL_SUCCESS ? 0 : sdfg_device_failed(device, error, "queues of the caller are not both of the device");
}

/* Ends a run for which the host does not wait: commands of the caller that follow in its queue come behind it. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_end_run(sdfg_device *device) {
    sdfg_device_on(device, 0);
    const int32_t error = sdfg_device_mark(device, device->queue, &device->end);
    device->is_pending = error == SDFG_CL_SUCCESS;
    return error == SDFG_CL_SUCCESS ? 0 : sdfg_device_failed(device, error, "an event of the device");
}

/* The address by which runs take memory of the caller, a buffer of OpenCL. It is the same for each call until the instance is closed. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_import(sdfg_device *device, void *memory, void **address) {
    const sdfg_cl buffer = (sdfg_cl)memory;
    for (sdfg_piece *piece = device->pieces; piece != NULL; piece = piece->next) {
        if (piece->memory == buffer) {
            *address = piece->address;
            return 0;
        }
    }
    size_t bytes = 0;
    sdfg_cl context = NULL;
    int32_t error = device->clGetMemObjectInfo(buffer, SDFG_CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    if (error == SDFG_CL_SUCCESS) {
        error = device->clGetMemObjectInfo(buffer, SDFG_CL_MEM_CONTEXT, sizeof context, &context, NULL);
    }
    if (error == SDFG_CL_SUCCESS && context != device->context) {
        snprintf(device->text, sizeof device->text, "the buffer belongs to another context than that of the handle");
        return SDFG_DEVICE_FAILED;
    }
    sdfg_piece *const piece = (sdfg_piece *)calloc(1, sizeof *piece);
    void *const place = error == SDFG_CL_SUCCESS && piece != NULL ? mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : MAP_FAILED;
    if (place != MAP_FAILED) {
        error = device->clRetainMemObject(buffer);
    }
    if (place == MAP_FAILED || error != SDFG_CL_SUCCESS) {
        if (place != MAP_FAILED) {
            munmap(place, bytes);
        }
        free(piece);
        return sdfg_device_failed(device, error != SDFG_CL_SUCCESS ? error : SDFG_CL_OUT_OF_HOST_MEMORY, "the buffer cannot be used");
    }
    *piece = (sdfg_piece){ (char *)place, bytes, buffer, true, true, 0, device->pieces };
    device->pieces = piece;
    *address = place;
    return 0;
}

/* Lends memory of the host to the device: the pointer becomes the address of a copy, and `host` what it was. Memory of the
 * device stays where it is, and `host` is then NULL. */
SDFG_DEVICE_FUNCTION int32_t sdfg_device_lend(sdfg_device *device, const char *name, void **pointer, size_t bytes, void **host) {
    void *copy = NULL;
    (void)name;
    *host = NULL;
    if (*pointer == NULL || sdfg_device_find(device, *pointer) != NULL) {
        return 0;
    }
    int32_t status = sdfg_device_allocate(device, &copy, bytes);
    if (status == 0) {
        status = sdfg_device_copy(device, copy, (int64_t)bytes, *pointer, (int64_t)bytes, (int64_t)bytes, 1);
        *host = *pointer;
        *pointer = copy;
    }
    return status;
}
