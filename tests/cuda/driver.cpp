/* A stand-in for the driver of CUDA: two devices that run kernels on threads of this processor, so that tests need no GPU.
 *
 * Memory of a device is inaccessible outside of kernels and copies, so that host code that uses it ends with a signal. It begins
 * with bytes that no test writes. Every function looks at what it is given: the
 * context, the kind and the bounds of memory. The last user of a context must have given everything back, or the process ends
 * with a message.
 *
 * The variable SDFG_STAND_IN makes it fail: `none` (no device), `load` (images), `launch` (a kernel cannot start), `kernel` (a
 * kernel accesses wrong memory, which the next function that waits tells), `memory=BYTES` (of a device). */

#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "image.h"

namespace {

enum Error { Success = 0, InvalidValue = 1, OutOfMemory = 2, NotInitialized = 3, NoDevice = 100, InvalidDevice = 101, InvalidContext = 201, NoBinary = 209, InvalidHandle = 400, NotFound = 500, IllegalAddress = 700, LaunchOutOfResources = 701 };

struct Module {
    void *library;
};
struct Function {
    StandInKernel *run;
};
struct Event {
    bool is_recorded;
    timespec time;
};

/* A device with its primary context. */
struct Device {
    const char *name;
    int architecture;
    int users = 0;
    int error = Success, launches = 0;
    /* Begin and bytes of memory; pages that belong to it. */
    std::map<uintptr_t, size_t> memory;
    size_t used = 0;
    std::set<Module *> modules;
    std::vector<Function *> functions;
    std::set<Event *> events;

