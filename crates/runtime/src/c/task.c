/* Tasks: parts of a state that wait for each other.
 *
 * Each task has a stack of its own and runs until it waits; then the thread goes on with another one. All tasks of a group, and of the groups
 * that they begin, are on one thread, so the number of tasks that wait at once is bounded by memory alone, and that all wait is known at once:
 * it is a deadlock. A task begins when no task that has begun can go on, so chains that never wait use one stack.
 */
#include "stack.h"
#include "task.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Bytes of a task's stack. Pages are there when they are touched. */
#define STACK (256 << 10)

/* Saves the registers that a call keeps and the stack pointer, and takes those of another stack. */
void sdfg_task_switch(void **from, void *to) SDFG;
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
#define SAVED 6
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

typedef struct group group;
typedef struct scheduler scheduler;

struct sdfg_task {
    void *stack_pointer;
    char *stack; /* lowest address, the guard page */
    sdfg_stack known; /* what sanitizers know of it */
    scheduler *scheduler;
    group *group;
    int64_t kind, number;
    sdfg_wait wait;
    int64_t seen;   /* the scheduler's count of changes when it began to wait */
    int is_waiting; /* false once it is done */
    sdfg_task *next;
};

/* Tasks that were begun together. */
struct group {
    const sdfg_kind *kinds;
    int64_t n_kinds;
    const void *environment;
    int64_t *begun; /* of each kind */
    int64_t *left;  /* tasks of each kind that are not done */
    int64_t remaining; /* of all kinds */
    int64_t running;   /* begun and not done */
    group *outer; /* groups with tasks to begin, innermost first */
};

struct scheduler {
    void *stack_pointer; /* of the scheduler itself while a task runs */
    sdfg_stack known;    /* what sanitizers know of its stack */
    const int32_t *status;
    group *groups;
    sdfg_task *waiting, **last; /* in the order in which they began to wait */
    sdfg_task *unused;          /* done, with their stacks */
    int64_t changes;            /* how often a task has run, other than to find that nothing has changed */
    int is_stopped;             /* whether all wait */
    int32_t result;
};

/* The scheduler's side of a switch, which a new task finds below its first frame. */
static void begin(sdfg_task *task) {
    const sdfg_kind *kind = &task->group->kinds[task->kind];
    sdfg_stack_arrive(&task->known, &task->scheduler->known);
    kind->run(task->group->environment, task->number, task);
    task->is_waiting = 0;
    sdfg_stack_leave(&task->known, &task->scheduler->known, 1);
    sdfg_task_switch(&task->stack_pointer, task->scheduler->stack_pointer);
    __builtin_unreachable();
}

/* The first code on a new stack: the task is in the register that `prepare` put it in. */
void sdfg_task_begin(sdfg_task *task) SDFG;
void sdfg_task_begin(sdfg_task *task) { begin(task); }
void sdfg_task_entry(void) SDFG;
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
static void prepare(sdfg_task *task) {
    uintptr_t top = ((uintptr_t)task->stack + STACK) & ~(uintptr_t)15;
    void **frame;
#if defined(__x86_64__)
    frame = (void **)top - 3 - SAVED; /* the saved registers, the return address, and two words that keep the alignment */
    for (int i = 0; i < SAVED + 3; i++) frame[i] = 0;
    frame[4] = task; /* rbx */
    frame[SAVED] = (void *)sdfg_task_entry;
#else
    frame = (void **)(top - 160);
    for (int i = 0; i < 20; i++) frame[i] = 0;
    frame[0] = task; /* x19 */
    frame[11] = (void *)sdfg_task_entry;
#endif
    task->stack_pointer = frame;
    task->known = sdfg_stack_new(task->stack, STACK);
}

static sdfg_task *new_task(scheduler *scheduler) {
    sdfg_task *task = scheduler->unused;
    if (task) {
        scheduler->unused = task->next;
        return task;
    }
    task = calloc(1, sizeof *task);
    if (!task) return NULL;
    task->scheduler = scheduler;
    task->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (task->stack == MAP_FAILED) {
        free(task);
        return NULL;
    }
    /* A task that needs more stack than it has ends the process there instead of writing over another one's. */
    mprotect(task->stack, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE);
    return task;
}

