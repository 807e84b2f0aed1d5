/* Tasks: parts of a state that wait for each other.
 *
 * Each task has a stack of its own and runs until it waits; then the thread goes on with another one. All tasks of a group, and of the groups
 * that they begin, are on one thread, so the number of tasks that wait at once is bounded by memory alone, and that all wait is known at once:
 * it is a deadlock. A task begins when no task that has begun can go on, so chains that never wait use one stack.
 */
#include "stack.h"
#include "task.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Bytes of a task's stack. Pages are there when they are touched. */
#define SDFG_STACK_BYTES (256 << 10)

#ifdef __cplusplus
extern "C" {
#endif

/* Saves the registers that a call keeps and the stack pointer, and takes those of another stack. */
SDFG void sdfg_task_switch(void **from, void *to);
#if defined(__x86_64__)
__asm__(
    ".pushsection .text.sdfg_task_switch,\"axG\",@progbits,sdfg_task_switch,comdat\n"
    ".weak sdfg_task_switch\n.hidden sdfg_task_switch\n.type sdfg_task_switch,@function\n.p2align 4\n"
    "sdfg_task_switch:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  ret\n"
    ".size sdfg_task_switch, . - sdfg_task_switch\n.popsection\n");
#define SDFG_SAVED 6
#elif defined(__aarch64__)
__asm__(
    ".pushsection .text.sdfg_task_switch,\"axG\",@progbits,sdfg_task_switch,comdat\n"
    ".weak sdfg_task_switch\n.hidden sdfg_task_switch\n.type sdfg_task_switch,@function\n.p2align 4\n"
    "sdfg_task_switch:\n"
    "  sub sp, sp, #160\n"
    "  stp x19, x20, [sp, #0]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n  stp x25, x26, [sp, #48]\n"
    "  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n  str x9, [x0]\n  mov sp, x1\n"
    "  ldp x19, x20, [sp, #0]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n  ldp x25, x26, [sp, #48]\n"
    "  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n  ret\n"
    ".size sdfg_task_switch, . - sdfg_task_switch\n.popsection\n");
#else
#error "tasks need the switch of stacks for this processor"
#endif

typedef struct sdfg_group sdfg_group;
typedef struct sdfg_scheduler sdfg_scheduler;

struct sdfg_task {
    void *stack_pointer;
    char *stack; /* lowest address, the guard page */
    sdfg_stack known; /* what sanitizers know of it */
    sdfg_scheduler *scheduler;
    sdfg_group *group;
    int64_t kind, number;
    sdfg_wait wait;
    int64_t seen;   /* the scheduler's count of changes when it began to wait */
    int is_waiting; /* false once it is done */
    sdfg_task *next;
};

/* Tasks that were begun together. */
struct sdfg_group {
    const sdfg_kind *kinds;
    int64_t n_kinds;
    const void *environment;
    int64_t *begun; /* of each kind */
    int64_t *left;  /* tasks of each kind that are not done */
    int64_t remaining; /* of all kinds */
    int64_t running;   /* begun and not done */
    sdfg_group *outer; /* groups with tasks to begin, innermost first */
};

struct sdfg_scheduler {
    void *stack_pointer; /* of the scheduler itself while a task runs */
    sdfg_stack known;    /* what sanitizers know of its stack */
    const int32_t *status;
    sdfg_group *groups;
    sdfg_task *waiting, **last; /* in the order in which they began to wait */
    sdfg_task *unused;          /* done, with their stacks */
    int64_t changes;            /* how often a task has run, other than to find that nothing has changed */
    int is_stopped;             /* whether all wait */
    int32_t result;
};

/* The scheduler's side of a switch, which a new task finds below its first frame. */
static void sdfg_run_task(sdfg_task *task) {
    const sdfg_kind *kind = &task->group->kinds[task->kind];
    sdfg_stack_arrive(&task->known, &task->scheduler->known);
    kind->run(task->group->environment, task->number, task);
    task->is_waiting = 0;
    sdfg_stack_leave(&task->known, &task->scheduler->known, 1);
    sdfg_task_switch(&task->stack_pointer, task->scheduler->stack_pointer);
    __builtin_unreachable();
}

/* The first code on a new stack: the task is in the register that `prepare` put it in. */
SDFG void sdfg_task_begin(sdfg_task *task);
void sdfg_task_begin(sdfg_task *task) { sdfg_run_task(task); }
SDFG void sdfg_task_entry(void);
#if defined(__x86_64__)
__asm__(
    ".pushsection .text.sdfg_task_entry,\"axG\",@progbits,sdfg_task_entry,comdat\n"
    ".weak sdfg_task_entry\n.hidden sdfg_task_entry\n.type sdfg_task_entry,@function\n.p2align 4\n"
    "sdfg_task_entry:\n  movq %rbx, %rdi\n  callq sdfg_task_begin\n  ud2\n"
    ".size sdfg_task_entry, . - sdfg_task_entry\n.popsection\n");
#else
__asm__(
    ".pushsection .text.sdfg_task_entry,\"axG\",@progbits,sdfg_task_entry,comdat\n"
    ".weak sdfg_task_entry\n.hidden sdfg_task_entry\n.type sdfg_task_entry,@function\n.p2align 4\n"
    "sdfg_task_entry:\n  mov x0, x19\n  bl sdfg_task_begin\n  brk #1\n"
    ".size sdfg_task_entry, . - sdfg_task_entry\n.popsection\n");
#endif

/* Lays the first frame of a task out: the switch to it returns to the entry. */
static void sdfg_prepare(sdfg_task *task) {
    uintptr_t top = ((uintptr_t)task->stack + SDFG_STACK_BYTES) & ~(uintptr_t)15;
    void **frame;
#if defined(__x86_64__)
    frame = (void **)top - 3 - SDFG_SAVED; /* the saved registers, the return address, and two words that keep the alignment */
    for (int i = 0; i < SDFG_SAVED + 3; i++) frame[i] = 0;
    frame[4] = task; /* rbx */
    frame[SDFG_SAVED] = (void *)sdfg_task_entry;
#else
    frame = (void **)(top - 160);
    for (int i = 0; i < 20; i++) frame[i] = 0;
    frame[0] = task; /* x19 */
    frame[11] = (void *)sdfg_task_entry;
#endif
    task->stack_pointer = frame;
    task->known = sdfg_stack_new(task->stack, SDFG_STACK_BYTES);
}

static sdfg_task *sdfg_new_task(sdfg_scheduler *scheduler) {
    sdfg_task *task = scheduler->unused;
    if (task) {
        scheduler->unused = task->next;
        return task;
    }
    task = (sdfg_task *)calloc(1, sizeof *task);
    if (!task) return NULL;
    task->scheduler = scheduler;
    task->stack = (char *)mmap(NULL, SDFG_STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (task->stack == MAP_FAILED) {
        free(task);
        return NULL;
    }
    /* A task that needs more stack than it has ends the process there instead of writing over another one's. */
    mprotect(task->stack, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE);
    return task;
}

static void sdfg_resume(sdfg_scheduler *scheduler, sdfg_task *task) {
    task->is_waiting = 1;
    sdfg_stack_leave(&scheduler->known, &task->known, 0);
    sdfg_task_switch(&scheduler->stack_pointer, task->stack_pointer);
    sdfg_stack_arrive(&scheduler->known, &task->known);
    if (task->is_waiting) {
        if (task->wait.kind != SDFG_WAIT_CHANGE) scheduler->changes++;
        task->seen = scheduler->changes;
        task->next = NULL;
        *scheduler->last = task;
        scheduler->last = &task->next;
        return;
    }
    sdfg_stack_delete(&task->known);
    scheduler->changes++;
    task->group->left[task->kind]--;
    task->group->remaining--;
    task->group->running--;
    task->next = scheduler->unused;
    scheduler->unused = task;
}

static int sdfg_may_go_on(const sdfg_scheduler *scheduler, const sdfg_task *task) {
    const sdfg_wait *wait = &task->wait;
    int64_t value = wait->value ? __atomic_load_n(wait->value, __ATOMIC_RELAXED) : 0;
    switch (wait->kind) {
    case SDFG_WAIT_ABOVE: return value > wait->bound;
    case SDFG_WAIT_BELOW: return value < wait->bound;
    case SDFG_WAIT_SCOPE: return value > 0 || wait->scope->working == 0 || wait->scope->stopped;
    default: return scheduler->changes != task->seen;
    }
}

/* Runs the task that has waited longest of those that can go on; false if there is none. */
static int sdfg_run_waiting(sdfg_scheduler *scheduler) {
    for (sdfg_task **link = &scheduler->waiting; *link; link = &(*link)->next) {
        sdfg_task *task = *link;
        if (!scheduler->is_stopped && !sdfg_may_go_on(scheduler, task)) continue;
        *link = task->next;
        if (!*link) scheduler->last = link;
        sdfg_resume(scheduler, task);
        return 1;
    }
    return 0;
}

static int sdfg_is_ready(const sdfg_group *group, int64_t kind) {
    for (int64_t i = 0; i < group->kinds[kind].n_after; i++)
        if (group->left[group->kinds[kind].after[i]] > 0) return 0;
    return 1;
}

/* Begins a task; false if there is none to begin. */
static int sdfg_run_new(sdfg_scheduler *scheduler) {
    if (scheduler->is_stopped || *scheduler->status != SDFG_SUCCESS) return 0;
    for (sdfg_group *group = scheduler->groups; group; group = group->outer) {
        for (int64_t kind = 0; kind < group->n_kinds; kind++) {
            if (group->begun[kind] >= group->kinds[kind].count || !sdfg_is_ready(group, kind)) continue;
            sdfg_task *task = sdfg_new_task(scheduler);
            if (!task) {
                scheduler->result = SDFG_OUT_OF_MEMORY;
                return 0;
            }
            task->group = group;
            task->kind = kind;
            task->number = group->begun[kind]++;
            group->running++;
            sdfg_prepare(task);
            sdfg_resume(scheduler, task);
            return 1;
        }
    }
    return 0;
}

static void sdfg_switch_away(sdfg_task *task, sdfg_wait wait) {
    task->wait = wait;
    sdfg_stack_leave(&task->known, &task->scheduler->known, 0);
    sdfg_task_switch(&task->stack_pointer, task->scheduler->stack_pointer);
    sdfg_stack_arrive(&task->known, &task->scheduler->known);
}

int sdfg_task_await(sdfg_task *task, sdfg_wait wait) {
    if (!task || task->scheduler->is_stopped) return 0;
    sdfg_switch_away(task, wait);
    return !task->scheduler->is_stopped;
}

static int sdfg_enter(sdfg_group *group, sdfg_scheduler *scheduler) {
    group->begun = (int64_t *)calloc((size_t)group->n_kinds * 2 + 1, sizeof(int64_t));
    if (!group->begun) return 0;
    group->left = group->begun + group->n_kinds;
    for (int64_t kind = 0; kind < group->n_kinds; kind++) {
        group->left[kind] = group->kinds[kind].count > 0 ? group->kinds[kind].count : 0;
        group->remaining += group->left[kind];
    }
    group->outer = scheduler->groups;
    scheduler->groups = group;
    return 1;
}

static void sdfg_leave(sdfg_group *group, sdfg_scheduler *scheduler) {
    for (sdfg_group **link = &scheduler->groups; *link; link = &(*link)->outer) {
        if (*link == group) {
            *link = group->outer;
            break;
        }
    }
    free(group->begun);
}

int32_t sdfg_tasks_run(const sdfg_kind *kinds, int64_t n_kinds, const void *environment, const int32_t *status, sdfg_task *task) {
    sdfg_group group;
    sdfg_scheduler scheduler;
    memset(&group, 0, sizeof group);
    group.kinds = kinds;
    group.n_kinds = n_kinds;
    group.environment = environment;
    if (task) {
        /* The scheduler of the task that calls runs them. */
        sdfg_scheduler *outer = task->scheduler;
        if (!sdfg_enter(&group, outer)) return SDFG_OUT_OF_MEMORY;
        /* When all wait for nothing, no task begins any more, but those that have begun end before their group is gone. */
        sdfg_wait wait = {SDFG_WAIT_BELOW, &group.remaining, 1, NULL};
        while (group.remaining > 0 && !(outer->is_stopped && group.running == 0)) sdfg_switch_away(task, wait);
        sdfg_leave(&group, outer);
        return outer->result;
    }
    memset(&scheduler, 0, sizeof scheduler);
    scheduler.status = status;
    scheduler.last = &scheduler.waiting;
    if (!sdfg_enter(&group, &scheduler)) return SDFG_OUT_OF_MEMORY;
    for (;;) {
        if (sdfg_run_waiting(&scheduler) || sdfg_run_new(&scheduler)) continue;
        if (!scheduler.waiting) break;
        /* Nothing can change any more: what waits is told so, and ends. */
        scheduler.is_stopped = 1;
    }
    sdfg_leave(&group, &scheduler);
    while (scheduler.unused) {
        sdfg_task *done = scheduler.unused;
        scheduler.unused = done->next;
        munmap(done->stack, SDFG_STACK_BYTES);
        free(done);
    }
    return scheduler.result;
}

#ifdef __cplusplus
}
#endif
