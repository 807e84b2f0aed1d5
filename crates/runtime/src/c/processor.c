/* Levels of x86-64, as its ABI defines them.
 *
 * Each `NAME_create` selects a level. A constructor of the library would also run in processes that never use it.
 */
#include "processor.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

/* Bits of the registers that cpuid returns. Compilers define different names for them in <cpuid.h>. */
#define BIT(n) (1u << (n))
/* Leaf 1, ecx: SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT. */
#define BASIC_2 (BIT(0) | BIT(9) | BIT(13) | BIT(19) | BIT(20) | BIT(23))
/* Leaf 1, ecx: FMA, MOVBE, OSXSAVE, AVX, F16C. */
#define BASIC_3 (BIT(12) | BIT(22) | BIT(27) | BIT(28) | BIT(29))
/* Leaf 7, ebx: BMI1, AVX2, BMI2. */
#define MORE_3 (BIT(3) | BIT(5) | BIT(8))
/* Leaf 7, ebx: AVX512F, DQ, CD, BW, VL. */
#define MORE_4 (BIT(16) | BIT(17) | BIT(28) | BIT(30) | BIT(31))
/* Leaf 0x80000001, ecx: LAHF and SAHF; LZCNT. */
#define EXTENDED_2 BIT(0)
#define EXTENDED_3 BIT(5)
/* State that the operating system saves for a thread: vectors of 16 and 32 bytes; masks and all vectors of 64 bytes. */
#define STATE_3 0x06u
#define STATE_4 0xe6u

static int has(uint32_t bits, uint32_t asked) { return (bits & asked) == asked; }

static int32_t level_of_processor(void) {
    uint32_t a, b, c, d, basic, more = 0, extended = 0, state = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 1;
    basic = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) more = b;
    if (__get_cpuid(0x80000001u, &a, &b, &c, &d)) extended = c;
    if (!has(basic, BASIC_2) || !has(extended, EXTENDED_2)) return 1;
    if (!has(basic, BASIC_3) || !has(more, MORE_3) || !has(extended, EXTENDED_3)) return 2;
    __asm__ volatile("xgetbv" : "=a"(state), "=d"(d) : "c"(0));
    if (!has(state, STATE_3)) return 2;
    return has(more, MORE_4) && has(state, STATE_4) ? 4 : 3;
}
#else
static int32_t level_of_processor(void) { return 0; }
#endif

/* The highest level that the variable allows: all levels if it is not set, none if its text is not a level. */
static int32_t level_allowed(void) {
    static const char *const names[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
    const char *asked = getenv("SDFG_CPU");
    if (!asked || !*asked) return 4;
    for (int32_t level = 0; level < 4; level++)
        if (strcmp(asked, names[level]) == 0) return level + 1;
    return 0;
}

int32_t sdfg_processor_version(const int32_t *levels, int64_t count) {
    /* cpuid takes up to 0.1 ms in a virtual machine. The answer is the same in all threads. */
    static int32_t known;
    int32_t level = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (level == 0) {
        level = level_of_processor();
        __atomic_store_n(&known, level, __ATOMIC_RELAXED);
    }
    int32_t allowed = level_allowed();
    if (level > allowed) level = allowed;
    int32_t version = -1;
    for (int64_t i = 0; i < count && levels[i] <= level; i++) version = (int32_t)i;
    return version;
}
