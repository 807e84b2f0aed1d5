/* The same queue: a ring under a lock that spins, and processing elements that count who works. */
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

static int64_t *ring, capacity, head, length, working;
static atomic_int locked;

static void lock(void) {
    while (atomic_exchange_explicit(&locked, 1, memory_order_acquire))
        for (int tries = 0; atomic_load_explicit(&locked, memory_order_relaxed);)
            if (++tries % 64 == 0) sched_yield();
            else __builtin_ia32_pause();
}

static void unlock(void) { atomic_store_explicit(&locked, 0, memory_order_release); }

static void push(int64_t value) {
    lock();
    if (length == capacity) {
        int64_t *larger = malloc(2 * (size_t)capacity * sizeof *ring);
        for (int64_t k = 0; k < length; k++) larger[k] = ring[(head + k) & (capacity - 1)];
        free(ring);
        ring = larger, capacity *= 2, head = 0;
    }
    ring[(head + length++) & (capacity - 1)] = value;
    unlock();
}

void run(void *const *argument) {
    int64_t n = *(int64_t *)argument[0], sum = 0;
    capacity = 16, head = length = working = 0;
    ring = malloc((size_t)capacity * sizeof *ring);
    push(n);
#pragma omp parallel reduction(+ : sum)
    for (int was_working = 0;;) {
        lock();
        working -= was_working;
        if (length > 0) {
            int64_t value = ring[head];
            head = (head + 1) & (capacity - 1), length--, working++, was_working = 1;
            unlock();
            if (value == 1) sum += 1;
            if (value > 1) push(value - 1), push(value - 2);
            continue;
        }
        int done = working == 0;
        was_working = 0;
        unlock();
        if (done) break;
        sched_yield();
    }
    free(ring);
    *(int64_t *)argument[1] = sum;
}
