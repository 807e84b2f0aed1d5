/* Annotations of stack switches for sanitizers, which would otherwise confuse the frames of different stacks.
 *
 * All functions are empty in builds without a sanitizer.
 */
#ifndef SDFG_STACK_H
#define SDFG_STACK_H

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SDFG_ADDRESS_SANITIZER
#elif __has_feature(thread_sanitizer)
#define SDFG_THREAD_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SDFG_ADDRESS_SANITIZER
#elif defined(__SANITIZE_THREAD__)
#define SDFG_THREAD_SANITIZER
#endif

#if defined(SDFG_ADDRESS_SANITIZER)
#include <sanitizer/common_interface_defs.h>
#elif defined(SDFG_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#endif

/* A stack as a sanitizer identifies it. */
typedef struct {
    const void *bottom;
    size_t bytes;
    void *state; /* AddressSanitizer's fake frames of a suspended stack; ThreadSanitizer's handle of a stack */
} sdfg_stack;

/* Announces a new stack, on which no code has run. */
static inline sdfg_stack sdfg_stack_new(const void *bottom, size_t bytes) {
    sdfg_stack stack = {bottom, bytes, NULL};
#if defined(SDFG_THREAD_SANITIZER)
    stack.state = __tsan_create_fiber(0);
#endif
    return stack;
}

/* Announces that no code will run on a stack any more. */
static inline void sdfg_stack_delete(sdfg_stack *stack) {
#if defined(SDFG_THREAD_SANITIZER)
    __tsan_destroy_fiber(stack->state);
#else
    (void)stack;
#endif
}

/* Call this before each switch; `is_last` if no code will run on the present stack any more. */
static inline void sdfg_stack_leave(sdfg_stack *from, const sdfg_stack *to, int is_last) {
#if defined(SDFG_ADDRESS_SANITIZER)
    __sanitizer_start_switch_fiber(is_last ? NULL : &from->state, to->bottom, to->bytes);
#elif defined(SDFG_THREAD_SANITIZER)
    if (!is_last) from->state = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to->state, 0);
#else
    (void)from, (void)to, (void)is_last;
#endif
}

/* Call this after each switch, on the new stack. */
static inline void sdfg_stack_arrive(sdfg_stack *to, sdfg_stack *from) {
#if defined(SDFG_ADDRESS_SANITIZER)
    __sanitizer_finish_switch_fiber(to->state, &from->bottom, &from->bytes);
#else
    (void)to, (void)from;
#endif
}

#endif