    Device(const char *its_name, int its_architecture) : name(its_name), architecture(its_architecture) {}
};

Device devices[2] = { { "Stand-in S80", 80 }, { "Stand-in S90", 90 } };
std::mutex turn;
bool is_initialized = false;
thread_local std::vector<Device *> contexts;

const size_t PAGE = 4096;
size_t pages(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

size_t limit() {
    const char *const bytes = stand_in_word("memory");
    return bytes != NULL ? strtoull(bytes, NULL, 10) : (size_t)8 << 30;
}

Device *current() { return contexts.empty() ? NULL : contexts.back(); }

/* The memory in which bytes lie, of any device. */
bool is_of(const Device &device, uintptr_t at, size_t bytes) {
    auto next = device.memory.upper_bound(at);
    if (next == device.memory.begin()) {
        return false;
    }
    --next;
    return at >= next->first && at + bytes <= next->first + next->second;
}
bool is_of_any(uintptr_t at) { return is_of(devices[0], at, 1) || is_of(devices[1], at, 1); }

/* While it lives, memory of a device is accessible. */
struct Access {
    const Device &device;
    void protect(int access) const {
        for (const auto &piece : device.memory) {
            mprotect((void *)(piece.first / PAGE * PAGE), pages(piece.second), access);
        }
    }
    explicit Access(const Device &of) : device(of) { protect(PROT_READ | PROT_WRITE); }
    ~Access() { protect(PROT_NONE); }
};

/* A function of the driver that needs a context. */
#define ENTER \
    const std::lock_guard<std::mutex> lock(turn); \
    Device *const device = current(); \
    if (device == NULL) { \
        return InvalidContext; \
    } \
    (void)device

} // namespace

extern "C" {

int cuInit(unsigned flags) {
    is_initialized = true;
    return flags != 0 ? InvalidValue : stand_in_word("none") != NULL ? NoDevice : Success;
}
int cuDriverGetVersion(int *version) {
    *version = 12000;
    return Success;
}
int cuGetErrorName(int error, const char **name) {
    switch (error) {
    case InvalidValue: *name = "CUDA_ERROR_INVALID_VALUE"; break;
    case OutOfMemory: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case NoDevice: *name = "CUDA_ERROR_NO_DEVICE"; break;
    case NoBinary: *name = "CUDA_ERROR_NO_BINARY_FOR_GPU"; break;
    case IllegalAddress: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
    case LaunchOutOfResources: *name = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"; break;
    default: *name = "CUDA_ERROR_OF_THE_STAND_IN"; break;
    }
    return Success;
}
int cuGetErrorString(int error, const char **text) {
    switch (error) {
    case NoDevice: *text = "no CUDA-capable device is detected"; break;
    case NoBinary: *text = "no kernel image is available for execution on the device"; break;
    case IllegalAddress: *text = "an illegal memory access was encountered"; break;
    case LaunchOutOfResources: *text = "too many resources requested for launch"; break;
    default: *text = "an error of the stand-in for CUDA"; break;
    }
    return Success;
}
int cuDeviceGetCount(int *count) {
    *count = 2;
    return is_initialized ? Success : NotInitialized;
}
int cuDeviceGet(int *device, int number) {
    *device = number;
    return number >= 0 && number < 2 ? Success : InvalidDevice;
}
int cuDeviceGetName(char *name, int size, int device) {
    snprintf(name, (size_t)size, "%s", devices[device].name);
    return Success;
}
int cuDeviceTotalMem_v2(size_t *bytes, int) {
    *bytes = limit();
    return Success;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    switch (attribute) {
    case 1: *value = 1024; break;
    case 8: *value = 48 << 10; break;
    case 75: *value = devices[device].architecture / 10; break;
    case 76: *value = devices[device].architecture % 10; break;
    default: return InvalidValue;
    }
    return Success;
}
int cuDevicePrimaryCtxRetain(Device **context, int device) {
    const std::lock_guard<std::mutex> lock(turn);
    ++devices[device].users;
    *context = &devices[device];
    return Success;
}
int cuDevicePrimaryCtxRelease_v2(int number) {
    const std::lock_guard<std::mutex> lock(turn);
    Device &device = devices[number];
    if (--device.users == 0) {
        if (!device.memory.empty() || !device.modules.empty() || !device.events.empty() || !contexts.empty()) {
            fprintf(stderr, "the stand-in for CUDA keeps %zu pieces of memory, %zu modules, %zu events and %zu contexts\n", device.memory.size(), device.modules.size(), device.events.size(), contexts.size());
            abort();
        }
        for (Function *function : device.functions) {
            delete function;
        }
        device.functions.clear();
    }
    return device.users >= 0 ? Success : InvalidContext;
}
int cuCtxPushCurrent_v2(Device *context) {
    contexts.push_back(context);
    return Success;
}
int cuCtxPopCurrent_v2(Device **context) {
    if (contexts.empty()) {
        return InvalidContext;
    }
    *context = contexts.back();
    contexts.pop_back();
    return Success;
}
int cuModuleLoadData(Module **module, const void *image) {
    ENTER;
    StandInImage head;
    memcpy(&head, image, sizeof head);
    if (memcmp(head.magic, STAND_IN_MAGIC, sizeof head.magic) != 0 || stand_in_word("load") != NULL) {
        return NoBinary;
    }
    const int architecture = (int)head.architecture;
    if (architecture > device->architecture || (!head.is_ptx && architecture / 10 != device->architecture / 10)) {
        return NoBinary;
    }
    char path[] = "/tmp/sdfg-stand-in-XXXXXX.so";
    const int file = mkstemps(path, 3);
    const bool is_written = file >= 0 && write(file, (const char *)image + sizeof head, head.size) == (ssize_t)head.size;
    void *const library = is_written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (file >= 0) {
        close(file);
        unlink(path);
    }
    if (library == NULL) {
        return NoBinary;
    }
    *module = new Module{ library };
    device->modules.insert(*module);
    return Success;
}
int cuModuleUnload(Module *module) {
    ENTER;
    if (device->modules.erase(module) == 0) {
        return InvalidHandle;
    }
    dlclose(module->library);
    delete module;
    return Success;
}
int cuModuleGetFunction(Function **function, Module *module, const char *name) {
    ENTER;
    if (device->modules.count(module) == 0) {
        return InvalidHandle;
    }
    char symbol[1024];
    snprintf(symbol, sizeof symbol, STAND_IN_KERNEL "%s", name);
    void *const found = dlsym(module->library, symbol);
    if (found == NULL) {
        return NotFound;
    }
    *function = new Function{ (StandInKernel *)found };
    device->functions.push_back(*function);
    return Success;
}
int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    ENTER;
    if (bytes == 0) {
        return InvalidValue;
    }
    if (bytes > limit() || device->used > limit() - bytes) {
        return OutOfMemory;
    }
    void *const memory = mmap(NULL, pages(bytes) + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return OutOfMemory;
    }
    memset(memory, 0xa5, pages(bytes));
    mprotect(memory, pages(bytes) + PAGE, PROT_NONE);
    device->memory[(uintptr_t)memory] = bytes;
    device->used += bytes;
    *address = (uintptr_t)memory;
    return Success;
}
int cuMemFree_v2(uint64_t address) {
    ENTER;
    const auto found = device->memory.find(address);
    if (found == device->memory.end()) {
        return InvalidValue;
    }
    munmap((void *)address, pages(found->second) + PAGE);
    device->used -= found->second;
    device->memory.erase(found);
    return Success;
}
int cuMemGetInfo_v2(size_t *left, size_t *all) {
    ENTER;
    *all = limit();
    *left = *all - device->used;
    return Success;
}
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
    ENTER;
    if (device->error != Success) {
        return device->error;
    }
    if (!is_of(*device, to, bytes) || is_of_any((uintptr_t)from)) {
        return InvalidValue;
    }
    const Access access(*device);
    memcpy((void *)to, from, bytes);
    return Success;
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
    ENTER;
    if (device->error != Success) {
        return device->error;
    }
    if (!is_of(*device, from, bytes) || is_of_any((uintptr_t)to)) {
        return InvalidValue;
    }
    const Access access(*device);
    memcpy(to, (const void *)from, bytes);
    return Success;
}
int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) {
    ENTER;
    if (!is_of(*device, from, bytes) || !is_of(*device, to, bytes)) {
        return InvalidValue;
    }
    const Access access(*device);
    memmove((void *)to, (const void *)from, bytes);
    return Success;
}

