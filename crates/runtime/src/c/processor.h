/* Which of several versions of a program the processor runs. `crates/codegen/src/llvm/version.rs` declares it. */
#ifndef SDFG_PROCESSOR_H
#define SDFG_PROCESSOR_H

#include <stdint.h>

#define SDFG __attribute__((weak, visibility("hidden")))

/* The position of the last of `count` levels of x86-64, 1 to 4 and ascending, that the processor has; below zero if it has none of
 * them. The variable SDFG_CPU names a level that it is taken to have at most; another text there is none. */
SDFG int32_t sdfg_processor_version(const int32_t *levels, int64_t count);

#endif