static void resume(scheduler *scheduler, sdfg_task *task) {
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

static int may_go_on(const scheduler *scheduler, const sdfg_task *task) {
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
static int run_waiting(scheduler *scheduler) {
    for (sdfg_task **link = &scheduler->waiting; *link; link = &(*link)->next) {
        sdfg_task *task = *link;
        if (!scheduler->is_stopped && !may_go_on(scheduler, task)) continue;
        *link = task->next;
        if (!*link) scheduler->last = link;
        resume(scheduler, task);
        return 1;
    }
    return 0;
}

static int is_ready(const group *group, int64_t kind) {
    for (int64_t i = 0; i < group->kinds[kind].n_after; i++)
        if (group->left[group->kinds[kind].after[i]] > 0) return 0;
    return 1;
}

/* Begins a task; false if there is none to begin. */
static int run_new(scheduler *scheduler) {
    if (scheduler->is_stopped || *scheduler->status != SDFG_SUCCESS) return 0;
    for (group *group = scheduler->groups; group; group = group->outer) {
        for (int64_t kind = 0; kind < group->n_kinds; kind++) {
            if (group->begun[kind] >= group->kinds[kind].count || !is_ready(group, kind)) continue;
            sdfg_task *task = new_task(scheduler);
            if (!task) {
                scheduler->result = SDFG_OUT_OF_MEMORY;
                return 0;
            }
            task->group = group;
            task->kind = kind;
            task->number = group->begun[kind]++;
            group->running++;
            prepare(task);
            resume(scheduler, task);
            return 1;
        }
    }
    return 0;
}

static void switch_away(sdfg_task *task, sdfg_wait wait) {
    task->wait = wait;
    sdfg_stack_leave(&task->known, &task->scheduler->known, 0);
    sdfg_task_switch(&task->stack_pointer, task->scheduler->stack_pointer);
    sdfg_stack_arrive(&task->known, &task->scheduler->known);
}

int sdfg_task_await(sdfg_task *task, sdfg_wait wait) {
    if (!task || task->scheduler->is_stopped) return 0;
    switch_away(task, wait);
    return !task->scheduler->is_stopped;
}

static int enter(group *group, scheduler *scheduler) {
    group->begun = calloc((size_t)group->n_kinds * 2 + 1, sizeof(int64_t));
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

static void leave(group *group, scheduler *scheduler) {
    for (struct group **link = &scheduler->groups; *link; link = &(*link)->outer) {
        if (*link == group) {
            *link = group->outer;
            break;
        }
    }
    free(group->begun);
}

int32_t sdfg_tasks_run(const sdfg_kind *kinds, int64_t n_kinds, const void *environment, const int32_t *status, sdfg_task *task) {
    group group = {.kinds = kinds, .n_kinds = n_kinds, .environment = environment};
    if (task) {
        /* The scheduler of the task that calls runs them. */
        scheduler *outer = task->scheduler;
        if (!enter(&group, outer)) return SDFG_OUT_OF_MEMORY;
        /* When all wait for nothing, no task begins any more, but those that have begun end before their group is gone. */
        while (group.remaining > 0 && !(outer->is_stopped && group.running == 0))
            switch_away(task, (sdfg_wait){SDFG_WAIT_BELOW, &group.remaining, 1, NULL});
        leave(&group, outer);
        return outer->result;
    }
    scheduler scheduler = {.status = status};
    scheduler.last = &scheduler.waiting;
    if (!enter(&group, &scheduler)) return SDFG_OUT_OF_MEMORY;
    for (;;) {
        if (run_waiting(&scheduler) || run_new(&scheduler)) continue;
        if (!scheduler.waiting) break;
        /* Nothing can change any more: what waits is told so, and ends. */
        scheduler.is_stopped = 1;
    }
    leave(&group, &scheduler);
    while (scheduler.unused) {
        sdfg_task *done = scheduler.unused;
        scheduler.unused = done->next;
        munmap(done->stack, STACK);
        free(done);
    }
    return scheduler.result;
}