/* CUDA_MEMCPY2D. */
struct End {
    size_t x, y;
    int memory;
    const void *host;
    uint64_t address;
    void *array;
    size_t pitch;
};
struct Rows {
    End from, to;
    size_t width, height;
};
int cuMemcpy2DUnaligned_v2(const Rows *rows) {
    ENTER;
    if (device->error != Success) {
        return device->error;
    }
    char *ends[2];
    int n = 0;
    for (const End *end : { &rows->from, &rows->to }) {
        const bool is_on_device = end->memory == 2;
        const uintptr_t begin = (is_on_device ? (uintptr_t)end->address : (uintptr_t)end->host) + end->y * end->pitch + end->x;
        const size_t bytes = (rows->height - 1) * end->pitch + rows->width;
        if ((end->memory != 1 && !is_on_device) || end->pitch < rows->width || (is_on_device ? !is_of(*device, begin, bytes) : is_of_any(begin))) {
            return InvalidValue;
        }
        ends[n++] = (char *)begin;
    }
    const Access access(*device);
    for (size_t row = 0; row < rows->height; ++row) {
        memmove(ends[1] + row * rows->to.pitch, ends[0] + row * rows->from.pitch, rows->width);
    }
    return Success;
}
int cuPointerGetAttribute(void *value, int attribute, uint64_t address) {
    ENTER;
    if (attribute != 2 || !is_of_any(address)) {
        return InvalidValue;
    }
    *(int *)value = 2;
    return Success;
}
int cuLaunchKernel(Function *function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared, void *stream, void **arguments, void **extra) {
    ENTER;
    if (device->error != Success) {
        return device->error;
    }
    if (stream != NULL || shared != 0 || extra != NULL) {
        return InvalidValue;
    }
    if (stand_in_word("launch") != NULL) {
        return LaunchOutOfResources;
    }
    const unsigned blocks[3] = { x, y, z }, threads[3] = { threads_x, threads_y, threads_z };
    const Access access(*device);
    if (!function->run(blocks, threads, arguments)) {
        return InvalidValue;
    }
    ++device->launches;
    device->error = stand_in_word("kernel") != NULL ? IllegalAddress : Success;
    return Success;
}
/* The kernels that ran on a device: of this stand-in only. */
int standInLaunches(int device) { return devices[device].launches; }
int cuStreamSynchronize(void *stream) {
    ENTER;
    return stream != NULL ? (int)InvalidValue : device->error;
}
int cuEventCreate(Event **event, unsigned flags) {
    ENTER;
    *event = new Event{ false, {} };
    device->events.insert(*event);
    return flags == 0 ? Success : InvalidValue;
}
int cuEventRecord(Event *event, void *stream) {
    ENTER;
    if (stream != NULL || device->events.count(event) == 0) {
        return InvalidHandle;
    }
    event->is_recorded = true;
    clock_gettime(CLOCK_MONOTONIC, &event->time);
    return Success;
}
int cuEventElapsedTime(float *milliseconds, Event *from, Event *to) {
    ENTER;
    if (device->events.count(from) == 0 || device->events.count(to) == 0 || !from->is_recorded || !to->is_recorded) {
        return InvalidHandle;
    }
    *milliseconds = (float)((double)(to->time.tv_sec - from->time.tv_sec) * 1e3 + (double)(to->time.tv_nsec - from->time.tv_nsec) / 1e6);
    return Success;
}
int cuEventDestroy_v2(Event *event) {
    ENTER;
    if (device->events.erase(event) == 0) {
        return InvalidHandle;
    }
    delete event;
    return Success;
}

} // extern "C"
