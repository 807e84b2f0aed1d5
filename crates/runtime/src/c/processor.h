/* Selection of the version of a program for the processor. `crates/codegen/src/llvm/version.rs` declares it. */
#ifndef SDFG_PROCESSOR_H
#define SDFG_PROCESSOR_H

#include <stdint.h>

#define SDFG __attribute__((weak, visibility("hidden")))

/* The position of the last of `count` levels of x86-64, 1 to 4 and ascending, that the processor supports; below zero if it
 * supports none of them. The variable SDFG_CPU limits the level; a text that is not a level allows none. */
SDFG int32_t sdfg_processor_version(const int32_t *levels, int64_t count);

#endif
