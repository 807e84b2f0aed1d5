/* A stand-in for the driver of CUDA: two devices that run kernels on threads of this processor, so that tests need no GPU.
 *
 * Memory of a device is inaccessible outside of kernels and copies, so that host code that uses it ends with a signal. It begins
 * with bytes that no test writes. Commands of streams run in an order of their own (`streams.h`). Every function looks at what it is
 * given: the context, the stream, the kind and the bounds of memory. The last user of a context must have given everything back, or the process ends
 * with a message.
 *
 * The variable SDFG_STAND_IN makes it fail: `none` (no device), `load` (images), `launch` (a kernel cannot start), `kernel` (a
 * kernel accesses wrong memory, which the next function that waits tells), `memory=BYTES` (of a device), `record` (events are not
 * recorded), `wait` (neither streams nor the host wait for events). */

#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "image.h"
#include "streams.h"

namespace {

enum Error { Success = 0, InvalidValue = 1, OutOfMemory = 2, NotInitialized = 3, NoDevice = 100, InvalidDevice = 101, InvalidContext = 201, NoBinary = 209, InvalidHandle = 400, NotFound = 500, NotReady = 600, IllegalAddress = 700, LaunchOutOfResources = 701 };

struct Module {
    void *library;
};
struct Function {
    StandInKernel *run;
    StandInKeep *keep;
};
typedef StandInEvent Event;

/* A device with its primary context. */
struct Device {
    const char *name;
    int architecture;
    int users = 0;
    int error = Success, launches = 0;
    /* Begin and bytes of memory; pages that belong to it. */
    std::map<uintptr_t, size_t> memory;
    size_t used = 0;
    /* Memory of the host for copies. */
    std::set<void *> of_host;
    std::set<Module *> modules;
    std::vector<Function *> functions;
    std::set<Event *> events;
    StandInStreams streams = {};
    StandInStream *default_stream = streams.open(true);

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

/* A stream of a device, or NULL for another pointer. NULL and CU_STREAM_LEGACY are the default stream, and so is CU_STREAM_PER_THREAD: tests
 * have one thread that uses it. */
StandInStream *stream_of(const Device &device, StandInStream *asked) {
    return (uintptr_t)asked <= 2 ? device.default_stream : device.streams.has(asked) ? asked : NULL;
}

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

int cuStreamSynchronize(StandInStream *asked);

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
        if (!device.memory.empty() || !device.of_host.empty() || !device.modules.empty() || !device.events.empty() || device.streams.all != device.default_stream || device.default_stream->next != NULL || !contexts.empty()) {
            fprintf(stderr, "the stand-in for CUDA keeps %zu pieces of memory, %zu of the host, %zu modules, %zu events, %s and %zu contexts\n", device.memory.size(), device.of_host.size(), device.modules.size(), device.events.size(), device.default_stream->next == NULL && device.streams.all == device.default_stream ? "no stream" : "streams", contexts.size());
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
    snprintf(symbol, sizeof symbol, STAND_IN_KEEP "%s", name);
    void *const keep = dlsym(module->library, symbol);
    if (found == NULL || keep == NULL) {
        return NotFound;
    }
    *function = new Function{ (StandInKernel *)found, (StandInKeep *)keep };
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
    /* Of large pieces, only the first bytes take memory of this machine. */
    memset(memory, 0xa5, std::min(pages(bytes), (size_t)1 << 26));
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
int cuMemAllocHost_v2(void **pointer, size_t bytes) {
    ENTER;
    if (bytes == 0) {
        return InvalidValue;
    }
    *pointer = aligned_alloc(PAGE, pages(bytes));
    if (*pointer == NULL) {
        return OutOfMemory;
    }
    device->of_host.insert(*pointer);
    return Success;
}
int cuMemFreeHost(void *pointer) {
    ENTER;
    if (device->of_host.erase(pointer) == 0) {
        return InvalidValue;
    }
    free(pointer);
    return Success;
}
int cuMemGetInfo_v2(size_t *left, size_t *all) {
    ENTER;
    *all = limit();
    *left = *all - device->used;
    return Success;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, StandInStream *asked) {
    ENTER;
    StandInStream *const stream = stream_of(*device, asked);
    if (device->error != Success) {
        return device->error;
    }
    if (stream == NULL || !is_of(*device, to, bytes) || is_of_any((uintptr_t)from)) {
        return InvalidValue;
    }
    device->streams.add_work(stream, [=] {
        const Access access(*device);
        memcpy((void *)to, from, bytes);
    });
    return Success;
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, StandInStream *asked) {
    ENTER;
    StandInStream *const stream = stream_of(*device, asked);
    if (device->error != Success) {
        return device->error;
    }
    if (stream == NULL || !is_of(*device, from, bytes) || is_of_any((uintptr_t)to)) {
        return InvalidValue;
    }
    device->streams.add_work(stream, [=] {
        const Access access(*device);
        memcpy(to, (const void *)from, bytes);
    });
    return Success;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, StandInStream *asked) {
    ENTER;
    StandInStream *const stream = stream_of(*device, asked);
    if (stream == NULL || !is_of(*device, from, bytes) || !is_of(*device, to, bytes)) {
        return InvalidValue;
    }
    device->streams.add_work(stream, [=] {
        const Access access(*device);
        memmove((void *)to, (const void *)from, bytes);
    });
    return Success;
}

/* Copies for which the host waits: those of tests. */
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
    const int error = cuMemcpyHtoDAsync_v2(to, from, bytes, NULL);
    return error != Success ? error : cuStreamSynchronize(NULL);
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
    const int error = cuMemcpyDtoHAsync_v2(to, from, bytes, NULL);
    return error != Success ? error : cuStreamSynchronize(NULL);
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
static int copy_rows(Device *device, const Rows *rows, StandInStream *stream) {
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
    char *const from = ends[0], *const to = ends[1];
    const size_t height = rows->height, width = rows->width, from_pitch = rows->from.pitch, to_pitch = rows->to.pitch;
    device->streams.add_work(stream, [=] {
        const Access access(*device);
        for (size_t row = 0; row < height; ++row) {
            memmove(to + row * to_pitch, from + row * from_pitch, width);
        }
    });
    return Success;
}
/* It takes rows on the device only if they are a multiple of 16 bytes apart. */
int cuMemcpy2DAsync_v2(const Rows *rows, StandInStream *asked) {
    ENTER;
    StandInStream *const stream = stream_of(*device, asked);
    const bool is_inside = rows->from.memory == 2 && rows->to.memory == 2;
    if (stream == NULL || (is_inside && (rows->from.pitch % 16 != 0 || rows->to.pitch % 16 != 0))) {
        return InvalidValue;
    }
    return copy_rows(device, rows, stream);
}
int cuMemcpy2DUnaligned_v2(const Rows *rows) {
    ENTER;
    return copy_rows(device, rows, device->default_stream);
}
int cuPointerGetAttribute(void *value, int attribute, uint64_t address) {
    ENTER;
    if (!is_of_any(address)) {
        return InvalidValue;
    }
    switch (attribute) {
    case 2: *(int *)value = 2; break;
    case 8: *(unsigned *)value = 0; break;
    case 9: *(int *)value = is_of(devices[1], address, 1); break;
    default: return InvalidValue;
    }
    return Success;
}
int cuLaunchKernel(Function *function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared, StandInStream *asked, void **arguments, void **extra) {
    ENTER;
    StandInStream *const stream = stream_of(*device, asked);
    if (device->error != Success) {
        return device->error;
    }
    if (stream == NULL || shared != 0 || extra != NULL) {
        return InvalidValue;
    }
    if (stand_in_word("launch") != NULL) {
        return LaunchOutOfResources;
    }
    const std::vector<unsigned> blocks = { x, y, z }, threads = { threads_x, threads_y, threads_z };
    /* The values that the arguments have now. */
    StandInArguments *const values = function->keep(arguments);
    const bool fails = stand_in_word("kernel") != NULL;
    device->streams.add_work(stream, [=] {
        const Access access(*device);
        const bool is_run = function->run(blocks.data(), threads.data(), values);
        device->error = !is_run ? InvalidValue : fails ? IllegalAddress : device->error;
    });
    ++device->launches;
    return Success;
}
/* The kernels that ran on a device: of this stand-in only. */
int standInLaunches(int device) { return devices[device].launches; }
/* The order of the next commands: of this stand-in only. */
void standInSetOrder(int device, unsigned order) { devices[device].streams.runs = order; }
int cuStreamCreate(StandInStream **stream, unsigned flags) {
    ENTER;
    *stream = device->streams.open(false);
    return flags == 1 ? Success : InvalidValue;
}
int cuStreamDestroy_v2(StandInStream *stream) {
    ENTER;
    if (stream == NULL || !device->streams.has(stream)) {
        return InvalidHandle;
    }
    device->streams.close(stream);
    return Success;
}
int cuStreamSynchronize(StandInStream *asked) {
    ENTER;
    StandInStream *const stream = stream_of(*device, asked);
    if (stream == NULL) {
        return InvalidHandle;
    }
    device->streams.finish(stream);
    if (asked == NULL) {
        device->streams.next_run();
    }
    return device->error;
}
int cuStreamQuery(StandInStream *asked) {
    ENTER;
    const StandInStream *const stream = stream_of(*device, asked);
    return stream == NULL ? InvalidHandle : stream->first != NULL ? NotReady : Success;
}
int cuStreamGetCtx(StandInStream *stream, Device **context) {
    ENTER;
    *context = device;
    for (Device &other : devices) {
        if (other.streams.has(stream)) {
            *context = &other;
            return Success;
        }
    }
    return (uintptr_t)stream <= 2 ? Success : InvalidHandle;
}
int cuStreamWaitEvent(StandInStream *asked, Event *event, unsigned flags) {
    ENTER;
    StandInStream *const stream = stream_of(*device, asked);
    const bool is_known = stream != NULL && flags == 0 && device->events.count(event) != 0 && stand_in_word("wait") == NULL;
    return is_known && device->streams.wait(stream, event) ? Success : InvalidHandle;
}
int cuEventCreate(Event **event, unsigned flags) {
    ENTER;
    *event = new Event{ NULL };
    device->events.insert(*event);
    return flags == 0 || flags == 2 ? Success : InvalidValue;
}
int cuEventRecord(Event *event, StandInStream *asked) {
    ENTER;
    StandInStream *const stream = stream_of(*device, asked);
    if (stream == NULL || device->events.count(event) == 0 || stand_in_word("record") != NULL) {
        return InvalidHandle;
    }
    device->streams.record(stream, event);
    return Success;
}
int cuEventSynchronize(Event *event) {
    ENTER;
    if (device->events.count(event) == 0 || event->last == NULL || stand_in_word("wait") != NULL) {
        return InvalidHandle;
    }
    device->streams.finish(event->last);
    return device->error;
}
int cuEventElapsedTime(float *milliseconds, Event *from, Event *to) {
    ENTER;
    const bool are_known = device->events.count(from) != 0 && device->events.count(to) != 0;
    if (!are_known || from->last == NULL || to->last == NULL || !from->last->is_done || !to->last->is_done) {
        return InvalidHandle;
    }
    const timespec &begin = from->last->time, &end = to->last->time;
    *milliseconds = (float)((double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6);
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
